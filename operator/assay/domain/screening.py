"""Whether a task may be run at all, by what people decided about its statement: no pod is made for one that may not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from assay.api import v1alpha1 as api
from assay.domain.verdict import Reason

SCREENED_OUT = frozenset({Reason.STATEMENT_REJECTED.value, Reason.STATEMENT_UNREVIEWED.value})
"""Reasons that fall with another decision on the statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Why a task is dropped before its first run."""

    reason: Reason
    message: str


def screened(review: api.StatementReview | None, statement: str, *, required: bool) -> Dropped | None:
    """Return why a statement keeps its task from being run, None when it does not.

    ``required``: a statement that nobody has decided on is not enough.  A decision is about the statement whose digest
    it names; where it names none, about the one that the task has.
    """
    if review is None:
        if required:
            return Dropped(reason=Reason.STATEMENT_UNREVIEWED, message="nobody has decided on the statement")
        return None
    if review.decision == "Rejected":
        by = f" by {review.reviewer}" if review.reviewer else ""
        why = f": {review.reason}" if review.reason else ""
        return Dropped(reason=Reason.STATEMENT_REJECTED, message=f"the statement was rejected{by}{why}")
    original, given = statement_digest(statement), statement_digest(statement_of(statement, review))
    about, has = review.original_digest, original
    if review.decision == "Rewritten":
        if review.statement and about and about != original:
            return _of_another(about)
        about, has = review.rewritten_digest, given
    return _of_another(about) if about and about != has else None


def _of_another(digest: str) -> Dropped:
    message = f"the decision is about the statement of SHA-256 {digest}, the task has another one"
    return Dropped(reason=Reason.STATEMENT_UNREVIEWED, message=message)


def statement_of(statement: str, review: api.StatementReview | None) -> str:
    """Return what agents are asked to do: a task's own statement, or the one that a review has put in its place."""
    return review.statement if review and review.decision == "Rewritten" and review.statement else statement


def is_reopened(*, verdict: str, reason: str, decision: str, changed: bool) -> bool:
    """Whether a task that has its verdict is to be screened again, since its spec has ``changed`` after the verdict.

    A drop for the statement's sake is looked at again in every new generation; any other verdict falls to a rejection
    alone, since no run sees the statement.
    """
    if not changed:
        return False
    return reason in SCREENED_OUT or (decision == "Rejected" and verdict != api.Verdict.INVALID.value)


def statement_digest(statement: str) -> str:
    """Return the SHA-256 of a statement's UTF-8."""
    return hashlib.sha256(statement.encode("utf-8", "surrogatepass")).hexdigest()
