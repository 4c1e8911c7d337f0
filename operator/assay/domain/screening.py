"""Whether a task may be run at all, by what people decided about its statement: no pod is made for one that may not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from assay.api import v1alpha1 as api
from assay.domain.verdict import Reason


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
    about = review.rewritten_digest if review.decision == "Rewritten" else review.original_digest
    if about and about != statement_digest(statement):
        message = f"the decision is about the statement of SHA-256 {about}, the task has another one"
        return Dropped(reason=Reason.STATEMENT_UNREVIEWED, message=message)
    return None


def statement_digest(statement: str) -> str:
    """Return the SHA-256 of a statement's UTF-8."""
    return hashlib.sha256(statement.encode("utf-8", "surrogatepass")).hexdigest()
