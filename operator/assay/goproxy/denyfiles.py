"""The files around a deny list: tasks and reviewed look-ups in, deny.json out and in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from assay.api.v1alpha1 import first_error
from assay.domain.denylist import DenyEntry, Lookup, is_go

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """The three fields of a task that a deny list needs."""

    id: str
    repo: str
    base_commit: str


def read_tasks(path: Path) -> list[TaskRow]:
    """Read tasks from a JSON list, JSON lines or parquet; rows of other languages than Go are left out.

    Taken: ``instance_id`` or ``id``, ``repo``, ``base_commit`` or ``baseCommit``, ``language`` (absent: Go).
    """
    rows = _rows(path)
    tasks = []
    for number, row in enumerate(rows):
        if not is_go(str(row.get("language") or "go")):
            continue
        values = [
            row.get("instance_id") or row.get("id"),
            row.get("repo"),
            row.get("base_commit") or row.get("baseCommit"),
        ]
        if not all(isinstance(value, str) and value for value in values):
            raise ValueError(f"{path}, task {number}: expected instance_id, repo and base_commit")
        if re.fullmatch(r"[0-9a-f]{7,64}", str(values[2])) is None:
            raise ValueError(f"{path}, task {number}: the base commit is no hash")
        tasks.append(TaskRow(id=str(values[0]), repo=str(values[1]), base_commit=str(values[2])))
    return tasks


def _rows(path: Path) -> list[Mapping[str, object]]:
    if path.suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - costs half a second that only parquet needs

        table = parquet.read_table(path)
        wanted = {"instance_id", "id", "repo", "base_commit", "baseCommit", "language"}
        rows: list[Mapping[str, object]] = table.select(
            [name for name in table.column_names if name in wanted]
        ).to_pylist()
        return rows
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read_lookups(path: Path | None) -> Mapping[str, Lookup]:
    """Read the reviewed look-ups by repository; raises ValueError where a successor or exception lacks its reason."""
    if path is None:
        return {}
    lookups = {}
    for repo, raw in json.loads(path.read_text(encoding="utf-8")).items():
        lookups[repo.lower()] = Lookup(
            present=str(raw.get("present", "")),
            forks=tuple(map(str, raw.get("forks", []))),
            successors=_reasons(repo, raw.get("successors", {})),
            nested_elsewhere=_reasons(repo, raw.get("nestedElsewhere", {})),
        )
    return lookups


def _reasons(repo: str, raw: object) -> Mapping[str, str]:
    if not isinstance(raw, Mapping) or not all(isinstance(why, str) and why.strip() for why in raw.values()):
        raise ValueError(f"{repo}: each successor and each exception needs its reason")
    return dict(raw)


class _Entry(BaseModel):
    """An entry as it stands in the file; other keys are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    repo: str
    owned: dict[str, tuple[str, ...]]
    fork_names: tuple[str, ...]
    nested_elsewhere: dict[str, str]
    notes: tuple[str, ...] = ()


class _Document(BaseModel):
    format: Literal[1]
    tasks: dict[str, _Entry]


def write_deny_list(path: Path, entries: Iterable[DenyEntry]) -> None:
    """Write deny.json, sorted, so that two lists compare line by line."""
    tasks = {
        entry.task: _Entry.model_validate(entry, from_attributes=True)
        for entry in sorted(entries, key=attrgetter("task"))
    }
    document = _Document(format=FORMAT, tasks=tasks).model_dump(mode="json", by_alias=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_deny_list(path: Path) -> dict[str, DenyEntry]:
    """Read deny.json; raises ValueError, with the field, for another format or an entry that denies nothing."""
    try:
        document = _Document.model_validate_json(path.read_bytes())
    except ValidationError as error:
        where, why = first_error(error)
        raise ValueError(f"{path} is no deny list of format {FORMAT}: {where or 'the file'}: {why}") from error
    entries = {task: DenyEntry(task=task, **dict(said)) for task, said in document.tasks.items()}
    for task, entry in entries.items():
        if not entry.policy.bases:
            raise ValueError(f"{path}: the entry of {task} denies nothing")
    return entries
