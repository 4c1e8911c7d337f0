"""What a reader of files hands on: rows one at a time, each with its number, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class UnreadableFileError(Exception):
    """The file as a whole, or the rest of it, cannot be read; what came before is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRead:
    """One row of a file, counted from 0; ``fault`` says why there are no values."""

    number: int
    values: Mapping[str, Any]
    fault: str = ""


class Table(Protocol):
    """A file of rows."""

    def columns(self) -> frozenset[str]:
        """Return the columns, as far as they can be told without reading all.  ``UnreadableFileError``."""

    def count(self) -> int | None:
        """Return the number of rows when the file tells it, else None."""

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield the rows with these columns alone, as far as the form allows.  ``UnreadableFileError`` at its end."""
