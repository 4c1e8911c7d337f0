"""A reviewer's decision on a task's statement -> the review that travels with the task, or why it cannot be made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from assay.api import v1alpha1 as api
from assay.domain.leaks import leaked_names
from assay.domain.screening import statement_digest
from assay.domain.task import Refusal, task_from_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Who decides, why, and when (RFC 3339)."""

    name: str
    reason: str
    time: str


def accepted(task: api.Task, by: Reviewer) -> api.StatementReview:
    """Return the review of a statement that agents are given as it is."""
    return _review("Accepted", task, by)


def rejected(task: api.Task, by: Reviewer) -> api.StatementReview:
    """Return the review that drops a task for its statement's sake."""
    return _review("Rejected", task, by)


def rewritten(
    task: api.Task, statement: str, by: Reviewer, *, allowed: Collection[str] = ()
) -> api.StatementReview | Refusal:
    """Return the review that puts another statement in place of the task's own.

    Refused: nothing new, more than the API holds, and names that the reference patch alone has, but for ``allowed`` ones.
    """
    if not statement.strip():
        return Refusal(field="statement", why="is empty")
    if statement == task.statement:
        return Refusal(field="statement", why="is the task's own; accept it instead")
    if len(statement) > api.MAX_TEXT_CHARS:
        return Refusal(field="statement", why=f"has {len(statement)} characters, more than {api.MAX_TEXT_CHARS}")
    read = task_from_spec(task)
    if isinstance(read, Refusal):
        return read
    leaked = [
        name for name in leaked_names(statement, read, known=(task.statement, task.interface)) if name not in allowed
    ]
    if leaked:
        return Refusal(field="statement", why=f"tells what the reference patch alone has: {', '.join(leaked)}")
    said = _review("Rewritten", task, by)
    return said.model_copy(update={"statement": statement, "rewritten_digest": statement_digest(statement)})


def _review(decision: str, task: api.Task, by: Reviewer) -> api.StatementReview:
    return api.StatementReview.model_validate(
        {
            "decision": decision,
            "reviewer": by.name,
            "reason": by.reason,
            "time": by.time,
            "originalDigest": statement_digest(task.statement),
        }
    )
