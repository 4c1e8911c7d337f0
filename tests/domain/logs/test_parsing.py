"""Names of dialects, refusals, and logs that are not what a parser hopes for."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs import (
    DIALECTS,
    ParseFailed,
    UnknownDialectError,
    is_dialect,
    nearest_dialects,
    parse_log,
    parsing,
)

VECTORS = Path(__file__).parents[2] / "vectors" / "log-parsers"
EXAMPLES = [
    (vector["parser"], vector["log"])
    for path in sorted(VECTORS.glob("*.jsonl"))
    for vector in map(json.loads, path.read_text("utf-8").splitlines())
]
LINES = sorted({line for _, log in EXAMPLES for line in log.splitlines()})
OWN = [name for name, row in DIALECTS.items() if row.alias_of is None]
KEYS = 76


def test_every_name_that_tasks_use_is_known():
    public = [name for name in DIALECTS if name.startswith("parse_")]
    assert {"parse_lue_nvim", "parse_lua_nvim", "parse_log_django", "parse_log_sympy"} <= set(public)
    assert {"parse_log_seaborn", "parse_log_matplotlib", "parse_test_report"} <= set(public)
    assert len(public) >= KEYS + 5


def test_an_unknown_name_is_refused_with_the_nearest():
    assert not is_dialect("parse_log_pytst")
    assert nearest_dialects("parse_log_pytst")[0] == "parse_log_pytest"
    with pytest.raises(UnknownDialectError, match="parse_log_pytest") as refusal:
        parse_log("parse_log_pytst", "")
    assert refusal.value.nearest == nearest_dialects("parse_log_pytst")


@pytest.mark.parametrize(
    ("dialect", "log"),
    [
        ("parse_log_pytest_v2", "PASSED\n"),
        ("parse_log_pytest_v2", "xERROR\n"),
        ("parse_log_seaborn", "FAILED\n"),
        ("parse_log_seaborn", " PASSED \n"),
        ("parse_log_django", "FAIL:x\n"),
        ("parse_log_doctest", "<doctest>"),
        ("parse_log_doctest", "<doctest><a></doctest>"),
        ("parse_log_calypso", " ./node_modules/.bin/jest \n✓ x\n"),
        ("parse_log_calypso", " ./node_modules/.bin/jest \n  ✓ x (5ms)\r\n"),
        ("parse_log_karma", "Starting browser\n      a\n    b\n  c\n"),
        ("parse_log_r_v2", "* checking tests ...\n. :\n"),
        ("parse_log_julia", "Test Summary: | Pass\na | ² 3\n"),
        ("parse_log_dart", '{"type":"testStart","test":{"id":1,"name":5}}'),
        ("parse_log_dart", '{"type":"testDone","testID":[]}'),
        ("parse_log_dart", "[" * 100_000),
        ("parse_log_dart", '{"a":' + "1" * 5000 + "}"),
        ("parse_test_report", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("junit", "<testsuite><testcase></testsuite>"),
        ("junit", "<testsuites>"),
        ("trx", "<TestRun>"),
        ("parse_log_js_3", "ok 1 - a {\n" * 1001),
    ],
)
def test_what_the_reference_cannot_read_is_a_refusal(dialect, log):
    with pytest.raises(ParseFailed) as refusal:
        parse_log(dialect, log)
    assert refusal.value.dialect == dialect
    assert refusal.value.why


def test_a_log_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_LOG_CHARS", 10)
    with pytest.raises(ParseFailed, match="more than 10"):
        parse_log("parse_log_pytest", "PASSED a::b")


@pytest.mark.parametrize("dialect", OWN)
def test_an_empty_log_and_blank_lines_give_no_results(dialect):
    assert parse_log(dialect, "") == {}
    assert parse_log(dialect, "\n \n\r\n\t\n") == {}


def _is_read_or_refused(dialect, text):
    try:
        results = parse_log(dialect, text)
    except ParseFailed:
        return
    assert all(isinstance(name, str) and isinstance(status, str) for name, status in results.items())


@pytest.mark.parametrize("dialect", OWN)
@settings(max_examples=15, deadline=None)
@given(noise=st.binary(max_size=200), lines=st.lists(st.sampled_from(LINES), max_size=12), cut=st.integers(0, 40))
def test_no_text_makes_a_dialect_raise(dialect, noise, lines, cut):
    text = noise.decode("utf-8", "surrogateescape") + "\n".join(lines)
    _is_read_or_refused(dialect, text[: len(text) - cut])


@pytest.mark.parametrize("dialect", OWN)
def test_strange_logs_are_read_or_refused(dialect):
    everything = "\n".join(LINES)
    for text in (
        everything.replace("\n", "\r"),
        everything.replace("\n", "\x00\n"),
        everything[: len(everything) // 3],
    ):
        _is_read_or_refused(dialect, text)
    _is_read_or_refused(dialect, "".join(f"\x1b[{n % 100}m{line}\x1b[0m\n" for n, line in enumerate(LINES)))


@pytest.mark.parametrize("dialect", OWN)
def test_hostile_lines_take_linear_time(dialect):
    start = time.process_time()
    for head in ["", *sorted(_heads(dialect))[:4]]:
        for filler in (" ", "( ", " )", "[ ", ": ", "= ", ". ", "1", "*** ", "<testcase ", "a PASSED "):
            _is_read_or_refused(dialect, head + filler * (20_000 // len(filler)) + "x")
    assert time.process_time() - start < 5, "55 lines of 20,000 characters took longer than any linear reading"


def _heads(dialect):
    """First words of lines in the dialect's own examples."""
    logs = (log for parser, log in EXAMPLES if parser == dialect)
    return {" ".join(line.split(" ")[:2]) + " " for log in logs for line in log.splitlines()}


def test_line_ends_make_no_difference_to_dialects_with_universal_lines():
    for line in (VECTORS / "b.jsonl").read_text("utf-8").splitlines():
        vector = json.loads(line)
        if vector["parser"] in ("parse_log_sbt", "parse_log_junit", "parse_java_mvn", "parse_log_java_mvn"):
            continue
        crlf = vector["log"].replace("\r\n", "\n").replace("\n", "\r\n")
        assert parse_log(vector["parser"], crlf) == vector["expected"]


def test_an_error_of_our_own_while_reading_events_is_no_refusal(monkeypatch):
    def broken(_text, **_options):
        raise TypeError("ours")

    monkeypatch.setattr("assay.domain.logs.events.json_objects", broken)
    with pytest.raises(TypeError, match="ours"):
        parse_log("parse_log_dart", "x")
