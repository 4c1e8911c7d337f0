"""What of an artifact store may be deleted: files that no object names, and that nobody may be about to name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

SHA256_DIGITS = 64
HEXADECIMAL = frozenset("0123456789abcdef")
LEAST_AGE = timedelta(days=2)
"""Younger files are never garbage: evidence is stored before a status names it.

A store writes a file again that is put when it is older than a day, so what is put shortly before its age is looked at
is young too.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file of a store; ``path`` below its root, ``digest`` of what it holds, ``bytes`` as stored."""

    path: str
    digest: str
    bytes: int
    modified: datetime

    @property
    def unfinished(self) -> bool:
        """Whether it is what a writer that was killed left behind."""
        return self.path.endswith(".part")


def references_of(said: object) -> Iterator[str]:
    """Yield every SHA-256 that an object's JSON holds, under whatever name: better one too many than one too few."""
    waiting = [said]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and len(value) == SHA256_DIGITS and HEXADECIMAL.issuperset(value):
            yield value


def garbage_of(
    files: Iterable[StoredFile], referenced: frozenset[str], *, now: datetime, older_than: timedelta
) -> tuple[StoredFile, ...]:
    """Return the files that nothing refers to and that are older than the grace, oldest first."""
    before = now - max(older_than, LEAST_AGE)
    found = (file for file in files if file.modified < before and (file.unfinished or file.digest not in referenced))
    return tuple(sorted(found, key=lambda file: (file.modified, file.path)))
