"""JSON lines, JSON lists and JSON objects by id, one row at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.datasets.rows import RowRead, UnreadableFileError

MAX_ROW_BYTES = 64 * 1024 * 1024
READ_CHARS = 1024 * 1024
LOOKED_AT = 50
"""Rows whose columns are taken together: JSON leaves out what is empty."""
ROW_KEYS = frozenset({"instance_id", "repo", "patch", "org", "repo_name"})


class JsonLinesTable:
    """A file with one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def columns(self) -> frozenset[str]:
        """Return the columns of the first rows together."""
        return first_columns(self.rows(frozenset()))

    def count(self) -> int | None:
        """The file does not tell."""
        return None

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield one row a line that is not blank; a line that is no object has a fault."""
        number = 0
        try:
            with self._path.open("rb") as file:
                while line := file.readline(MAX_ROW_BYTES + 1):
                    if not line.strip():
                        continue
                    if len(line) > MAX_ROW_BYTES:
                        _skip_line(file)
                        yield RowRead(number=number, values={}, fault=f"is longer than {MAX_ROW_BYTES} bytes")
                    else:
                        yield _row(number, line)
                    number += 1
        except OSError as error:
            raise UnreadableFileError(str(error)) from error


class JsonTable:
    """A JSON list of objects, or one object of objects by id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def columns(self) -> frozenset[str]:
        """Return the columns of the first rows together."""
        return first_columns(self.rows(frozenset()))

    def count(self) -> int | None:
        """The file does not tell."""
        return None

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield the elements; ``UnreadableFileError`` where the list stops being JSON."""
        try:
            with self._path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                for number, value in enumerate(_elements(_Scanner(file))):
                    if isinstance(value, Mapping):
                        yield RowRead(number=number, values=value)
                    else:
                        yield RowRead(number=number, values={}, fault=f"is {type(value).__name__}, not an object")
        except (OSError, ValueError) as error:
            raise UnreadableFileError(f"is no JSON: {error}") from error


def first_columns(rows: Iterator[RowRead]) -> frozenset[str]:
    """Return the columns of the first rows together; a file that breaks behind its first rows still has those."""
    seen: set[str] = set()
    try:
        for row in rows:
            seen.update(row.values)
            if row.number + 1 >= LOOKED_AT:
                break
    except UnreadableFileError:
        if not seen:
            raise
    return frozenset(seen)


def _row(number: int, line: bytes) -> RowRead:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        return RowRead(number=number, values={}, fault=f"is no JSON: {error}")
    if not isinstance(values, dict):
        return RowRead(number=number, values={}, fault=f"is {type(values).__name__}, not an object")
    return RowRead(number=number, values=values)


def _skip_line(file: Any) -> None:
    while (rest := file.readline(READ_CHARS)) and not rest.endswith(b"\n"):
        pass


class _Scanner:
    """JSON values out of a stream of text, each read as soon as it is complete."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._text = ""
        self._place = 0
        self._ended = False
        self._decoder = json.JSONDecoder()

    def mark(self) -> str:
        """Return the next character that is no blank, without taking it; empty at the end."""
        while True:
            rest = self._text[self._place :].lstrip()
            if rest or self._ended:
                self._text, self._place = rest, 0
                return rest[:1]
            self._more(READ_CHARS)

    def take(self) -> str:
        """Return the next character that is no blank, and go on behind it."""
        mark = self.mark()
        self._place += 1
        return mark

    def value(self) -> Any:
        """Return the next JSON value.  ``ValueError`` when there is none, or it is too large."""
        self.mark()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
            except ValueError:
                if self._ended:
                    raise
                if len(self._text) > MAX_ROW_BYTES:
                    raise ValueError(f"an element is longer than {MAX_ROW_BYTES} characters") from None
                self._more(max(READ_CHARS, len(self._text)))
                continue
            if end == len(self._text) and not self._ended:  # a number may go on
                self._more(READ_CHARS)
                continue
            self._text, self._place = self._text[end:], 0
            return value

    def _more(self, chars: int) -> None:
        read = self._file.read(chars)
        self._ended = not read
        self._text += read


def _elements(scanner: _Scanner) -> Iterator[Any]:
    mark = scanner.mark()
    if mark == "[":
        scanner.take()
        yield from _listed(scanner)
    elif mark == "{":
        first = scanner.value()
        by_id = not ROW_KEYS & set(first) and first and all(isinstance(value, dict) for value in first.values())
        yield from first.values() if by_id else [first]
        while scanner.mark():
            yield scanner.value()
    elif mark:
        raise ValueError(f"begins with {mark!r}, not with a list or an object")


def _listed(scanner: _Scanner) -> Iterator[Any]:
    if scanner.mark() == "]":
        return
    while True:
        yield scanner.value()
        separator = scanner.take()
        if separator == "]":
            return
        if separator != ",":
            raise ValueError("ends inside the list" if not separator else f"{separator!r} after an element")
        if scanner.mark() == "]":
            raise ValueError("a comma before the end of the list")
