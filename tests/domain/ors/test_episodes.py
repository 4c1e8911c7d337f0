"""What a session can do, by what its episode's object says; tasks, prompts and submissions' answers."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import v1alpha1
from assay.domain.ors.answers import submission_result
from assay.domain.ors.episodes import (
    Stand,
    episode_name,
    manifest_of_episode,
    stand_of,
    submission_of_call,
    submit_patch,
    view_of_episode,
)
from assay.domain.ors.prompt import prompt_of
from assay.domain.ors.results import Output
from assay.domain.ors.tasks import entry_of, environments_of, in_order
from builders import make_manifest, make_spec


def make_episode(
    *,
    status: dict[str, Any] | None = None,
    deleting: bool = False,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    raw = manifest_of_episode(name="e", namespace="n", owner="alice", task="t", environment="x", settings=spec)
    raw["metadata"] |= {"uid": "u", "resourceVersion": "7", "annotations": annotations or {}}
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return raw | {"status": status or {}}


PENDING = {"number": 1, "outcome": "Pending"}
OTHER = {"number": 1, "outcome": "OfALaterVersion"}
LOST = {"number": 1, "outcome": "NotGraded", "reason": "Infrastructure"}


@pytest.mark.parametrize(
    ("episode", "stand"),
    [
        ({}, Stand.STARTING),
        ({"status": {"phase": "Ready"}}, Stand.STARTING),
        ({"status": {"phase": "Ready", "endpoint": "a:1"}}, Stand.OPEN),
        ({"status": {"phase": "Ready", "endpoint": "a:1"}, "submit": 1}, Stand.GRADING),
        ({"status": {"phase": "Ready", "endpoint": "a:1", "submissions": [PENDING]}, "submit": 1}, Stand.GRADING),
        ({"status": {"phase": "Grading", "endpoint": "a:1", "submissions": [LOST]}, "submit": 1}, Stand.GRADING),
        ({"status": {"phase": "Ready", "endpoint": "a:1", "submissions": [LOST]}, "submit": 1}, Stand.OPEN),
        ({"status": {"phase": "OfALaterVersion", "endpoint": "a:1"}}, Stand.STARTING),
        ({"status": {"phase": "Ready", "endpoint": "a:1", "submissions": [OTHER]}, "submit": 1}, Stand.GRADING),
        ({"status": {"phase": "Finished"}}, Stand.FINISHED),
        ({"status": {"phase": "Finished"}, "deleting": True}, Stand.OVER),
        ({"status": {"phase": "Expired"}}, Stand.OVER),
        ({"status": {"phase": "Ready", "endpoint": "a:1"}, "cancel": True}, Stand.OVER),
    ],
)
def test_what_a_session_can_do(episode: dict[str, Any], stand: Stand) -> None:
    assert stand_of(view_of_episode(make_episode(**episode))) is stand


def test_a_new_episode_is_one_that_the_api_knows() -> None:
    made = make_episode(profile="strict", limits={"idle": "1h"})
    assert v1alpha1.AgentEpisode.model_validate(made).spec.limits.idle == "1h"
    assert "alice" not in str(made)


def test_sessions_of_two_owners_are_two_episodes() -> None:
    assert episode_name("alice", "s") != episode_name("bob", "s")
    assert episode_name("alice", "s") == episode_name("alice", "s")


def test_a_submission_is_asked_for_on_the_condition_that_nothing_has_changed() -> None:
    view = view_of_episode(make_episode(submit=1, annotations={"assay.dev/submit-1": "call-1", "other": "x"}))
    patch = submit_patch(view, "call-2")
    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["spec"] == {"submit": 2}
    assert patch["metadata"]["annotations"] == {"assay.dev/submit-2": "call-2"}
    assert submission_of_call(view, "call-1") == 1
    assert submission_of_call(view, "call-2") == 0


@pytest.mark.parametrize(
    ("entry", "reward", "finished", "said"),
    [
        ({"outcome": "Graded", "reward": 1.0, "reason": "Resolved"}, 1.0, True, "reward 1"),
        ({"outcome": "Graded", "reward": 0.0, "reason": "PatchDoesNotApply"}, 0.0, True, "could not be applied"),
        (
            {"outcome": "Graded", "reward": 0.0, "ignored": {"count": 2, "first": ["conftest.py"]}},
            0.0,
            True,
            "2 changed",
        ),
        ({"outcome": "NotGraded", "reason": "TestTimeout"}, None, False, "Submissions left: 2"),
        ({"outcome": "NotGraded", "reason": "Odd"}, None, False, "(Odd)"),
    ],
)
def test_what_an_agent_is_told_of_its_submission(
    entry: dict[str, Any], reward: float | None, *, finished: bool, said: str
) -> None:
    view = view_of_episode(make_episode(status={"phase": "Ready", "submissions": [{"number": 1, **entry}]}))
    result = submission_result(view, 1)
    assert isinstance(result, Output)
    assert (result.reward, result.finished) == (reward, finished)
    assert said in result.text
    assert "conftest" not in result.text


def test_a_submission_that_is_being_graded_has_no_answer_yet() -> None:
    view = view_of_episode(make_episode(status={"phase": "Grading", "submissions": [PENDING]}))
    assert submission_result(view, 1) is None
    over = view_of_episode(make_episode(status={"phase": "Failed", "submissions": [PENDING], "message": "lost"}))
    result = submission_result(over, 1)
    assert isinstance(result, Output)
    assert result.reward is None


def entry(name: str, *, row: str = "", label: str = "", verdict: str = "Valid", split: str = "") -> Any:
    raw = make_manifest(name)
    raw["metadata"] |= {"annotations": {"assay.dev/row": row} if row else {}, "labels": {"assay.dev/dataset": label}}
    raw["spec"]["split"] = split or None
    return entry_of(raw | {"status": {"verdict": verdict}}, selections={}, default="assay")


def test_tasks_are_in_the_order_of_their_rows_then_by_name() -> None:
    entries = [entry("z"), entry("y", row="10"), entry("x", row="9"), entry("b", row="nan"), entry("e", split="eval")]
    assert in_order(entries, environment="assay", split="train") == ("x", "y", "b", "z")
    assert in_order(entries, environment="assay", split="test") == ("e",)


def test_only_valid_tasks_can_be_chosen() -> None:
    assert entry("x", verdict="Invalid") is None
    assert entry("x", verdict="Inconclusive") is None


def test_environments_are_data_sets_with_the_default_one_first() -> None:
    entries = [entry("x", label="Alpha"), entry("y", label="rebench-v2")]
    assert environments_of(entries, selections=(), default="rebench-v2") == ("rebench-v2", "alpha")
    assert environments_of([], selections=(), default="assay") == ("assay",)


def test_a_prompt_tells_the_interface_and_no_test() -> None:
    task = make_spec(f2p=["tests/t.py::test_hidden"], task={"statement": "Do it.", "interface": "def g(): ..."}).task
    assert task is not None
    text = prompt_of(task)
    assert "Do it." in text
    assert "def g(): ..." in text
    assert "test_hidden" not in text
    assert "return 2" not in text
    quiet = task.model_copy(update={"interface": "No new interfaces are introduced."})
    assert "# Interface" not in prompt_of(quiet)
