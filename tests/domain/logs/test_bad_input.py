"""Logs that are no logs: a result or a refusal, in memory that a stated multiple of the log bounds, in bounded work.

Work is the number of calls that a reading makes, of Python and of the interpreter's own functions, and not a time.
"""

import sys
import tracemalloc

import pytest

from assay.domain.logs import DIALECTS, MAX_LOG_CHARS, ParseFailed, parse_log

OWN = [name for name, row in DIALECTS.items() if row.alias_of is None]
EVERY_LINE_IS_A_TEST = "parse_log_haskell_v2"
STARTS = (
    "",
    "PASSED ",
    "--- PASS: ",
    "test a ... ",
    "ok 1 - ",
    "[info] - ",
    "✓ ",
    "Test Summary: | Pass\na |",
    "<testcase ",
)
CALLS_A_LINE = 40
LONG_LINE = 2_000_000
LONG_LINE_TIMES = 20
BLOCK_BYTES = 16 << 20
STORM = "\x1b[31m\x1b[1;4m\x1b[0m[32m\x1b]0;t\x07\x1b(B"


class _Endless(str):
    """A text that claims to have a character more than the limit, and may not be looked at."""

    def __len__(self) -> int:
        return MAX_LOG_CHARS + 1


def _read(dialect, text):
    try:
        return parse_log(dialect, text)
    except ParseFailed:
        return {}


def _calls(dialect, text):
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    _read(dialect, text)
    sys.setprofile(note)
    try:
        _read(dialect, text)
    finally:
        sys.setprofile(None)
    return count


def _peak(dialect, text):
    tracemalloc.start()
    try:
        _read(dialect, text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dialect", OWN)
def test_a_log_beyond_the_limit_is_refused_without_a_look_at_it(dialect):
    with pytest.raises(ParseFailed, match="characters, more than"):
        parse_log(dialect, _Endless())


@pytest.mark.parametrize("dialect", [name for name in OWN if name != EVERY_LINE_IS_A_TEST])
def test_a_log_of_nothing_or_of_no_tests_has_no_results(dialect):
    for text in ("", "\n" * 50, "\x00\n" * 50, "\r" * 50, "0 tests\n", "\udcff\udcfe\n", "\x1b[0m\n" * 9):
        assert _read(dialect, text) == {}


@pytest.mark.parametrize("dialect", OWN)
def test_one_very_long_line_is_read_in_little_memory_and_work(dialect):
    for start in STARTS:
        line = start + "tea pot " * (LONG_LINE // 8)
        assert _peak(dialect, line) < LONG_LINE_TIMES * sys.getsizeof(line)
    assert _calls(dialect, STARTS[1] + "x" * LONG_LINE) < 1_000


def test_a_line_of_a_hundred_megabytes_is_read():
    name = "t::" + "x" * 100_000_000
    assert parse_log("parse_log_pytest", f"PASSED {name}\nFAILED t::b - why\n") == {name: "PASSED", "t::b": "FAILED"}


@pytest.mark.parametrize("dialect", OWN)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x00\n"], ids=["lf", "cr", "crlf", "nul"])
def test_work_grows_no_faster_than_the_lines(dialect, end):
    lines = [f"{start}pot {number} {STORM}(1 ms)" for number in range(40) for start in STARTS]
    once = _calls(dialect, end.join(lines))
    assert once < CALLS_A_LINE * len(lines) + 1_000
    assert _calls(dialect, end.join(lines * 4)) < 4.4 * once + 1_000


@pytest.mark.parametrize("dialect", OWN)
def test_a_storm_of_escapes_is_read_in_memory_of_the_log(dialect):
    storm = (STORM * 100 + "\n") * 2_000
    assert _peak(dialect, storm) < 2 * sys.getsizeof(storm) + BLOCK_BYTES


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_log_that_ends_in_the_middle_of_a_line_gives_the_lines_before_it(cut):
    log = "PASSED t::a\nFAILED t::b"
    results = parse_log("parse_log_pytest", log[:-cut])
    assert results["t::a"] == "PASSED"
    assert results.get("t::b", "FAILED") == "FAILED"
