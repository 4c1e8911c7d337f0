"""The control channel: lines of bounded length, obeyed only with the token."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.witness.control import ENTRIES, LINE_BYTES, Ledger, LineBuffer


def say(ledger: Ledger, line: bytes) -> str | None:
    return ledger.read(line, out=3, err=4, seconds=1.5)


@given(st.lists(st.binary(max_size=40)))
def test_lines_do_not_depend_on_how_the_bytes_are_cut(blocks):
    buffer = LineBuffer()
    lines = [line for block in blocks for line in buffer.feed(block)]
    assert lines == b"".join(blocks).split(b"\n")[:-1]


@given(st.integers(LINE_BYTES + 1, 5 * LINE_BYTES), st.integers(1, 3 * LINE_BYTES))
def test_a_line_too_long_comes_out_once_and_cut(length, step):
    buffer = LineBuffer()
    data = b"x" * length + b"\nnext\n"
    lines = [line for at in range(0, len(data), step) for line in buffer.feed(data[at : at + step])]
    assert len(lines) == 2
    assert len(lines[0]) > LINE_BYTES
    assert lines[1] == b"next"


def test_hello_is_answered_with_the_token_once():
    ledger = Ledger("secret")
    assert say(ledger, b"hello") == "secret"
    assert say(ledger, b"hello") is None
    assert ledger.strange == 1


def test_marks_facts_and_the_end_are_obeyed():
    ledger = Ledger("t")
    assert say(ledger, b"t mark setup") == "ok"
    assert say(ledger, b"t fact workdir /a b  c") == "ok"
    assert say(ledger, b"t fact empty") == "ok"
    assert say(ledger, b"t end 3") == "ok"
    assert ledger.marks == [{"name": "setup", "merged": 7, "out": 3, "err": 4, "seconds": 1.5}]
    assert ledger.facts == {"workdir": "/a b  c", "empty": ""}
    assert (ledger.ended, ledger.exit_code, ledger.strange) == (True, 3, 0)


@given(st.binary(max_size=60).filter(lambda line: line not in (b"", b"hello")))
def test_a_line_without_the_token_changes_nothing(line):
    ledger = Ledger("secret")
    assert say(ledger, line) is None
    assert (ledger.marks, ledger.facts, ledger.ended, ledger.strange) == ([], {}, False, 1)


@given(st.binary(max_size=60))
def test_whatever_follows_the_token_never_crashes(line):
    ledger = Ledger("t")
    assert say(ledger, b"t " + line) in (None, "ok")


def test_the_number_of_entries_and_the_length_of_values_are_bounded():
    ledger = Ledger("t")
    for number in range(ENTRIES + 5):
        say(ledger, f"t mark m-{number}".encode())
        say(ledger, f"t fact f-{number} {'v' * 5000}".encode())
    assert len(ledger.marks) == len(ledger.facts) == ENTRIES
    assert ledger.strange == 10
    assert max(map(len, ledger.facts.values())) <= 1024
    assert say(ledger, b"t fact f-1 new") == "ok"
    assert ledger.facts["f-1"] == "new"


def test_an_exit_code_that_cannot_be_is_strange():
    ledger = Ledger("t")
    for code in (b"256", b"-1", b"x", "²".encode()):
        say(ledger, b"t end " + code)
    assert not ledger.ended
    assert ledger.strange == 4
