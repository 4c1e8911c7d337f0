from __future__ import annotations

from typing import Any

import pytest

from assay.api.base import ObjectMeta
from assay.api.episode import (
    AgentEpisode,
    AgentEpisodeSpec,
    AgentEpisodeStatus,
    EpisodePhase,
    SandboxStatus,
)
from assay.api.task import GoPolicy
from assay.domain.goproxy.gomod import import_comments_of, module_path_of_gomod, required_paths_of_gomod
from assay.domain.goproxy.records import BadRecord, RunRecord, normal_address, record_of_episode, record_of_mapping

RAW: dict[str, Any] = {
    "run": "runs/a",
    "podUID": "u",
    "tokenSHA256": "0" * 64,
    "addresses": ["::ffff:10.0.0.7", "FD00::1"],
    "owned": ["github.com/a/b"],
    "forkNames": ["B"],
    "notAfter": "2024-01-01T00:00:00Z",
}

SANDBOX = {
    "podUID": "u",
    "podIPs": ["10.0.0.7"],
    "tokenSHA256": "0" * 64,
    "goPolicy": {"owned": ["github.com/a/b"], "forkNames": ["b"]},
}


def _episode(**changes: Any) -> dict[str, Any]:
    episode = {
        "metadata": {"namespace": "runs", "name": "e"},
        "spec": {"network": "GoProxy"},
        "status": {"sandbox": SANDBOX},
    }
    return {**episode, **changes}


def test_a_record_is_read_with_its_addresses_in_one_spelling() -> None:
    record = record_of_mapping(RAW)
    assert isinstance(record, RunRecord)
    assert record.addresses == {"10.0.0.7", "fd00::1"}
    assert record.policy.fork_names == {"b"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", ""),
        ("tokenSHA256", "A" * 64),
        ("owned", []),
        ("owned", ["std"]),
        ("owned", "github.com/a/b"),
        ("owned", [1]),
        ("forkNames", None),
        ("addresses", {"10.0.0.7": 1}),
        ("notAfter", "soon"),
        ("notAfter", "2024-01-01T00:00:00"),
    ],
)
def test_a_record_that_cannot_be_read_whole_is_refused_by_field(field: str, value: object) -> None:
    bad = record_of_mapping({**RAW, field: value})
    assert isinstance(bad, BadRecord)
    assert bad.field == field


def test_an_episode_with_a_sandbox_is_a_record() -> None:
    record = record_of_episode(_episode())
    assert isinstance(record, RunRecord)
    assert (record.run, record.pod_uid, record.addresses) == ("runs/e", "u", {"10.0.0.7"})


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"network": "Offline"}},
        {"status": {}},
        {"status": {"sandbox": None}},
        {"metadata": {"namespace": "runs", "name": "e", "deletionTimestamp": "2024-01-01T00:00:00Z"}},
    ],
)
def test_an_episode_without_a_sandbox_on_the_gateway_is_none(changes: dict[str, Any]) -> None:
    assert record_of_episode(_episode(**changes)) is None


@pytest.mark.parametrize("phase", ["Finished", "Expired", "Cancelled", "Failed"])
def test_an_episode_that_is_over_has_no_route(phase: str) -> None:
    status = _episode()["status"] | {"phase": phase}
    assert record_of_episode(_episode(status=status)) is None
    assert isinstance(record_of_episode(_episode(status=status | {"phase": "Ready"})), RunRecord)


def test_an_episode_as_the_api_model_writes_it_is_a_record() -> None:
    policy = GoPolicy(owned=("github.com/a/b",))
    sandbox = SandboxStatus(pod_uid="u", pod_ips=("10.0.0.7",), token_sha256="0" * 64, go_policy=policy)
    made = AgentEpisode(
        metadata=ObjectMeta(name="e", namespace="runs"),
        spec=AgentEpisodeSpec(validation="v", network="GoProxy"),
        status=AgentEpisodeStatus(phase=EpisodePhase.READY, sandbox=sandbox),
    )
    record = record_of_episode(made.model_dump(mode="json", by_alias=True))
    assert isinstance(record, RunRecord)
    assert (record.run, record.pod_uid, record.not_after) == ("runs/e", "u", None)


def test_an_episode_whose_policy_was_not_put_together_is_refused_whatever_its_spec_says() -> None:
    sandbox = {name: value for name, value in SANDBOX.items() if name != "goPolicy"}
    for policy in ({}, SANDBOX["goPolicy"]):
        spec = {"network": "GoProxy", "goPolicy": policy}
        assert isinstance(record_of_episode(_episode(spec=spec, status={"sandbox": sandbox})), BadRecord)


@pytest.mark.parametrize(("text", "normal"), [("10.0.0.7", "10.0.0.7"), ("fe80::1%eth0", "fe80::1"), ("pod", "pod")])
def test_addresses_have_one_spelling(text: str, normal: str) -> None:
    assert normal_address(text) == normal


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("// module x.dev/no\nmodule x.dev/a // why\n", "x.dev/a"),
        ("module (\n\n  `x.dev/a`\n)\n", "x.dev/a"),
        ('\ufeffmodule\t"x.dev/\\x61"\r\n', "x.dev/a"),
        ("require (\n\tx.dev/b v1.0.0\n)\nmodule x.dev/a", "x.dev/a"),
        ("go 1.20\n", None),
        ("", None),
    ],
)
def test_the_first_module_directive_is_found(text: str, path: str | None) -> None:
    assert module_path_of_gomod(text) == path


def test_requirements_and_import_comments_are_found() -> None:
    gomod = (
        "module x.dev/a\nrequire x.dev/b v1.0.0 // indirect\nrequire (\n\tx.dev/c v1.2.0\n)\nreplace x.dev/d => ./d\n"
    )
    assert required_paths_of_gomod(gomod) == ("x.dev/b", "x.dev/c")
    source = '// package no // import "x"\npackage zap // import "go.uber.org/zap"\npackage y /* import `x.dev/y` */\n'
    assert import_comments_of(source) == ("go.uber.org/zap", "x.dev/y")
