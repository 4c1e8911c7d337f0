"""A rejected statement drops its task, an unreviewed one where a review is asked for, a decision holds for its own text."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.domain.screening import screened, statement_digest
from assay.domain.status import dropped_status
from assay.domain.verdict import Reason

NOW = statement_digest("Fix f.")
BEFORE = statement_digest("Fix g.")


def review(decision: str, **fields: Any) -> api.StatementReview:
    return api.StatementReview.model_validate({"decision": decision} | fields)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (review("Accepted"), None),
        (review("Accepted", originalDigest=NOW), None),
        (review("Accepted", originalDigest=BEFORE), Reason.STATEMENT_UNREVIEWED),
        (review("Rewritten"), None),
        (review("Rewritten", originalDigest=BEFORE, rewrittenDigest=NOW), None),
        (review("Rewritten", originalDigest=NOW, rewrittenDigest=BEFORE), Reason.STATEMENT_UNREVIEWED),
        (review("Rejected", originalDigest=BEFORE), Reason.STATEMENT_REJECTED),
    ],
)
def test_a_decision_holds_for_the_statement_that_it_is_about(
    said: api.StatementReview, reason: Reason | None, required: bool
) -> None:
    found = screened(said, "Fix f.", required=required)
    assert (found.reason if found else None) == reason


@pytest.mark.parametrize(("required", "dropped"), [(True, True), (False, False)])
def test_a_statement_that_nobody_decided_on_is_dropped_only_where_a_review_is_asked_for(
    required: bool, dropped: bool
) -> None:
    found = screened(None, "Fix f.", required=required)
    assert bool(found) == dropped


def test_a_rejection_tells_who_and_why_in_the_status() -> None:
    found = screened(review("Rejected", reviewer="ann", reason="names the fix"), "Fix f.", required=False)
    assert found is not None
    status = dropped_status(found, provenance=None, generation=3, previous=api.TaskValidationStatus(), now=0.0)
    assert (status.phase, status.verdict, status.reason) == ("Complete", "Invalid", "StatementRejected")
    assert status.message == "the statement was rejected by ann: names the fix"
    assert {said.type: (said.status, said.reason) for said in status.conditions} == {
        "Accepted": ("True", "TaskAccepted"),
        "Complete": ("True", "Dropped"),
        "Valid": ("False", "StatementRejected"),
    }
    assert status.observed_generation == 3
