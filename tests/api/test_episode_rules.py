"""The rules of AgentEpisode on a real API server: what is refused and why, what is taken, what may change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import TestCluster

pytestmark = pytest.mark.api

TASK = {"id": "a", "image": "x:1", "tests": {"commands": ["true"], "parser": "parse_log_gotest", "failToPass": ["T"]}}


def manifest(spec: dict[str, Any], name: str = "episode") -> str:
    """An episode, as JSON."""
    return json.dumps(
        {
            "apiVersion": "assay.dev/v1alpha1",
            "kind": "AgentEpisode",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no task": ({}, "exactly one of task, taskFrom and validation must be given"),
    "two tasks": ({"task": TASK, "validation": "a"}, "exactly one of task, taskFrom and validation must be given"),
    "an agent beside a prediction": (
        {"task": TASK, "submission": {"patch": ""}, "agent": {"image": "x:1"}},
        "no agent can work in it",
    ),
    "a prediction with network": (
        {"task": TASK, "submission": {"patch": ""}, "network": "GoProxy", "goPolicy": {"owned": ["example.org/a"]}},
        "grading is always offline",
    ),
    "modules without a policy": ({"task": TASK, "network": "GoProxy"}, "needs goPolicy.owned"),
    "modules with an empty policy": (
        {"task": TASK, "network": "GoProxy", "goPolicy": {"forkNames": ["a"]}},
        "needs goPolicy.owned",
    ),
    "a prediction twice": ({"task": TASK, "submission": {"patch": "", "patchBase64": ""}}, "exclude each other"),
    "a prediction that is not base64": ({"task": TASK, "submission": {"patchBase64": "?"}}, "must be base64"),
    "no submission allowed": ({"task": TASK, "limits": {"submissions": 0}}, "spec.limits.submissions"),
    "no time": ({"task": TASK, "limits": {"idle": "0s"}}, "must be longer than nothing"),
    "grading in the sandbox": ({"task": TASK, "grading": "InPlace"}, "spec.grading"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_episode_is_refused_with_its_field(api_cluster: TestCluster, case: str) -> None:
    spec, said = BAD[case]
    done = api_cluster.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=manifest(spec), check=False
    )
    assert done.returncode != 0
    assert said in done.stderr


def test_an_episode_of_a_validation_may_leave_the_policy_to_it(api_cluster: TestCluster) -> None:
    said = manifest({"validation": "v", "network": "GoProxy"})
    api_cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=said)


def test_only_submit_cancel_suspend_and_priority_may_change(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=manifest({"task": TASK}, "changes"))

    def patched(spec: dict[str, Any]) -> str:
        patch = json.dumps({"spec": spec})
        done = api_cluster.kubectl("patch", "ae", "changes", "--type=merge", "-p", patch, check=False)
        return done.stderr if done.returncode else ""

    assert "immutable" in patched({"profile": "pro"})
    assert "immutable" in patched({"task": {"id": "b"}})
    assert "grows by one" in patched({"submit": 2})
    assert patched({"submit": 1, "priority": 5}) == ""
    assert "grows by one" in patched({"submit": 0})
    assert patched({"cancel": True}) == ""
    assert "stays so" in patched({"cancel": False})


def test_the_columns_show_how_an_episode_went(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=manifest({"task": TASK}, "columns"))
    submissions = [
        {"number": number, "time": "2026-01-01T00:00:00Z", "outcome": outcome}
        for number, outcome in ((1, "NotGraded"), (2, "Graded"))
    ]
    status = {"phase": "Finished", "reward": 0.5, "toolCalls": {"count": 7}, "submissions": submissions}
    api_cluster.kubectl(
        "patch", "ae", "columns", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )
    head, row = api_cluster.kubectl("get", "agentepisodes", "columns").stdout.splitlines()
    assert head.split() == ["NAME", "PHASE", "REWARD", "SUBMISSIONS", "CALLS", "AGE"]
    assert row.split()[:5] == ["columns", "Finished", "0.5", "2", "7"]
