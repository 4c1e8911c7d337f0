"""How a reader of a row says no: an exception inside this package, a ``Refusal`` for everybody else."""

from __future__ import annotations


class RowRefusedError(Exception):
    """The row cannot be a task.  ``field`` is the row's column, ``why`` a sentence without its subject."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field = field
        self.why = why
