"""What people decided about a row's task and wrote into the row: its side of the data set, the review of its statement."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.domain.datasets.coercions import Row, found, struct, text
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.screening import statement_digest, statement_of

COLUMNS = ("split", "statement_review", "statementReview")
SIDES = ("train", "eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """``statement`` is what agents are given, so ``review`` holds none; ``split`` is empty where the row says no side."""

    statement: str
    split: str = ""
    review: api.StatementReview | None = None
    notes: tuple[str, ...] = ()


def decisions_of(row: Row, statement: str) -> Decisions:
    """Return what a row says; ``RowRefusedError`` for a review that is none, or is about another statement."""
    side = text(row, "split")
    notes = (f"the split {side[:40]!r} is neither train nor eval, and left out",) if side and side not in SIDES else ()
    split = side if side in SIDES else ""
    column, _ = found(row, "statement_review", "statementReview")
    said = {name: value for name, value in struct(row, column).items() if value is not None}
    if not said:
        return Decisions(statement=statement, split=split, notes=notes)
    try:
        review = api.StatementReview.model_validate(said)
    except ValidationError as error:
        raise RowRefusedError(column, ": ".join(api.first_error(error))) from error
    given = statement_of(statement, review)
    if review.decision == "Rewritten" and review.statement:
        original, has = statement_digest(statement), statement_digest(given)
        if review.original_digest not in {"", original} or review.rewritten_digest not in {"", has}:
            raise RowRefusedError(column, "is a rewrite of another statement")
        review = review.model_copy(update={"original_digest": original, "rewritten_digest": has})
    return Decisions(statement=given, split=split, review=review.model_copy(update={"statement": ""}), notes=notes)
