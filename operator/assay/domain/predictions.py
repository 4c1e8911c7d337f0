"""Prediction files of the public harnesses -> predictions, and what is odd about a file; a gap is never filled.

Accepted: a JSON list, a JSON object by task id, JSON lines; rows of SWE-bench, sb-cli, SWE-agent, OpenHands,
SWE-rebench V2, SWE-bench-Live, Multi-SWE-bench and SWE-bench Pro.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PATCH_KEYS = ("model_patch", "patch", "fix_patch", "git_patch")


class MalformedPredictionsError(ValueError):
    """A file that holds no predictions, with the row that says so; nothing was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One row: the task's id, the patch (None: the row has none) and who made it."""

    id: str
    patch: str | None
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What is said of a file before anything runs."""

    rows: int
    chosen: tuple[Prediction, ...]
    duplicates: tuple[str, ...]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    empty: tuple[str, ...]
    null: tuple[str, ...]
    models: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the census for people."""
        yield f"{self.rows} rows by {', '.join(self.models) or 'nobody'}; {len(self.chosen)} are evaluated"
        for names, what in (
            (self.duplicates, "ids are in the file more than once, the last row counts"),
            (self.unknown, "ids are not in the dataset and are left out"),
            (self.missing, "tasks of the dataset have no prediction"),
            (self.empty, "patches are empty"),
            (self.null, "patches are null"),
        ):
            if names:
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                yield f"{len(names)} {what}: {', '.join(names[:3])}{more}"


def read_predictions(text: str) -> tuple[Prediction, ...]:
    """Return the rows of a file in order.  ``MalformedPredictionsError`` names the first row that is none."""
    return tuple(_prediction(number, row) for number, row in enumerate(_rows(text), 1))


def census_of(predictions: Sequence[Prediction], known: Iterable[str], *, model: str = "") -> Census:
    """Return which predictions are evaluated, of one model if it is named, and what is odd about the others."""
    rows = [row for row in predictions if not model or row.model == model]
    known = set(known)
    last = {(row.model, row.id): row for row in rows}
    chosen = tuple(row for row in last.values() if row.id in known)
    counts = Counter((row.model, row.id) for row in rows)
    return Census(
        rows=len(rows),
        chosen=chosen,
        duplicates=tuple(sorted({name for (_, name), count in counts.items() if count > 1})),
        unknown=tuple(sorted({row.id for row in rows} - known)),
        missing=tuple(sorted(known - {row.id for row in rows})),
        empty=tuple(row.id for row in chosen if row.patch is not None and not row.patch.strip()),
        null=tuple(row.id for row in chosen if row.patch is None),
        models=tuple(sorted({row.model for row in rows})),
    )


def _rows(text: str) -> list[Mapping[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        return _lines(text)
    if isinstance(whole, list):
        return whole
    if isinstance(whole, dict) and _id_of(whole) is None:
        return [
            {"instance_id": name, **(row if isinstance(row, dict) else {"model_patch": row})}
            for name, row in whole.items()
        ]
    return [whole]


def _lines(text: str) -> list[Mapping[str, Any]]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise MalformedPredictionsError(f"line {number} is not JSON: {error}") from error
    return rows


def _prediction(number: int, row: object) -> Prediction:
    if not isinstance(row, Mapping):
        raise MalformedPredictionsError(f"row {number} is not an object")
    name = _id_of(row)
    if name is None:
        raise MalformedPredictionsError(f"row {number} has no instance_id")
    nested = row.get("test_result")
    places = (row, nested if isinstance(nested, Mapping) else {})
    found = [place[key] for place in places for key in PATCH_KEYS if key in place]
    patch = found[0] if found else None
    if patch is not None and not isinstance(patch, str):
        raise MalformedPredictionsError(f"row {number} ({name}): the patch is no text")
    model = row.get("model_name_or_path") or row.get("prefix") or ""
    return Prediction(id=name, patch=patch, model=str(model) or "unnamed")


def _id_of(row: Mapping[str, Any]) -> str | None:
    name = row.get("instance_id")
    if isinstance(name, str) and name:
        return name
    if {"org", "repo", "number"} <= row.keys():
        return f"{row['org']}__{row['repo']}-{row['number']}"
    return None
