"""A decision names who, why, when and which statement; a rewrite that leaks, or says nothing new, is none."""

from __future__ import annotations

import pytest

from assay.api import v1alpha1 as api
from assay.domain.plan import epoch_of
from assay.domain.reviews import Reviewer, accepted, rejected, rewritten
from assay.domain.screening import is_reopened, screened, statement_digest, statement_of
from assay.domain.status import dropped_status, reopened_status
from assay.domain.task import Refusal
from builders import PATCH, make_spec

ANN = Reviewer(name="ann", reason="clear", time="2026-01-01T00:00:00Z")
SPEC = make_spec(task={"statement": "f() is wrong.", "patch": PATCH.replace("return 2", "return right_number()")})
TASK = SPEC.task or pytest.fail("no task")


def test_a_decision_names_who_why_when_and_which_statement() -> None:
    for review, decision in ((accepted(TASK, ANN), "Accepted"), (rejected(TASK, ANN), "Rejected")):
        assert review == api.StatementReview(
            decision=decision,  # type: ignore[arg-type]
            reviewer="ann",
            reason="clear",
            time="2026-01-01T00:00:00Z",
            original_digest=statement_digest("f() is wrong."),
        )


def test_a_rewrite_stands_in_place_of_the_tasks_own_statement_and_may_be_run() -> None:
    review = rewritten(TASK, "f() must return 2.", ANN)
    assert isinstance(review, api.StatementReview)
    assert statement_of(TASK.statement, review) == "f() must return 2."
    assert review.rewritten_digest == statement_digest("f() must return 2.")
    assert screened(review, TASK.statement, required=True) is None
    assert screened(review, "another statement", required=False) is not None


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (" \n", "is empty"),
        ("f() is wrong.", "is the task's own"),
        ("x" * (api.MAX_TEXT_CHARS + 1), "more than"),
        ("Call right_number.", "the reference patch alone has: right_number"),
    ],
)
def test_a_rewrite_that_leaks_or_says_nothing_is_refused(statement: str, why: str) -> None:
    refusal = rewritten(TASK, statement, ANN)
    assert isinstance(refusal, Refusal)
    assert why in refusal.why


def test_a_reviewer_may_allow_a_name() -> None:
    assert isinstance(rewritten(TASK, "Call right_number.", ANN, allowed=["right_number"]), api.StatementReview)


def test_a_text_in_a_decision_that_is_no_rewrite_changes_nothing() -> None:
    said = api.StatementReview(decision="Accepted", statement="something else")
    assert statement_of("own", said) == statement_of("own", None) == "own"


@pytest.mark.parametrize(
    ("verdict", "reason", "decision", "reopened"),
    [
        ("Invalid", "StatementUnreviewed", "Accepted", True),
        ("Invalid", "StatementRejected", "Accepted", True),
        ("Invalid", "StatementRejected", "", True),
        ("Valid", "TestsBehaveAsDeclared", "Rejected", True),
        ("Inconclusive", "Evicted", "Rejected", True),
        ("Valid", "TestsBehaveAsDeclared", "Accepted", False),
        ("Invalid", "NoTargetTests", "Rejected", False),
    ],
)
def test_a_verdict_falls_with_another_decision_in_a_new_generation_alone(
    verdict: str, reason: str, decision: str, reopened: bool
) -> None:
    for changed in (True, False):
        found = is_reopened(verdict=verdict, reason=reason, decision=decision, changed=changed)
        assert found == (reopened and changed)


def test_a_decision_makes_no_run_new() -> None:
    assert epoch_of(SPEC) == epoch_of(SPEC.model_copy(update={"statement_review": accepted(TASK, ANN)}))


def test_what_the_runs_have_shown_outlives_a_rejection() -> None:
    ran = api.TaskValidationStatus(
        phase=api.Phase.COMPLETE,
        verdict=api.Verdict.VALID,
        runs=(api.RunStatus(name="unpatched-1", outcome="Finished"),),
        observed_generation=1,
    )
    dropped = screened(rejected(TASK, ANN), TASK.statement, required=False)
    assert dropped is not None
    status = dropped_status(dropped, provenance=None, generation=2, previous=ran, now=0.0)
    assert (status.verdict, status.reason, status.runs) == ("Invalid", "StatementRejected", ran.runs)
    again = reopened_status(status)
    assert (again.verdict, again.phase, again.runs, again.observed_generation) == (None, "Pending", ran.runs, 0)
