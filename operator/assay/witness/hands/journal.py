"""What must outlive this process, one JSON list a line, appended and never changed."""

from __future__ import annotations

import os
from json import dumps, loads
from typing import Any


class Journal:
    """An append-only file; a last line that a kill cut short was never said."""

    def __init__(self, path: str) -> None:
        """Read what is there; ``entries`` are the lines so far."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            data = file.read()
        whole = data.rpartition(b"\n")
        self._end = len(whole[0]) + len(whole[1])
        os.ftruncate(self._descriptor, self._end)
        self.entries: list[list[Any]] = [loads(line) for line in whole[0].split(b"\n") if line]

    def note(self, *words: object) -> None:
        """Append one line; it is kept when this returns.  Raises ``OSError`` with nothing noted."""
        line = dumps(words, separators=(",", ":")).encode() + b"\n"
        if os.pwrite(self._descriptor, line, self._end) != len(line):
            os.ftruncate(self._descriptor, self._end)
            raise OSError("the private volume is full")
        self._end += len(line)
