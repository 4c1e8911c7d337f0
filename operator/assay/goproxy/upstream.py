"""Upstream: where module files come from. One seam, two sides: a GOPROXY server by HTTP, or a directory.

Upstream sees paths that the gateway rendered itself, fixed headers, and nothing of the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol

Sink = Callable[[bytes], object]
"""Takes the answer's bytes as they come; may raise OSError when the disk is full."""
_CHUNK = 1 << 18


class UpstreamFaultError(Exception):
    """Upstream gave no usable answer; nothing of it was cached or sent.

    ``status`` is what the client gets (502 or 504, never 404), ``word`` names the fault in metrics, ``why`` is for people.
    """

    def __init__(self, status: int, word: str, why: str) -> None:
        super().__init__(why)
        self.status, self.word, self.why = status, word, why


class Upstream(Protocol):
    """Fetches one file of the GOPROXY protocol by its rendered path."""

    async def fetch(self, path: str, *, limit: int, seconds: float, sink: Sink) -> int:
        """Write the file to the sink and return 200; or return 404 or 410 and write nothing.

        At most ``limit`` bytes and ``seconds`` seconds. Raises UpstreamFaultError; the sink may hold part of a body then.
        """

    async def close(self) -> None:
        """Give back connections."""


def too_large(limit: int) -> UpstreamFaultError:
    """Return the fault of an answer over the limit."""
    return UpstreamFaultError(502, "too-large", f"upstream's answer is larger than {limit} bytes")


def timed_out() -> UpstreamFaultError:
    """Return the fault of an answer that did not come in time."""
    return UpstreamFaultError(504, "timeout", "upstream did not answer in time")


class DirectoryUpstream:
    """Module files in a directory, laid out as in a module cache's ``cache/download`` (and as GOPROXY=file:// reads it)."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def fetch(self, path: str, *, limit: int, seconds: float, sink: Sink) -> int:
        """Copy the file to the sink; 404 where there is none."""
        try:
            async with asyncio.timeout(seconds):
                return await self._copy(self._root / path, limit, sink)
        except TimeoutError as error:
            raise timed_out() from error

    async def _copy(self, file: Path, limit: int, sink: Sink) -> int:
        try:
            handle = await asyncio.to_thread(_opened, file)
        except OSError as error:
            raise UpstreamFaultError(502, "unreadable", "the module file cannot be read") from error
        if handle is None:
            return 404
        with handle:
            left = limit
            while chunk := await asyncio.to_thread(handle.read, _CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise too_large(limit)
                sink(chunk)
        return 200

    async def close(self) -> None:
        """Nothing is held open."""


def _opened(file: Path) -> BinaryIO | None:
    """Open a regular file; None where there is none."""
    return file.open("rb") if file.is_file() else None
