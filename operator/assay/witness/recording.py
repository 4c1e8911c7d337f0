"""The record itself: every byte of both streams in arrival order, hashed, counted and kept compressed.

The kept bytes are a sequence of *pieces*: a stream's number (1 byte), a length (4 bytes, big endian), the bytes.
The first ``head`` bytes are kept whole; of what follows, only the last ``tail``.  Hash and counts go on over all.
"""

from __future__ import annotations

import zlib
from collections import deque
from hashlib import sha256
from struct import Struct
from typing import IO

STREAMS = ("out", "err")
PIECE = Struct(">BI")
PIECE_BYTES = 65536
LEVEL = 3
"""Of zlib: as fast as 1 on test logs and smaller; 6 takes three times as long for a seventh less."""


class Recording:
    """Takes output as it arrives; ``finish`` once, then read the figures."""

    def __init__(self, store: IO[bytes], *, head: int, tail: int) -> None:
        """Write the compressed pieces to ``store``, an empty file opened for reading and writing."""
        self.sizes = [0, 0]
        self.pieces = 0
        self.head_bytes = 0
        self.kept_bytes = 0
        self._store = store
        self._packer = zlib.compressobj(LEVEL)
        self._hash = sha256()
        self._kept_hash = sha256()
        self._head_left = head
        self._tail_limit = tail
        self._tail: deque[tuple[int, bytearray]] = deque()
        self._tail_bytes = 0
        self._pending = bytearray()
        self._pending_stream = 0

    @property
    def merged(self) -> int:
        """Bytes seen so far on both streams."""
        return self.sizes[0] + self.sizes[1]

    @property
    def sha256(self) -> str:
        """Of every byte seen, in arrival order."""
        return self._hash.hexdigest()

    @property
    def kept_sha256(self) -> str:
        """Of the kept bytes, in arrival order; valid after ``finish``."""
        return self._kept_hash.hexdigest()

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped; valid after ``finish``."""
        return self.kept_bytes < self.merged

    def append(self, stream: int, data: bytes) -> None:
        """Take ``data`` from stream 0 (out) or 1 (err)."""
        self.sizes[stream] += len(data)
        self._hash.update(data)
        if self._head_left:
            kept = data[: self._head_left]
            self._head_left -= len(kept)
            self._keep(stream, kept)
            data = data[len(kept) :]
        if data:
            self._push_tail(stream, data)

    def finish(self) -> int:
        """Write the tail out, close the compressed stream and return its size in bytes."""
        self._flush_pending()
        self.head_bytes = self.kept_bytes
        for stream, data in self._tail:
            self._keep(stream, data)
            self._flush_pending()
        self._store.write(self._packer.flush())
        self._store.flush()
        return self._store.tell()

    def _keep(self, stream: int, data: bytes | bytearray) -> None:
        if stream != self._pending_stream or len(self._pending) >= PIECE_BYTES:
            self._flush_pending()
            self._pending_stream = stream
        self._pending += data

    def _flush_pending(self) -> None:
        if not self._pending:
            return
        self.pieces += 1
        self.kept_bytes += len(self._pending)
        self._kept_hash.update(self._pending)
        self._store.write(self._packer.compress(PIECE.pack(self._pending_stream, len(self._pending)) + self._pending))
        self._pending = bytearray()

    def _push_tail(self, stream: int, data: bytes) -> None:
        tail = self._tail
        if tail and tail[-1][0] == stream and len(tail[-1][1]) < PIECE_BYTES:
            tail[-1][1].extend(data)
        else:
            tail.append((stream, bytearray(data)))
        self._tail_bytes += len(data)
        excess = self._tail_bytes - self._tail_limit
        while excess > 0:
            first = tail[0][1]
            if len(first) <= excess:
                tail.popleft()
                dropped = len(first)
            else:
                del first[:excess]
                dropped = excess
            excess -= dropped
            self._tail_bytes -= dropped
