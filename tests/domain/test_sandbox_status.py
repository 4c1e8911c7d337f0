"""What a sandbox's hands say of its network, as the episode's status tells it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.domain.pods import view_of
from assay.domain.sandbox_status import Seen, leaks_in, sandbox_status, use_of

NOW = 1_000_000.0
LEAK = {"target": "10.0.0.1:443", "seconds": 3.5}
PROVEN = {"targets": 3, "leaks": [], "leakCount": 0, "doors": 0}


def isolation_told(**isolation: Any) -> tuple[str, str, str]:
    use = use_of({"isolation": PROVEN | isolation}, NOW)
    status = sandbox_status(api.AgentEpisodeStatus(), Seen(use=use), requested="image", generation=1, now=NOW)
    (said,) = [one for one in status.conditions if one.type == "NetworkIsolationVerified"]
    return said.status, said.reason, said.message


def test_a_shut_network_is_told_with_the_number_of_targets() -> None:
    assert isolation_told() == ("True", "Proven", "3 targets are out of the sandbox's reach")


def test_a_sandbox_on_the_module_gateway_is_told_to_have_reached_it() -> None:
    assert isolation_told(doors=1)[2].endswith("reach, the module gateway answers it")


@pytest.mark.parametrize("count", [1, 30])
def test_a_leak_takes_the_proof_away_though_the_hands_list_only_the_first_ones(count: int) -> None:
    told = isolation_told(leaks=[LEAK] * min(count, 20), leakCount=count)
    assert told == ("False", "IsolationLeak", f"{count} probes got out")


def test_a_leak_stays_told_whatever_is_seen_later() -> None:
    leaked = use_of({"isolation": PROVEN | {"leakCount": 12}}, NOW)
    before = sandbox_status(api.AgentEpisodeStatus(), Seen(use=leaked), requested="image", generation=1, now=NOW)
    shut = use_of({"isolation": PROVEN}, NOW)
    for seen in (Seen(), Seen(use=shut)):
        after = sandbox_status(before, seen, requested="image", generation=1, now=NOW)
        assert leaks_in(after) == 12
    proven = sandbox_status(api.AgentEpisodeStatus(), Seen(use=shut), requested="image", generation=1, now=NOW)
    assert leaks_in(proven) == 0


def test_the_sandboxes_token_is_told_together_with_what_the_module_gateway_refuses_it() -> None:
    pod = view_of({"metadata": {"namespace": "n", "name": "s", "uid": "p"}})
    policy = api.GoPolicy(owned=("x.dev/task",))
    seen = Seen(pod=pod, token_sha256="0" * 64, go_policy=policy)
    status = sandbox_status(api.AgentEpisodeStatus(), seen, requested="image", generation=1, now=NOW)
    assert (status.sandbox.token_sha256, status.sandbox.go_policy) == ("0" * 64, policy)
