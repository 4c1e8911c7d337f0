"""What the witness prints: sanitised echo, then the record in framed lines that no task can forge.

A frame is a line that begins with the byte 0x1e; the echo never holds that byte.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from hashlib import sha256
from json import dumps
from typing import IO

SEPARATOR = b"\x1e"
RECORD = b"\x1eassay-record "
DATA = b"\x1eassay-data "
END = b"\x1eassay-end "
GATE = b"\x1eassay-gate "

DATA_BYTES = 9000
"""Compressed bytes in one data frame: 12,000 base64 digits."""

_ECHO_ENDS = b"\n[assay: the live view ends here; the complete log is kept in the record]\n"


def canonical_json(value: object) -> bytes:
    """Return the one spelling of ``value`` that the decoder accepts."""
    return dumps(value, separators=(",", ":"), sort_keys=True).encode()


def data_frame(number: int, data: bytes) -> bytes:
    """Return the frame of the ``number``-th block of compressed bytes, counted from 0."""
    return b"%s%d %s" % (DATA, number, b2a_base64(data))


def end_frame(frames: int, packed_sha256: str, header: bytes) -> bytes:
    """Return the last frame: number of data frames, checksums of the compressed bytes and of the header."""
    seal = {"frames": frames, "header": sha256(header).hexdigest(), "sha256": packed_sha256}
    return b"%s%s\n" % (END, canonical_json(seal))


class Printer:
    """Writes to one descriptor: echo first, frames last, each frame on a line of its own."""

    def __init__(self, descriptor: int, echo: int) -> None:
        """Echo at most ``echo`` bytes."""
        self._descriptor = descriptor
        self._echo_left = echo
        self._at_line_start = True

    def echo(self, data: bytes) -> None:
        """Show ``data`` while the limit lasts, with 0x1e replaced by a question mark."""
        if not self._echo_left or not data:
            return
        shown = data[: self._echo_left].replace(SEPARATOR, b"?")
        self._echo_left -= len(shown)
        self._write(shown if self._echo_left else shown + _ECHO_ENDS)

    def gate(self, refusal: bytes) -> None:
        """Print why the gate did not open: a JSON object."""
        self._frame(b"%s%s\n" % (GATE, refusal))

    def record(self, header: dict[str, object], packed: IO[bytes]) -> None:
        """Print the whole record; ``packed`` is read from its beginning."""
        head = canonical_json(header)
        self._frame(b"%s%s\n" % (RECORD, head))
        digest = sha256()
        number = 0
        packed.seek(0)
        while blocks := packed.read(DATA_BYTES * 64):
            digest.update(blocks)
            parts = [blocks[at : at + DATA_BYTES] for at in range(0, len(blocks), DATA_BYTES)]
            self._write(b"".join(data_frame(number + index, part) for index, part in enumerate(parts)))
            number += len(parts)
        self._frame(end_frame(number, digest.hexdigest(), head))

    def _frame(self, line: bytes) -> None:
        self._write(line if self._at_line_start else b"\n" + line)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self._at_line_start = data.endswith(b"\n")
