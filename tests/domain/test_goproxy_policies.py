"""What a sandbox may not reach: the task's list and the episode's own only add to each other, and none means no way out."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.domain.goproxy.policies import MAX_POLICY_BYTES, policy_of_episode
from assay.domain.plan import epoch_of
from assay.domain.task import Refusal
from builders import make_spec

TASKS = api.GoPolicy(owned=("x.dev/task",), fork_names=("task",), nested_elsewhere=("x.dev/task/proto",))


def effective(tasks: api.GoPolicy | None, *, network: str = "GoProxy", **own: Any) -> api.GoPolicy | Refusal | None:
    spec = {"validation": "v", "network": network, "goPolicy": own or None}
    return policy_of_episode(api.AgentEpisodeSpec.model_validate(spec), tasks)


def test_an_episode_without_a_policy_of_its_own_has_its_tasks() -> None:
    assert effective(TASKS) == TASKS


def test_an_episode_of_a_task_without_a_policy_has_its_own() -> None:
    assert effective(None, owned=["x.dev/mine"]) == api.GoPolicy(owned=("x.dev/mine",))


def test_an_offline_episode_has_none_whatever_is_said() -> None:
    assert effective(TASKS, network="Offline", owned=["x.dev/mine"]) is None


def test_what_either_refuses_is_refused() -> None:
    policy = effective(TASKS, owned=["x.dev/mine", "x.dev/task"], forkNames=["mine"])
    assert isinstance(policy, api.GoPolicy)
    assert policy.owned == ("x.dev/mine", "x.dev/task")
    assert policy.fork_names == ("mine", "task")


def test_a_policy_that_no_status_holds_is_refused() -> None:
    paths = [f"{number:03}".ljust(100, "x") for number in range(200)]
    refusal = effective(TASKS, owned=paths[:100], forkNames=paths[100:])
    assert isinstance(refusal, Refusal)
    assert refusal.field == "spec.goPolicy"
    assert f"{MAX_POLICY_BYTES} fit" in refusal.why


def test_an_exception_stands_only_where_all_that_refuse_paths_make_it() -> None:
    both = effective(TASKS, owned=["x.dev/mine"], nestedElsewhere=["x.dev/task/proto", "x.dev/mine/proto"])
    lost = effective(TASKS, owned=["x.dev/task/proto"])
    kept = effective(TASKS, notAfter="2024-01-01T00:00:00Z")
    assert [policy.nested_elsewhere for policy in (both, lost, kept) if isinstance(policy, api.GoPolicy)] == [
        ("x.dev/task/proto",),
        (),
        ("x.dev/task/proto",),
    ]


def test_of_two_cut_offs_the_earlier_one_counts_whatever_their_offsets() -> None:
    late = TASKS.model_copy(update={"not_after": "2024-01-01T01:30:00+01:00"})
    for own, wanted in (("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"), ("2024-01-01T01:00:00Z", late.not_after)):
        policy = effective(late, notAfter=own)
        assert isinstance(policy, api.GoPolicy)
        assert policy.not_after == wanted


@pytest.mark.parametrize(
    ("tasks", "own", "field", "said"),
    [
        (None, {}, "spec.goPolicy.owned", "nor does that of TaskValidation v"),
        (None, {"forkNames": ["task"]}, "spec.goPolicy.owned", "none of the task's own modules"),
        (api.GoPolicy(owned=("std",)), {}, "spec.goPolicy.owned", "not opened"),
        (TASKS, {"notAfter": "soon"}, "spec.goPolicy.notAfter", "RFC 3339"),
        (TASKS, {"notAfter": "2024-01-01T00:00:00"}, "spec.goPolicy.notAfter", "offset"),
        (TASKS, {"owned": [f"x.dev/{number}" for number in range(200)]}, "spec.goPolicy", "201 entries"),
    ],
)
def test_without_a_policy_that_can_be_kept_there_is_no_way_to_modules(
    tasks: api.GoPolicy | None, own: dict[str, Any], field: str, said: str
) -> None:
    refused = effective(tasks, **own)
    assert isinstance(refused, Refusal)
    assert refused.field == field
    assert said in refused.why


def test_a_policy_that_comes_later_makes_no_run_new() -> None:
    assert epoch_of(make_spec()) == epoch_of(make_spec(go_policy=TASKS))
