"""What an import has seen already: ids twice, ids that differ in case alone, rows at one commit of one repository."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay.domain.datasets.rows import RowTask
from assay.domain.task import Refusal


@dataclass(slots=True)
class Seen:
    """The rows so far, by id, by id without case, and by repository and commit."""

    ids: dict[str, tuple[str, str]] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)
    commits: Counter[tuple[str, str]] = field(default_factory=Counter)
    case_only: list[tuple[str, str]] = field(default_factory=list)

    def note(self, row: RowTask, digest: str, place: str) -> Refusal | None:
        """Note a row at a place such as ``rows.parquet:12``; a refusal when its id was there before."""
        id_ = row.task.id
        if id_ in self.ids:
            before, other = self.ids[id_]
            same = "the same task" if other == digest else "another task"
            return Refusal(field="instance_id", why=f"{id_[:200]!r} is {same} in {before} already")
        self.ids[id_] = (place, digest)
        twin = self.folded.setdefault(id_.casefold(), id_)
        if twin != id_:
            self.case_only.append((twin, id_))
        if row.task.base_commit:
            self.commits[row.task.repo.lower(), row.task.base_commit] += 1
        return None

    @property
    def shared_commits(self) -> int:
        """How many rows share repository and commit with another one."""
        return sum(count for count in self.commits.values() if count > 1)
