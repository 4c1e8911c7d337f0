"""Encoding and decoding the record, and everything that a damaged log can look like."""

from __future__ import annotations

import io
import os
import tempfile
import time
import tracemalloc
import zlib
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.witness import frames
from assay.witness.record import RecordFault, read_gate_refusal, read_record
from assay.witness.recording import PIECE, Recording

chunks = st.lists(st.tuples(st.integers(0, 1), st.binary(min_size=1, max_size=50)), max_size=30)


def header_of(recording: Recording, **changes) -> dict[str, object]:
    return {
        "format": 1,
        "ended": True,
        "rc": 0,
        "sizes": {"out": recording.sizes[0], "err": recording.sizes[1], "merged": recording.merged},
        "sha256": recording.sha256,
        "truncated": recording.truncated,
        "stored": {
            "merged": recording.kept_bytes,
            "head": recording.head_bytes,
            "pieces": recording.pieces,
            "sha256": recording.kept_sha256,
        },
        "marks": [{"name": "setup", "merged": 0, "out": 0, "err": 0, "seconds": 0.1}],
        "facts": {"workdir": "/w"},
        "strange": 0,
        "isolation": {
            "targets": 1,
            "rounds": 2,
            "gateSeconds": 0.1,
            "openedAtFirst": False,
            "samples": 1,
            "unknown": 0,
            "leaks": [{"target": "127.0.0.1:1", "seconds": 0.5}],
            "leakCount": 1,
        },
        "startedAt": 1.0,
        "durationSeconds": 2.0,
        **changes,
    }


def record_chunks(parts, store, *, head: int = 1 << 30, tail: int = 0) -> Recording:
    recording = Recording(store, head=head, tail=tail)
    for stream, data in parts:
        recording.append(stream, data)
    recording.finish()
    return recording


def printed(header: dict[str, object], packed, *, echo: bytes = b"") -> bytes:
    with tempfile.TemporaryFile() as target:
        printer = frames.Printer(target.fileno(), len(echo) + 1)
        printer.echo(echo)
        printer.record(header, packed)
        target.seek(0)
        return target.read()


def log_of(parts, *, echo: bytes = b"", head: int = 1 << 30, tail: int = 0, **changes) -> bytes:
    store = io.BytesIO()
    recording = record_chunks(parts, store, head=head, tail=tail)
    return printed(header_of(recording, **changes), store, echo=echo)


def joined(parts, wanted: int | None = None) -> bytes:
    return b"".join(data for stream, data in parts if wanted in (None, stream))


@given(chunks, st.binary(max_size=80))
def test_what_was_recorded_is_what_is_read(parts, echo):
    record = read_record(log_of(parts, echo=echo))
    assert record.merged == joined(parts)
    assert record.stream("out") == joined(parts, 0)
    assert record.stream("err") == joined(parts, 1)
    assert record.sha256 == sha256(joined(parts)).hexdigest()
    assert (record.sizes.out, record.sizes.err) == (len(joined(parts, 0)), len(joined(parts, 1)))
    assert not record.truncated
    assert record.facts == {"workdir": "/w"}
    assert record.isolation.leaks[0].target == "127.0.0.1:1"


@given(chunks, st.data())
def test_between_two_marks_lie_the_bytes_written_between_them(parts, data):
    first = data.draw(st.integers(0, len(parts)))
    last = data.draw(st.integers(first, len(parts)))
    marks = [
        {
            "name": name,
            "merged": len(joined(parts[:at])),
            "out": len(joined(parts[:at], 0)),
            "err": len(joined(parts[:at], 1)),
            "seconds": 0.0,
        }
        for name, at in (("a", first), ("b", last))
    ]
    record = read_record(log_of(parts, marks=marks))
    assert record.between("a", "b") == joined(parts[first:last])
    assert record.between("a", "b", "out") == joined(parts[first:last], 0)
    assert record.between("a", "b", "err") == joined(parts[first:last], 1)


@given(chunks, st.integers(0, 200), st.integers(0, 200))
def test_beyond_the_head_only_the_tail_is_kept_and_everything_counted(parts, head, tail):
    whole = joined(parts)
    record = read_record(log_of(parts, head=head, tail=tail))
    kept_tail = whole[head:][-tail:] if tail else b""
    assert record.merged == whole[:head] + kept_tail
    assert record.truncated == (len(whole) > head + tail)
    assert record.sha256 == sha256(whole).hexdigest()
    assert record.sizes.merged == len(whole)


def test_marks_of_a_truncated_record_give_what_was_kept_between_them():
    parts = [(0, b"a" * 10), (1, b"b" * 10), (0, b"c" * 10), (1, b"d" * 10)]
    marks = [{"name": str(at), "merged": at, "out": 0, "err": 0, "seconds": 0.0} for at in (0, 10, 20, 30, 40)]
    record = read_record(log_of(parts, head=12, tail=12, marks=marks))
    assert record.between("0", "10") == b"a" * 10
    assert record.between("10", "20") == b"bb"
    assert record.between("20", "30") == b"cc"
    assert record.between("20", "30", "out") == b"cc"
    assert record.between("30", "40", "err") == b"d" * 10
    assert record.between("0", "40") == b"a" * 10 + b"bbcc" + b"d" * 10


def test_an_unknown_mark_is_a_key_error():
    with pytest.raises(KeyError, match="nowhere"):
        read_record(log_of([])).between("setup", "nowhere")


@given(chunks, st.data())
def test_any_single_damaged_byte_is_a_fault(parts, data):
    log = bytearray(log_of(parts, echo=b"tests run\n"))
    begin = log.index(frames.SEPARATOR)
    at = data.draw(st.integers(begin, len(log) - 1))
    log[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != log[at]))
    with pytest.raises(RecordFault):
        read_record(bytes(log))


def test_every_byte_of_a_record_matters():
    log = log_of([(0, b"one\n"), (1, b"two\n")], echo=b"x\n")
    for at in range(log.index(frames.SEPARATOR), len(log)):
        for damage in (1, 0x20, 0x80):
            damaged = log[:at] + bytes([log[at] ^ damage]) + log[at + 1 :]
            with pytest.raises(RecordFault):
                read_record(damaged)


def test_every_prefix_is_incomplete_and_may_be_read_again():
    log = log_of([(0, os.urandom(20000))], echo=b"x\n")
    for end in (*range(0, len(log) - 1, 97), len(log) - 1):
        with pytest.raises(RecordFault) as fault:
            read_record(log[:end])
        assert fault.value.incomplete


def test_a_missing_or_moved_line_is_a_contradiction():
    lines = log_of([(0, os.urandom(40000))]).splitlines(keepends=True)
    assert len(lines) > 5
    for damaged in (
        lines[1:],
        [*lines[:2], *lines[3:]],
        [lines[0], lines[2], lines[1], *lines[3:]],
        [*lines, *lines],
        [*lines[:2], b"unexpected EOF\n", *lines[2:]],
        [*lines[:2], lines[1], *lines[2:]],
    ):
        with pytest.raises(RecordFault) as fault:
            read_record(b"".join(damaged))
        assert not fault.value.incomplete


def test_text_before_and_plain_text_after_the_record_does_no_harm():
    log = b"kubelet says hello\nassay-record {}\n" + log_of([(0, b"x")]) + b"failed to try resolving symlinks\n"
    assert read_record(log).merged == b"x"


def test_a_log_of_something_else_is_incomplete():
    for log in (b"", b"unable to retrieve container logs\n"):
        with pytest.raises(RecordFault) as fault:
            read_record(log)
        assert fault.value.incomplete


def test_a_refused_gate_is_no_record_and_says_why():
    log = b'\x1eassay-gate {"open":["10.0.0.1:443"],"rounds":9,"why":"targets are not shut"}\n'
    with pytest.raises(RecordFault) as fault:
        read_record(log)
    assert not fault.value.incomplete
    refusal = read_gate_refusal(log)
    assert refusal is not None
    assert refusal.open_targets == ("10.0.0.1:443",)
    assert read_gate_refusal(b"\x1eassay-gate {}\n") is None
    assert read_gate_refusal(b"nothing") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"sha256": "0" * 64},
        {"truncated": True},
        {"sizes": {"out": 1, "err": 0, "merged": 1}},
        {"sizes": {"out": 2, "err": 0, "merged": 3}},
        {"stored": {"merged": 3, "head": 3, "pieces": 2, "sha256": "0" * 64}},
        {"stored": {"merged": 2, "head": 2, "pieces": 2, "sha256": sha256(b"xyz").hexdigest()}},
        {"stored": {}},
        {"isolation": {}},
        {"marks": [{"name": "x"}]},
    ],
)
def test_a_header_that_contradicts_the_bytes_is_a_fault(changes):
    with pytest.raises(RecordFault) as fault:
        read_record(log_of([(0, b"xy"), (1, b"z")], **changes))
    assert not fault.value.incomplete


def test_a_bomb_is_refused_before_it_unfolds():
    store = io.BytesIO(zlib.compress(PIECE.pack(0, 1 << 30) + bytes(1 << 28)))
    recording = record_chunks([(0, b"x")], io.BytesIO())
    log = printed(header_of(recording), store)
    tracemalloc.start()
    try:
        with pytest.raises(RecordFault, match="more than its header says"):
            read_record(log)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_record_beyond_the_limit_is_refused():
    with pytest.raises(RecordFault, match="larger than allowed"):
        read_record(log_of([(0, b"x" * 100)]), largest=99)
    assert read_record(log_of([(0, b"x" * 100)]), largest=100).sizes.merged == 100


def test_no_line_of_the_record_is_longer_than_12_kib():
    log = log_of([(0, os.urandom(100000))])
    assert max(map(len, log.split(b"\n"))) <= 12 * 1024


def test_64_mib_are_read_in_seconds_and_in_little_memory():
    text = b"".join(b"tests/test_m.py::test_%d PASSED\n" % number for number in range(1 << 15))
    size = 64 << 20
    store = io.BytesIO()
    recording = Recording(store, head=size, tail=0)
    for at in range(0, size, 262144):
        recording.append(at // 262144 % 2, (text * 2)[at % len(text) :][:262144])
    recording.finish()
    log = printed(header_of(recording), store)
    tracemalloc.start()
    begun = time.monotonic()
    try:
        record = read_record(log)
        passed = time.monotonic() - begun
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert record.sizes.merged == size
    assert sha256(record.merged).hexdigest() == recording.sha256
    assert peak < 2 * size
    assert passed < 20


@given(st.lists(st.binary(max_size=20)), st.integers(0, 100))
def test_the_echo_holds_no_separator_and_ends_on_a_line_of_its_own(blocks, limit):
    with tempfile.TemporaryFile() as target:
        printer = frames.Printer(target.fileno(), limit)
        for block in blocks:
            printer.echo(block)
        printer.gate(b"{}")
        target.seek(0)
        shown = target.read()
    echo, frame = shown.split(frames.SEPARATOR)
    assert frame == b"assay-gate {}\n"
    assert not echo or echo.endswith(b"\n")
    assert b"".join(blocks)[:limit].replace(frames.SEPARATOR, b"?") in echo
