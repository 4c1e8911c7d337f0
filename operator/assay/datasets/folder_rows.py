"""SWE-bench 5's folder form: one directory a task, each file one column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from assay.datasets.json_rows import first_columns
from assay.datasets.rows import RowRead, UnreadableFileError

MARK = "sweb.yaml"
TASK = "task.yaml"
TEXTS = {"problem_statement": "problem_statement.md", "hints_text": "hints.md", "eval_script": "eval.sh"}
PATCHES = {"patch": "gold.patch", "test_patch": "test.patch"}


class FolderTable:
    """A directory with ``sweb.yaml`` and a directory for each task below it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tasks = sorted(found.parent for found in path.rglob(TASK))

    def columns(self) -> frozenset[str]:
        """Return the columns of the first tasks together."""
        if not self._tasks:
            raise UnreadableFileError(f"holds no {TASK}")
        return first_columns(self.rows(frozenset()))

    def count(self) -> int | None:
        """Return the number of task directories."""
        return len(self._tasks)

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield one row a task directory, in the order of their paths."""
        for number, folder in enumerate(self._tasks):
            try:
                yield RowRead(number=number, values=_values(folder))
            except (OSError, ValueError, yaml.YAMLError) as error:
                yield RowRead(number=number, values={}, fault=f"{folder.relative_to(self._path)}: {error}")


def _values(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((folder / TASK).read_bytes()) or {}
    if not isinstance(values, dict):
        raise ValueError(f"{TASK} holds no mapping")  # noqa: TRY004 - wrong content of a file
    tests = folder / "tests.json"
    if tests.exists():
        values |= json.loads(tests.read_bytes())
    for column, name in TEXTS.items():
        if (folder / name).exists():
            values[column] = (folder / name).read_bytes().decode()
    for column, name in PATCHES.items():
        if (folder / name).exists():
            values[column] = (folder / name).read_bytes()
    return values
