"""From the witness's log back to the run's output: the operator's half, pure, trusting nothing.

``read_record`` takes the bytes of the witness container's log and returns a :class:`Record` only when every frame,
count and checksum agrees; anything else is a :class:`RecordFault`, and costs an attempt, never a verdict.
"""

from __future__ import annotations

import io
import json
import zlib
from array import array
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from assay.witness.frames import DATA, END, GATE, RECORD, SEPARATOR, canonical_json
from assay.witness.recording import PIECE, STREAMS

Stream = Literal["merged", "out", "err"]

LARGEST_MERGED = 80 << 20
"""Kept bytes that the decoder accepts: a head of 64 MiB, a tail of 8 MiB, and room."""
MOST_PIECES = 8 << 20
_INFLATE_BYTES = 1 << 20


class RecordFault(Exception):  # noqa: N818  (a fault of the infrastructure, in the words of outcomes.py)
    """The log holds no record that can be believed.

    ``incomplete``: the record's end is not there, so that reading the log again later may help; otherwise the log
    contradicts itself and will go on doing so.
    """

    def __init__(self, why: str, *, incomplete: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.incomplete = incomplete


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRefusal:
    """Why the witness did not let the task begin; ``open_targets`` were last seen not shut."""

    why: str
    open_targets: tuple[str, ...]
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Where the streams stood, in bytes, ``seconds`` after recording began."""

    name: str
    merged: int
    out: int
    err: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Bytes that the task wrote, kept or not."""

    out: int
    err: int
    merged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A forbidden target that answered, ``seconds`` after recording began."""

    target: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationRecord:
    """What the witness saw of the network; ``leaks`` are the first few of ``leak_count``."""

    targets: int
    rounds: int
    gate_seconds: float
    opened_at_first: bool
    samples: int
    unknown: int
    leak_count: int
    leaks: tuple[Leak, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record:
    """A run's complete evidence.

    ``merged`` holds the kept bytes of both streams in arrival order: all of them, or the first ``head`` and the last
    ones when ``truncated``.  ``sha256`` and ``sizes`` count every byte.  ``switches`` are the offsets in ``merged`` at
    which the stream changes, beginning with ``out``.  ``ended`` is False and ``exit_code`` None when run.sh died.
    """

    ended: bool
    exit_code: int | None
    marks: tuple[Mark, ...]
    facts: Mapping[str, str]
    strange: int
    isolation: IsolationRecord
    sha256: str
    sizes: Sizes
    truncated: bool
    merged: bytes
    head: int
    switches: array[int]
    started_at: float
    duration_seconds: float

    def mark(self, name: str) -> Mark | None:
        """Return the first mark of that name."""
        return next((mark for mark in self.marks if mark.name == name), None)

    def between(self, begin_mark: str, end_mark: str | None, stream: Stream = "merged") -> bytes:
        """Return the kept bytes of ``stream`` from one mark to the other; ``KeyError`` when a mark is missing.

        Without an ``end_mark`` the bytes go to the end of the output.
        """
        begin, end = self.mark(begin_mark), self.mark(end_mark) if end_mark is not None else None
        if begin is None or (end_mark is not None and end is None):
            raise KeyError(begin_mark if begin is None else end_mark)
        first, last = self._kept(begin.merged), self._kept(end.merged) if end else len(self.merged)
        if stream == "merged":
            return self.merged[first:last]
        wanted = STREAMS.index(stream)
        return b"".join(self.merged[at:to] for at, to in self._parts(wanted, first, last))

    def stream(self, stream: Stream) -> bytes:
        """Return all kept bytes of ``stream``."""
        if stream == "merged":
            return self.merged
        return b"".join(self.merged[at:to] for at, to in self._parts(STREAMS.index(stream), 0, len(self.merged)))

    def _kept(self, offset: int) -> int:
        """Return where the byte at ``offset`` of the whole output lies among the kept ones."""
        if offset <= self.head:
            return offset
        return max(self.head, offset - (self.sizes.merged - len(self.merged)))

    def _parts(self, wanted: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        at, stream = 0, 0
        for to in (*self.switches, len(self.merged)):
            if stream == wanted and to > first and at < last:
                yield max(at, first), min(to, last)
            at, stream = to, 1 - stream


def read_gate_refusal(log: bytes) -> GateRefusal | None:
    """Return what the witness said when isolation was not proven, None when it did not say so."""
    at = log.find(GATE)
    end = log.find(b"\n", at)
    if at < 0 or end < 0:
        return None
    try:
        note = json.loads(log[at + len(GATE) : end])
        return GateRefusal(why=str(note["why"]), open_targets=tuple(map(str, note["open"])), rounds=int(note["rounds"]))
    except (ValueError, KeyError, TypeError):
        return None


def read_record(log: bytes, *, largest: int = LARGEST_MERGED) -> Record:
    """Return the record in a witness container's log; raise :class:`RecordFault` unless all of it agrees.

    Text before the record (the live echo) is skipped.  At most ``largest`` bytes of output are accepted.
    """
    try:
        return _read(_frames(log), largest)
    except (KeyError, TypeError) as error:
        raise RecordFault(f"the header lacks something: {error}") from error


def _read(lines: _Frames, largest: int) -> Record:
    seal = lines.seal
    header = _header(lines.header, seal)
    stored = header["stored"]
    if stored["merged"] > largest or stored["pieces"] > MOST_PIECES:
        raise RecordFault("the record is larger than allowed")
    unpacker = _Unpacker(stored["merged"], stored["pieces"])
    packed = sha256()
    for data in lines.blocks():
        packed.update(data)
        unpacker.feed(data)
    _agree(packed.hexdigest(), seal["sha256"], "checksum of the compressed bytes")
    return _record(header, unpacker)


class _Frames:
    """The lines of one record within a log."""

    def __init__(self, log: bytes, begin: int, data_at: int, end_at: int) -> None:
        self._log = log
        self._data_at = data_at
        self._end_at = end_at
        self.header = log[begin + len(RECORD) : data_at - 1]
        self.seal = _seal(log[end_at + len(END) : log.index(b"\n", end_at)])

    def blocks(self) -> Iterator[bytes]:
        """Yield the compressed bytes of each data frame, in order, checking number and spelling."""
        log, at, number = self._log, self._data_at, 0
        while at < self._end_at:
            start = b"%s%d " % (DATA, number)
            to = log.index(b"\n", at) + 1
            if not log.startswith(start, at):
                raise RecordFault(f"data frame {number} is missing or out of order")
            digits = log[at + len(start) : to]
            try:
                data = a2b_base64(digits)
            except Base64Error as error:
                raise RecordFault(f"data frame {number} is not base64") from error
            if b2a_base64(data) != digits:
                raise RecordFault(f"data frame {number} is not spelled as the witness spells it")
            yield data
            at, number = to, number + 1
        _agree(number, self.seal["frames"], "number of data frames")


def _frames(log: bytes) -> _Frames:
    end_at = log.rfind(b"\n" + END) + 1
    if not end_at or log.find(b"\n", end_at) < 0:
        refused = SEPARATOR + b"assay-gate " in log
        raise RecordFault("the record's end is not in the log", incomplete=not refused)
    begin = 0 if log.startswith(RECORD) else log.find(b"\n" + RECORD) + 1
    if not log.startswith(RECORD, begin) or begin > end_at:
        raise RecordFault("the record's beginning is not in the log")
    if log.find(SEPARATOR) != begin or log.rfind(SEPARATOR) != end_at:
        raise RecordFault("frames outside of the record")
    return _Frames(log, begin, log.index(b"\n", begin) + 1, end_at)


def _seal(text: bytes) -> dict[str, Any]:
    seal = _canonical_object(text, "end frame")
    if set(seal) != {"frames", "header", "sha256"}:
        raise RecordFault("the end frame lacks something")
    return seal


def _header(text: bytes, seal: Mapping[str, Any]) -> dict[str, Any]:
    _agree(sha256(text).hexdigest(), seal["header"], "checksum of the header")
    header = _canonical_object(text, "header")
    if header.get("format") != 1:
        raise RecordFault(f"unknown format {header.get('format')!r}")
    return header


def _canonical_object(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RecordFault(f"the {what} is not JSON") from error
    if not isinstance(value, dict) or canonical_json(value) != text:
        raise RecordFault(f"the {what} is not spelled as the witness spells it")
    return value


class _Unpacker:
    """Inflates pieces as they come, never beyond the promised size."""

    def __init__(self, merged: int, pieces: int) -> None:
        self._inflater = zlib.decompressobj()
        self._left = merged + pieces * PIECE.size
        self._rest = bytearray()
        self._stream = 0
        self._kept = io.BytesIO()
        self.pieces = 0
        self.sizes = [0, 0]
        self.switches = array("Q")

    def feed(self, data: bytes) -> None:
        """Take one block of compressed bytes."""
        while data:
            try:
                inflated = self._inflater.decompress(data, min(_INFLATE_BYTES, self._left + 1))
            except zlib.error as error:
                raise RecordFault("the compressed bytes are damaged") from error
            self._left -= len(inflated)
            if self._left < 0 or self._inflater.unused_data:
                raise RecordFault("the record holds more than its header says")
            self._rest += inflated
            self._cut()
            data = self._inflater.unconsumed_tail

    def kept(self) -> bytes:
        """Return the kept bytes; the stream must have ended where the header says."""
        if not self._inflater.eof or self._rest or self._left:
            raise RecordFault("the record holds less than its header says")
        return self._kept.getvalue()

    def _cut(self) -> None:
        at = 0
        with memoryview(self._rest) as view:
            while len(view) - at >= PIECE.size:
                stream, length = PIECE.unpack_from(view, at)
                if stream >= len(STREAMS):
                    raise RecordFault("a piece of an unknown stream")
                if len(view) - at - PIECE.size < length:
                    break
                self._note(stream, length)
                self._kept.write(view[at + PIECE.size : at + PIECE.size + length])
                at += PIECE.size + length
        del self._rest[:at]

    def _note(self, stream: int, length: int) -> None:
        if stream != self._stream:
            self.switches.append(self.sizes[0] + self.sizes[1])
            self._stream = stream
        self.sizes[stream] += length
        self.pieces += 1


def _record(header: Mapping[str, Any], unpacker: _Unpacker) -> Record:
    merged = unpacker.kept()
    stored, sizes = header["stored"], Sizes(**header["sizes"])
    digest = sha256(merged).hexdigest()
    _agree(unpacker.pieces, stored["pieces"], "number of pieces")
    _agree(len(merged), stored["merged"], "kept size")
    _agree(digest, stored["sha256"], "hash of the kept bytes")
    _agree(sizes.out + sizes.err, sizes.merged, "sum of the streams' sizes")
    _agree(len(merged) < sizes.merged, header["truncated"], "truncation")
    if not header["truncated"]:
        _agree(digest, header["sha256"], "hash of the output")
        _agree(unpacker.sizes, [sizes.out, sizes.err], "sizes of the streams")
    return Record(
        ended=header["ended"],
        exit_code=header["rc"],
        marks=tuple(Mark(**mark) for mark in header["marks"]),
        facts=header["facts"],
        strange=header["strange"],
        isolation=_isolation(header["isolation"]),
        sha256=header["sha256"],
        sizes=sizes,
        truncated=header["truncated"],
        merged=merged,
        head=stored["head"],
        switches=unpacker.switches,
        started_at=header["startedAt"],
        duration_seconds=header["durationSeconds"],
    )


def _isolation(found: Mapping[str, Any]) -> IsolationRecord:
    return IsolationRecord(
        targets=found["targets"],
        rounds=found["rounds"],
        gate_seconds=found["gateSeconds"],
        opened_at_first=found["openedAtFirst"],
        samples=found["samples"],
        unknown=found["unknown"],
        leak_count=found["leakCount"],
        leaks=tuple(Leak(**leak) for leak in found["leaks"]),
    )


def _agree(seen: object, said: object, what: str) -> None:
    if seen != said:
        raise RecordFault(f"{what} does not agree: {seen!r} seen, {said!r} said")
