"""What an import has seen: ids twice, ids that differ in case alone, rows at one commit, repositories on two sides.

Kept as short hashes: some hundred bytes a row, whatever its id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from assay.domain.datasets.rows import RowTask
from assay.domain.task import Refusal

KEY_BYTES = 12
"""Bytes of a hash that tell rows apart: two of a million ids agree once in 10^17 imports."""


@dataclass(slots=True)
class Seen:
    """The rows so far: hash of an id -> where it was, and hash of its document; ``folded``: ids without case."""

    ids: dict[bytes, tuple[str, int, bytes]] = field(default_factory=dict)
    folded: dict[bytes, bytes] = field(default_factory=dict)
    commits: Counter[bytes] = field(default_factory=Counter)
    case_only: list[tuple[str, str]] = field(default_factory=list)
    sides: dict[bytes, tuple[str, str, int]] = field(default_factory=dict)

    def note(self, row: RowTask, digest: str, file: str, number: int, *, repo: str = "") -> Refusal | None:
        """Note a row of a file; a refusal when its id was there before, or its repository on the other side.

        ``repo`` is the repository under the one name that its names come down to.
        """
        id_ = row.task.id
        key, document = _key(id_), bytes.fromhex(digest)[:KEY_BYTES]
        if key in self.ids:
            there, line, other = self.ids[key]
            same = "the same task" if other == document else "another task"
            return Refusal(field="instance_id", why=f"{id_[:200]!r} is {same} in {there}:{line} already")
        if row.split and repo:
            side, there, line = self.sides.setdefault(_key(repo), (row.split, file, number))
            if side != row.split:
                return Refusal(field="split", why=f"{repo} is on the {side} side already, by {there}:{line}")
        self.ids[key] = (file, number, document)
        folded = id_.casefold()
        twin = self.folded.setdefault(key if folded == id_ else _key(folded), key)
        if twin is not key:
            there, line, _ = self.ids[twin]
            self.case_only.append((id_, f"{there}:{line}"))
        if row.task.base_commit:
            self.commits[_key(f"{row.task.repo.lower()}\0{row.task.base_commit}")] += 1
        return None

    @property
    def shared_commits(self) -> int:
        """How many rows share repository and commit with another one."""
        return sum(count for count in self.commits.values() if count > 1)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
