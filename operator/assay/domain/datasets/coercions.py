"""Columns as the data sets publish them -> plain values: one function a kind of value.

Published rows hold lists as lists, as JSON text and as Python literals, structs as JSON text, times in three units.
Text is never evaluated: JSON first, then ``ast.literal_eval``, then a refusal.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from assay.domain.datasets.refused import RowRefusedError

Row = Mapping[str, object]
"""One row: column -> value, as parquet or JSON gives it."""

MAX_LITERAL_CHARS = 16_000_000
"""Text of more characters is not read as a Python literal: its syntax tree would not fit the memory."""
MILLISECONDS_FROM = 100_000_000_000
"""Epoch numbers of this size or more are milliseconds: as seconds they would lie after the year 5000."""
DIGITS = re.compile(r"-?[0-9]+")


def found(row: Row, *names: str) -> tuple[str, object]:
    """Return the first column of these names that has a value, and the value; the first name and None without any."""
    for name in names:
        if row.get(name) is not None:
            return name, row[name]
    return names[0], None


def text(row: Row, *names: str) -> str:
    """Return a column as text, empty when there is none; numbers are written in decimal."""
    name, value = found(row, *names)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise RowRefusedError(name, f"is not UTF-8: {error}") from error
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise RowRefusedError(name, f"is {_kind(value)}, not text")


def required(row: Row, *names: str) -> str:
    """Return a column as text; refused when it is absent or blank."""
    said = text(row, *names)
    if not said.strip():
        raise RowRefusedError(names[0], "is missing or empty")
    return said


def patch(row: Row, *names: str) -> bytes:
    """Return a column as a patch's bytes, none when there is none; line ends stay as they are."""
    name, value = found(row, *names)
    if isinstance(value, bytes):
        return value
    try:
        return text(row, name).encode()
    except UnicodeEncodeError as error:
        raise RowRefusedError(name, f"holds a lone surrogate: {error}") from error


def struct(row: Row, *names: str) -> Mapping[str, Any]:
    """Return a column that holds named values, given as a struct, as pairs, as JSON or as a Python literal."""
    name, value = found(row, *names)
    if isinstance(value, str):
        value = parsed(name, value) if value.strip() else None
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return dict(value)
    raise RowRefusedError(name, f"is {_kind(value)}, not a struct")


def parsed(name: str, written: str) -> object:
    """Return what JSON or a Python literal says; refused when it is neither."""
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        pass
    if len(written) > MAX_LITERAL_CHARS:
        raise RowRefusedError(name, f"is no JSON, and too long for a Python literal: {len(written)} characters")
    try:
        return ast.literal_eval(written.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise RowRefusedError(name, "is neither a list, JSON nor a Python literal") from error


def names(row: Row, *columns: str) -> tuple[str, ...]:
    """Return a list of test names byte for byte, in order, repetitions included; empty when the column says nothing.

    Taken: a list, JSON, a Python literal, a mapping name -> state, a struct of columns whose ``name`` is the list.
    """
    column, value = found(row, *columns)
    if isinstance(value, str):
        value = parsed(column, value) if value.strip() else ()
    if value is None:
        return ()
    if isinstance(value, Mapping):
        value = value["name"] if isinstance(value.get("name"), list | tuple) else list(value)
    if not isinstance(value, list | tuple | set | frozenset):
        raise RowRefusedError(column, f"is {_kind(value)}, not a list of names")
    listed = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    return tuple(_name(column, place, item) for place, item in enumerate(listed))


def _name(column: str, place: int, item: object) -> str:
    if isinstance(item, tuple) and len(item) == 2:  # a parquet map comes as pairs
        item = item[0]
    if isinstance(item, Mapping):
        item = item.get("name")
    if not isinstance(item, str) or not item:
        raise RowRefusedError(column, f"holds {_kind(item)} at place {place}, not a test name")
    return item


def commands(column: str, value: object) -> tuple[str, ...]:
    """Return test commands given as one text, as a list, or as the text of a list; blank ones are left out."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(RowRefusedError):  # a shell's own test begins with a bracket too
            value = parsed(column, value)
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
        raise RowRefusedError(column, f"is {_kind(value)}, not a command or a list of commands")
    return tuple(item for item in listed if item.strip())


def moment(row: Row, *columns: str) -> datetime | None:
    """Return a time given as ISO text, epoch seconds or epoch milliseconds; None when there is none that can be read."""
    value = found(row, *columns)[1]
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        if not DIGITS.fullmatch(value.strip()):
            return _iso(value.strip())
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _iso(written: str) -> datetime | None:
    try:
        read = datetime.fromisoformat(written)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def once(listed: Iterable[str]) -> tuple[str, ...]:
    """Return the items without repetitions, in order."""
    return tuple(dict.fromkeys(listed))


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if value == "":
        return "an empty text"
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    return f"{article} {type(value).__name__}"
