"""The gateway's store of module files: immutable ones on disk within a bound, the rest in memory for a while.

Shared by all runs and keyed by content (module, version, suffix), so it is consulted after stage 1 alone, and what it
gives is judged again in stage 2.  It holds files and facts, never decisions.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.domain.goproxy.answers import Facts

logger = logging.getLogger(__name__)
_NAME_LENGTH = 64 + 1 + 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A file that is ready to be judged and sent. Small ones have a body; large ones lie at a path, which may vanish."""

    facts: Facts
    size: int
    sha256: str
    body: bytes | None = field(default=None, repr=False)
    path: Path | None = None

    @property
    def weight(self) -> int:
        """Return roughly how many bytes of memory it takes."""
        carried = sum(map(len, self.facts.carried))
        return 1024 + len(self.body or b"") + carried + 64 * len(self.facts.carried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Upstream said that there is no such file, by 404 or 410."""

    status: int


class MemoryCache:
    """Recently used files and absences, least recently used out first, each until its time is over."""

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._capacity, self._clock, self._weight = capacity, clock, 0
        self._entries: OrderedDict[str, tuple[float, Stored | Missing]] = OrderedDict()

    def get(self, key: str) -> Stored | Missing | None:
        """Return what is held under the key and still good."""
        found = self._entries.get(key)
        if found is None:
            return None
        if found[0] < self._clock():
            self.drop(key)
            return None
        self._entries.move_to_end(key)
        return found[1]

    def put(self, key: str, value: Stored | Missing, seconds: float) -> None:
        """Hold the value for so many seconds; one that is over the whole capacity is not held."""
        self.drop(key)
        if _weight(value) > self._capacity:
            return
        self._entries[key] = (self._clock() + seconds, value)
        self._weight += _weight(value)
        while self._weight > self._capacity:
            self.drop(next(iter(self._entries)))

    def drop(self, key: str) -> None:
        """Forget the key."""
        found = self._entries.pop(key, None)
        if found is not None:
            self._weight -= _weight(found[1])


def _weight(value: Stored | Missing) -> int:
    return value.weight if isinstance(value, Stored) else 256


class DiskCache:
    """Files in one directory under the names ``<key hash>-<content hash>``, least recently used out first.

    A file appears by rename, whole or not at all. The bound may be passed by the newest file alone.
    """

    def __init__(self, directory: Path, capacity: int) -> None:
        self._objects, self._spool, self._capacity = directory / "objects", directory / "spool", capacity
        self._objects.mkdir(parents=True, exist_ok=True)
        self._spool.mkdir(parents=True, exist_ok=True)
        for left_over in self._spool.iterdir():
            left_over.unlink()
        self._entries: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._size = 0
        self._load()

    def _load(self) -> None:
        """Take up the files of an earlier process, oldest first."""
        files = [(path.stat(), path) for path in self._objects.iterdir() if len(path.name) == _NAME_LENGTH]
        for stat, path in sorted(files, key=lambda item: item[0].st_mtime_ns):
            hashed, _, digest = path.name.partition("-")
            self._entries[hashed] = (digest, stat.st_size)
            self._size += stat.st_size
        self.shed(self._capacity)

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return self._size

    def spool(self) -> Path:
        """Return a new empty file to write an answer to; raises OSError where the disk takes none."""
        descriptor, name = tempfile.mkstemp(dir=self._spool)
        os.close(descriptor)
        return Path(name)

    def find(self, key: str) -> tuple[Path, str] | None:
        """Return the path and content hash of the key's file."""
        hashed = _hash(key)
        entry = self._entries.get(hashed)
        if entry is None:
            return None
        self._entries.move_to_end(hashed)
        return self._objects / f"{hashed}-{entry[0]}", entry[0]

    def adopt(self, key: str, spooled: Path, digest: str) -> Path:
        """Move a spooled file into the cache and return its new path; raises OSError."""
        self.drop(key)
        hashed = _hash(key)
        size = spooled.stat().st_size
        path = spooled.rename(self._objects / f"{hashed}-{digest}")
        self._entries[hashed] = (digest, size)
        self._size += size
        self.shed(max(self._capacity, size))
        return path

    def drop(self, key: str) -> None:
        """Delete the key's file."""
        self._drop(_hash(key))

    def shed(self, limit: int) -> None:
        """Delete the least recently used files until the rest fits the limit in bytes."""
        while self._size > limit and self._entries:
            self._drop(next(iter(self._entries)))

    def shed_half(self) -> None:
        """Make room on a full disk."""
        logger.warning("the disk of the module cache is full; half of the cache is given up")
        self.shed(self.size // 2)

    def _drop(self, hashed: str) -> None:
        entry = self._entries.pop(hashed, None)
        if entry is not None:
            self._size -= entry[1]
            (self._objects / f"{hashed}-{entry[0]}").unlink(missing_ok=True)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
