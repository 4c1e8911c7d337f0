"""A prediction's episode: what ends it early, what its status tells, and what it never tells."""

from __future__ import annotations

import json

import pytest

from assay.api import v1alpha1 as api
from assay.domain.decide import FaultRecord, Knowledge, decide_until
from assay.domain.episodes import (
    Grading,
    episode_epoch,
    grade_document,
    grade_in,
    grading_of,
    inline_expectation,
    prediction_bytes,
    prediction_status,
    refused_episode,
    validated_expectation,
    waiting_episode,
)
from assay.domain.grading import Expectation, Grade, GradeReason, RewardMode
from assay.domain.outcomes import FaultKind, RunOutcome
from assay.domain.plan import plan_grading
from assay.domain.profiles import PROFILES
from assay.domain.task import Refusal
from builders import PATCH, make_outcome, make_task

TASK = make_task(f2p=["hidden::f"], p2p=["hidden::p"])
EXPECTED = Expectation(fail_to_pass=("hidden::f",), pass_to_pass=("hidden::p",))
PLAN = plan_grading()
HOOK = "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+x\n"
RETRIES = 2


def grading(text: str = PATCH) -> Grading:
    return grading_of(text.encode(), TASK, EXPECTED, RewardMode.BINARY)


def knowledge(outcome: RunOutcome | None = None, lost: int = 0, **fields: object) -> Knowledge:
    faults = [FaultRecord(attempt=n, kind=FaultKind.NODE_LOST, message="gone", at=0.0) for n in range(1, lost + 1)]
    return Knowledge(
        task=TASK,
        plan=PLAN,
        profile=PROFILES["strict"],
        attempts=(),
        outcomes={"graded-1": outcome} if outcome else {},
        faults={"graded-1": tuple(faults)} if faults else {},
        **fields,  # type: ignore[arg-type]
    )


def status(known: Knowledge, grade: Grade | None, text: str = PATCH) -> api.AgentEpisodeStatus:
    previous = api.AgentEpisodeStatus()
    return prediction_status(
        known, grading(text), generation=1, previous=previous, grade=grade, report=None, platform="", now=1e9
    )


EARLY = {
    "nothing": ("", GradeReason.NOTHING_SUBMITTED),
    "a hook alone": (HOOK, GradeReason.NOTHING_SUBMITTED),
    "no diff": ("hello", GradeReason.PATCH_REFUSED),
}


@pytest.mark.parametrize(("text", "reason"), EARLY.values(), ids=EARLY)
def test_what_needs_no_run_is_graded_zero_without_a_pod(text: str, reason: GradeReason) -> None:
    offered = grading(text)
    decision = decide_until(knowledge(), now=0.0, conclude=lambda known: grade_in(known, offered, RETRIES))
    assert decision.create == ()
    assert decision.verdict
    assert (decision.verdict.reason, decision.verdict.reward) == (reason, 0.0)


def test_a_prediction_gets_one_run_and_its_end_is_the_grade() -> None:
    decision = decide_until(knowledge(), now=0.0, conclude=lambda known: grade_in(known, grading(), RETRIES))
    assert [(run.name, attempt) for run, attempt in decision.create] == [("graded-1", 1)]
    known = knowledge(make_outcome("graded-1", passed=["hidden::f", "hidden::p"]))
    grade = grade_in(known, grading(), RETRIES)
    assert grade
    assert (grade.resolved, status(known, grade).phase, status(known, grade).reward) == (True, "Finished", 1.0)


def test_lost_attempts_are_retried_and_end_without_a_reward() -> None:
    assert grade_in(knowledge(lost=RETRIES), grading(), RETRIES) is None
    known = knowledge(lost=RETRIES + 1)
    grade = grade_in(known, grading(), RETRIES)
    assert grade
    said = status(known, grade)
    assert (said.phase, said.reason, said.reward, said.resolved) == ("Failed", "Infrastructure", None, None)
    assert said.submissions[0].outcome == "NotGraded"
    assert {condition.type: condition.status for condition in said.conditions}["Resolved"] == "Unknown"


def test_a_cancelled_prediction_ends_at_once_without_a_reward_and_its_pod_goes() -> None:
    decision = decide_until(
        knowledge(cancelled=True), now=0.0, conclude=lambda known: grade_in(known, grading(), RETRIES)
    )
    assert decision.create == ()
    assert decision.verdict
    said = status(knowledge(), decision.verdict)
    assert (said.phase, said.reason, said.reward) == ("Cancelled", "Cancelled", None)
    assert said.submissions[0].outcome == "NotGraded"


def test_cancelling_takes_no_grade_away() -> None:
    known = knowledge(make_outcome("graded-1", passed=["hidden::f", "hidden::p"]), cancelled=True)
    for text, reward in ((PATCH, 1.0), ("", 0.0)):
        grade = grade_in(known, grading(text), RETRIES)
        assert grade
        assert grade.reward == reward


@pytest.mark.parametrize("profile", PROFILES)
def test_no_status_names_a_listed_test(profile: str) -> None:
    for results in ({"hidden::f": "FAILED"}, {"hidden::f": "PASSED", "hidden::p": "PASSED", "hidden::x": "PASSED"}, {}):
        known = knowledge(make_outcome("graded-1", results=results))
        grade = grade_in(known, grading(), RETRIES)
        assert "hidden" not in json.dumps(api.to_wire(status(known, grade)))


def test_what_was_left_out_is_listed_and_the_report_holds_every_listed_test() -> None:
    known = knowledge(make_outcome("graded-1", passed=["hidden::p"], failed=["hidden::f"]))
    offered = grading(HOOK + PATCH)
    grade = grade_in(known, offered, RETRIES)
    assert grade
    said = status(known, grade, HOOK + PATCH).submissions[0]
    assert (said.ignored.count, said.ignored.first) == (1, ("conftest.py",))
    assert (said.fail_to_pass.passed, said.fail_to_pass.total, said.pass_to_pass.passed) == (0, 1, 1)
    report = json.loads(grade_document("t", "strict", offered, grade, known.outcomes["graded-1"]))
    assert report["failToPass"] == [{"name": "hidden::f", "standing": "failed", "credit": "failure"}]
    assert report["ignored"] == [{"path": "conftest.py", "why": "it steers how tests are run"}]


def test_an_inline_task_without_targets_is_refused() -> None:
    assert isinstance(inline_expectation(make_task()), Refusal)
    found = inline_expectation(make_task(f2p=["a"], p2p=["b"]))
    assert isinstance(found, Expectation)
    assert (found.fail_to_pass, found.pass_to_pass, found.shared) == (("a",), ("b",), False)
    shared = inline_expectation(make_task(f2p=["a"], test_patch=PATCH.encode()))
    assert isinstance(shared, Expectation)
    assert shared.shared


def test_a_validation_gives_its_lists_the_names_it_knows_and_its_exits() -> None:
    said = {
        "failToPass": ["f"],
        "passToPass": ["p"],
        "flaky": {"coin": "1/2"},
        "unstable": ["u"],
        "excluded": {"e": "x"},
    }
    runs = [
        api.RunStatus(name="unpatched-1", outcome="Finished", exit_code=1, counts=api.Counts(failed=1)),
        api.RunStatus(name="patched-1", outcome="Finished", exit_code=5),
    ]
    found = validated_expectation(TASK, api.TaskValidationStatus(runs=tuple(runs)), json.dumps(said).encode())
    assert isinstance(found, Expectation)
    assert found.tolerated == {"coin", "u", "e"}
    assert found.reference_exits == {(5, False)}
    assert isinstance(
        validated_expectation(TASK, api.TaskValidationStatus(), json.dumps({**said, "failToPass": []}).encode()),
        Refusal,
    )


def test_a_prediction_comes_as_text_or_as_base64() -> None:
    assert prediction_bytes(api.Submission(patch="a")) == b"a"
    assert prediction_bytes(api.Submission(patch_base64="/w==")) == b"\xff"
    assert isinstance(prediction_bytes(api.Submission(patch_base64="=")), Refusal)
    assert prediction_bytes(api.Submission()) == b""


def test_suspending_makes_no_run_new_and_another_prediction_does() -> None:
    spec = api.AgentEpisodeSpec(validation="v", submission=api.Submission(patch="a"))
    assert episode_epoch(spec) == episode_epoch(spec.model_copy(update={"suspend": True, "priority": 3}))
    assert episode_epoch(spec) != episode_epoch(spec.model_copy(update={"profile": "pro"}))


def test_a_refusal_is_final_and_a_wait_is_not() -> None:
    previous = api.AgentEpisodeStatus()
    refused = refused_episode(Refusal(field="spec.profile", why="bad"), generation=1, previous=previous, now=1e9)
    assert (refused.phase, refused.reward, refused.reason) == ("Failed", None, "MalformedTask")
    waits = waiting_episode("Accepted", "ValidationPending", "later", generation=1, previous=previous, now=1e9)
    assert waits.phase == "Pending"
    assert {condition.type: condition.status for condition in waits.conditions}["Accepted"] == "Unknown"
