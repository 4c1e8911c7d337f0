"""One call's output on disk: its head, and its tail in segments of which the last two stay.

Bytes go from the FIFO to the file inside the kernel (splice), so a byte is in the one or in the other whenever this
process is killed; all counts are read back from the files' names and sizes.
"""

from __future__ import annotations

import os
from typing import NamedTuple

HEAD_BYTES = 32 * 1024 * 1024
SEGMENT_BYTES = 4 * 1024 * 1024
SEGMENTS_KEPT = 2


class Limits(NamedTuple):
    """Bytes of the head and of one segment of the tail."""

    head: int = HEAD_BYTES
    segment: int = SEGMENT_BYTES


class Spool:
    """The files of one call in a folder of their own."""

    __slots__ = ("_descriptor", "_folder", "_limits", "_name", "total")

    def __init__(self, folder: str, limits: Limits) -> None:
        """Take up the folder, which may not exist yet, as it is."""
        self._folder = folder
        self._limits = limits
        self._descriptor = -1
        self._name = ""
        os.makedirs(folder, exist_ok=True)
        last = max(self._segments(), default=None)
        self.total = self._size("head") if last is None else limits.head + last * limits.segment + self._size(f"{last}")

    def take(self, source: int, most: int) -> int:
        """Move at most ``most`` bytes from a pipe; return how many, 0 at its end.  Raises ``BlockingIOError``."""
        moved = 0
        while moved < most:
            name, at, room = self._place()
            if name != self._name:
                self._open(name)
            try:
                count = os.splice(source, self._descriptor, min(room, most - moved), offset_dst=at, flags=_NONBLOCK)
            except BlockingIOError:
                if moved:
                    break
                raise
            if not count:
                break
            self.total += count
            moved += count
        return moved

    def close(self) -> None:
        """Take no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._name = -1, ""

    @property
    def omitted(self) -> tuple[int, int] | None:
        """The range of bytes that were not kept."""
        segments = self._segments()
        if not segments or not min(segments):
            return None
        return self._limits.head, self._limits.head + min(segments) * self._limits.segment

    @property
    def stored(self) -> int:
        """Bytes on disk."""
        gap = self.omitted
        return self.total - (gap[1] - gap[0] if gap else 0)

    def read(self, offset: int, limit: int) -> tuple[int, bytes]:
        """Return bytes and where they begin: from ``offset``, or from the end of the gap that it lies in."""
        gap = self.omitted
        if gap and gap[0] <= offset < gap[1]:
            offset = gap[1]
        if offset >= self.total or limit <= 0:
            return min(offset, self.total), b""
        head, segment = self._limits
        name, at, end = "head", offset, head
        if offset >= head:
            number, at = divmod(offset - head, segment)
            name, end = f"{number}", segment
        with open(f"{self._folder}/{name}", "rb") as file:
            file.seek(at)
            return offset, file.read(min(limit, end - at))

    def remove(self) -> None:
        """Forget the bytes."""
        self.close()
        for name in os.listdir(self._folder):
            os.unlink(f"{self._folder}/{name}")
        os.rmdir(self._folder)

    def _place(self) -> tuple[str, int, int]:
        """The file that takes the next byte, where in it, and how many more it takes."""
        head, segment = self._limits
        if self.total < head:
            return "head", self.total, head - self.total
        number, at = divmod(self.total - head, segment)
        return f"{number}", at, segment - at

    def _open(self, name: str) -> None:
        self.close()
        self._descriptor = os.open(f"{self._folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._name = name
        old = int(name) - SEGMENTS_KEPT if name != "head" else -1
        if old >= 0 and os.path.exists(f"{self._folder}/{old}"):
            os.unlink(f"{self._folder}/{old}")

    def _segments(self) -> list[int]:
        return [int(name) for name in os.listdir(self._folder) if name.isdecimal()]

    def _size(self, name: str) -> int:
        try:
            return os.stat(f"{self._folder}/{name}").st_size
        except FileNotFoundError:
            return 0


_NONBLOCK = os.SPLICE_F_NONBLOCK
