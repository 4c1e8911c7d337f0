"""Which tasks of a data set are wanted: lists and dates given as options, and what an expression may ask about a row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from assay.domain.datasets.coercions import Row
from assay.domain.datasets.rows import RowTask

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "openreward": 'labels == ["A"]',
        "no-rust": 'language != "rust"',
        "no-go-test": '!commands.exists(command, command.matches("(^|[^a-z])go test"))',
        "no-cargo": '!commands.exists(command, command.matches("(^|[^a-z])cargo "))',
    }
)
"""Named expressions; ``openreward`` is the selection of the SWE-rebench V2 environment: rows labelled solvable, no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Lists to choose by, in lower case; None: all.  ``since`` is included, ``until`` is not."""

    languages: frozenset[str] | None = None
    repos: frozenset[str] | None = None
    ids: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None


def is_wanted(row: RowTask, wanted: Wanted) -> bool:
    """Whether the lists and dates choose a row; a row without a date is in no window."""
    if wanted.languages is not None and row.task.language.lower() not in wanted.languages:
        return False
    if wanted.repos is not None and row.task.repo.lower() not in wanted.repos:
        return False
    if wanted.ids is not None and row.task.id.lower() not in wanted.ids:
        return False
    if wanted.since is None and wanted.until is None:
        return True
    if row.created is None:
        return False
    return (wanted.since is None or row.created >= wanted.since) and (
        wanted.until is None or row.created < wanted.until
    )


def variables_of(row: RowTask, values: Row) -> dict[str, Any]:
    """Return what an expression may ask about a row; ``row`` holds its own columns, as far as they are plain."""
    task = row.task
    return {
        "id": task.id,
        "repo": task.repo,
        "language": task.language,
        "family": row.family,
        "split": row.split,
        "labels": list(row.quality),
        "quality": "|".join(row.quality),
        "difficulty": row.difficulty,
        "created": row.created,
        "commands": list(task.tests.commands),
        "parser": task.tests.parser,
        "image": task.image,
        "statement": task.statement,
        "fail_to_pass": len(task.tests.fail_to_pass),
        "pass_to_pass": len(task.tests.pass_to_pass),
        "patch_bytes": len(task.patch or task.patch_base64 or ""),
        "test_patch_bytes": len(task.test_patch or task.test_patch_base64 or ""),
        "row": {name: value for name, value in values.items() if _is_plain(value)},
    }


def rank_of(seed: int, id_: str) -> str:
    """Return a task's place in the random order of a seed: the same for a task whatever else is in its data set."""
    return hashlib.sha256(f"{seed}\0{id_}".encode("utf-8", "surrogatepass")).hexdigest()


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, str | int | float | bool) for item in value)
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, str | int | float | bool)
