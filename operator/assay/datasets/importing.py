"""Files of rows -> tasks that are wanted, one at a time; whatever cannot be a task is told and left behind.

Nothing here decides: rows become tasks in ``assay.domain.datasets``, this is the order in which files are read.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.datasets.rows import RowRead, Table, UnreadableFileError
from assay.datasets.selecting import Expression, ExpressionError
from assay.datasets.tables import table_at
from assay.domain.datasets import Family, Recipe, RowTask, family_of, task_from_row
from assay.domain.datasets.decisions import COLUMNS as DECISIONS
from assay.domain.datasets.digests import digest_of, document_of, row_digest
from assay.domain.datasets.seen import Seen
from assay.domain.datasets.selection import Wanted, is_wanted, rank_of, variables_of
from assay.domain.splits import canonical_repo
from assay.domain.task import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A row that is no task, or a file that is no table (``row`` None): where, and which column for what reason."""

    file: str
    row: int | None
    id: str
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A task that is wanted, its document, and where it came from: file, the file's place among all, number of the row."""

    file: str
    place: int
    number: int
    task: RowTask
    document: bytes
    digest: str
    row_digest: str
    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which rows are wanted, and what helps to read them; ``family`` None: recognised for each file.

    ``renamed``: former names of repositories, and forks -> the present name.
    """

    wanted: Wanted = field(default_factory=Wanted)
    expression: Expression = field(default_factory=lambda: Expression(()))
    family: Family | None = None
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    limit: int | None = None
    seed: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Counts:
    """How many rows went where; ``notes`` count what was changed on the way, ``unlisted`` refused ones without an entry."""

    rows: int = 0
    tasks: int = 0
    unselected: int = 0
    refused: int = 0
    families: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    unlisted: int = 0


@dataclass(slots=True)
class Importer:
    """One pass over files; ``tell`` hears of refusals, ``advance`` of rows that were read."""

    choice: Choice
    tell: Callable[[Told], None]
    advance: Callable[[int], None] = lambda _count: None
    counts: Counts = field(default_factory=Counts)
    seen: Seen = field(default_factory=Seen)

    def tasks(self, files: Sequence[Path], only: frozenset[tuple[int, int]] | None = None) -> Iterator[Imported]:
        """Yield the tasks that are wanted, in the files' order; ``only``: those of a file's and a row's number.

        ``ExpressionError`` when no row can be asked what the expression asks.
        """
        for place, file in enumerate(files):
            if self._full:
                return
            rows = None if only is None else {row for at, row in only if at == place}
            try:
                table = table_at(file)
                yield from self._tasks_of(file, place, table, self._family_of(table), rows)
            except UnreadableFileError as error:
                self.counts.broken += 1
                self.tell(Told(file=file.name, row=None, id="", refusal=Refusal(field="file", why=str(error))))

    @property
    def _full(self) -> bool:
        return self.choice.seed is None and self.choice.limit is not None and self.counts.tasks >= self.choice.limit

    def _family_of(self, table: Table) -> Family:
        family = self.choice.family or family_of(table.columns())
        if isinstance(family, Refusal):
            raise UnreadableFileError(str(family))
        return family

    def _tasks_of(
        self, file: Path, place: int, table: Table, family: Family, only: set[int] | None
    ) -> Iterator[Imported]:
        columns = frozenset(family.columns) | frozenset(DECISIONS) | self.choice.expression.columns
        for row in table.rows(columns):
            if only is not None and row.number not in only:
                continue
            self.counts.rows += 1
            self.advance(1)
            made = self._made(file, place, row, family)
            if isinstance(made, Refusal):
                self.counts.refused += 1
                id_ = str(row.values.get("instance_id") or "")[:500]
                self.tell(Told(file=file.name, row=row.number, id=id_, refusal=made))
            elif made:
                self.counts.tasks += 1
                self.counts.families[family.name] += 1
                self.counts.notes.update(note.lstrip("0123456789 ") for note in made.task.notes)
                yield made
                if self._full:
                    return

    def _made(self, file: Path, place: int, row: RowRead, family: Family) -> Imported | Refusal | None:
        """Return the row's task, a refusal, or None for one that is not wanted."""
        if row.fault:
            return Refusal(field="row", why=row.fault)
        if self.choice.family is None and (foreign := _foreign(row.values, family)):
            return foreign
        task = task_from_row(row.values, family, self.choice.recipes)
        if isinstance(task, Refusal):
            return task
        if not is_wanted(task, self.choice.wanted) or not self._holds(task, row.values):
            self.counts.unselected += 1
            return None
        document = document_of(task.task)
        digest = digest_of(document)
        repo = canonical_repo(task.task.repo, self.choice.renamed)
        twice = self.seen.note(task, digest, file.name, row.number, repo=repo)
        if twice:
            return twice
        return Imported(
            file=file.name,
            place=place,
            number=row.number,
            task=task,
            document=document,
            digest=digest,
            row_digest=row_digest(row.values, family.columns),
            profile=family.profile,
        )

    def _holds(self, task: RowTask, values: Mapping[str, Any]) -> bool:
        """Whether the expression chooses a row; one that it cannot be asked of is not chosen, and counted."""
        try:
            return self.choice.expression.holds(variables_of(task, values))
        except ExpressionError as error:
            if str(error).startswith("Undefined variable"):
                raise
            self.counts.notes[f"rows of which --select cannot be asked: {error}"] += 1
            return False


def chosen_at_random(importer: Importer, files: Sequence[Path]) -> frozenset[tuple[int, int]]:
    """Return the file's and row's number of the tasks that come first in the random order of the choice's seed."""
    assert importer.choice.seed is not None
    seed = importer.choice.seed
    ranked = ((rank_of(seed, said.task.task.id), said.place, said.number) for said in importer.tasks(files))
    first = heapq.nsmallest(importer.choice.limit, ranked) if importer.choice.limit is not None else ranked
    return frozenset((file, number) for _, file, number in first)


def _foreign(values: Mapping[str, Any], family: Family) -> Refusal | None:
    """Return a refusal when a row's columns are those of another family than its file's."""
    if family.signature <= set(values):
        return None
    own = family_of(values.keys())
    if isinstance(own, Refusal) or own == family:
        return None
    why = f"has the columns of {own.name}, the file those of {family.name}; split the file, or say --family"
    return Refusal(field="row", why=why)
