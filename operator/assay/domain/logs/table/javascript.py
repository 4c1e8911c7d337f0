"""Dialects of JavaScript's and Dart's runners."""
# ruff: noqa: RUF001 - the marks are exactly these code points

from assay.domain.logs.dialect import Reader, dialect
from assay.domain.logs.durations import (
    without_bare,
    without_js_duration,
    without_last_paren,
    without_paren_dot,
    without_paren_int,
    without_paren_ms,
)
from assay.domain.logs.events import DartEvents
from assay.domain.logs.failure_lists import FailureLists, browser_failures, mocha_failures
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import rule
from assay.domain.logs.outlines import jest_runs, karma_tree, tap_braces
from assay.domain.logs.shapes import holding
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep
from assay.domain.logs.table.rows import marked

_MARKERS = ("(skipped)", "[skip]", "[skipped]", "[pending]", "[todo]")


_TAG_AND_NAME = r"\s*+(?:\[[^\]]*+(?:\](?!:)[^\]]*+)*+\]:\s*+|)(?::\s*+|)(?P<name>.*)"
"""The name behind a tag `[…]:` and a colon, if they are there."""
_SKIP_MARK = r"(?i:\(skipped\)|\[(?:skip|skipped|pending|todo)\])"


def _without_markers(line: str) -> str:
    for marker in _MARKERS:
        line = line.replace(marker, "")
    return line


_BULLET = rule(r"-\s++(?P<name>.+)", SKIPPED, without_js_duration, heads="-", empty=False)
_TICK = rule(r"✔\s++(?P<name>.+)", PASSED, without_js_duration, heads="✔", merge=keep, empty=False)


def _second_passes(results: dict[str, str], name: str, _status: str) -> None:
    results[name] = PASSED if results.pop(name, None) else ERROR  # the first is no observation of a failure


def _path_and_name(found: str) -> str:
    path, _, name = found.partition(":")
    return f"{path}: {name.strip()}"


def _without_error_mark(entry: str) -> str:
    """Cut a last ` [E]` that follows a name, not one that is the name."""
    path, _, name = entry.partition(": ")
    shorter = name.removesuffix("[E]")
    return f"{path}: {shorter.rstrip()}" if shorter[-1:].isspace() else entry


_DART_PROGRESS = r"\d++:\d++\s++\+\d++(?:\s++-\d++)?:\s++"
_DART_PATH = r"/(?!\.dart:)[^:]*+(?<=\.dart)"

ROWS = (
    marked(
        "parse_log_jest",
        "javascript",
        rule(
            r"(?P<word>[✓✕○])\s(?P<name>.+)", {"✓": PASSED, "✕": FAILED, "○": SKIPPED}, without_paren_int, heads="✓✕○"
        ),
    ),
    marked(
        "parse_log_vitest",
        "javascript",
        rule(r"(?P<word>[✓×↓])\s(?P<name>.+)", {"✓": PASSED, "×": FAILED, "↓": SKIPPED}, without_bare, heads="✓×↓"),
    ),
    marked(
        "parse_log_react_pdf",
        "javascript",
        rule(r"(?P<word>PASS|FAIL)\s(?P<name>.*)", {"PASS": PASSED, "FAIL": FAILED}, without_paren_dot, heads="PF"),
        trim=Trim.NONE,
    ),
    marked(
        "parse_log_jest_json",
        "javascript",
        rule(r"\[(?P<word>PASSED|FAILED)\]\s(?P<name>.+)", {"PASSED": PASSED, "FAILED": FAILED}, heads=r"\["),
    ),
    marked(
        "parse_log_tap",
        "javascript",
        rule(r"(?P<word>ok|not ok) \d++ (?P<name>.+)", {"ok": PASSED, "not ok": FAILED}, heads="on"),
    ),
    marked(
        "parse_log_marked", "javascript", rule(r"\d++\)\s(?P<name>.*)", FAILED, str.strip, heads=r"\d"), trim=Trim.NONE
    ),
    marked(
        "parse_log_js",
        "javascript",
        _BULLET,
        rule(r"\d++\)\s++(?P<name>.*):$", FAILED, without_js_duration, empty=False, heads=r"\d"),
        rule(r"\[W\]\s*+\d++\)\s++(?P<name>.+)", FAILED, without_js_duration, empty=False, heads=r"\["),
        _TICK,
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_js_2",
        "javascript",
        _BULLET,
        rule(r"\d++\)\s++(?P<name>.+)", FAILED, without_js_duration, empty=False, heads=r"\d"),
        _TICK,
        split=Split.UNIVERSAL,
    ),
    dialect("parse_log_js_3", "javascript", Reader(tap_braces)),
    dialect("parse_log_calypso", "javascript", Reader(jest_runs)),
    dialect("parse_log_karma", "javascript", Reader(karma_tree)),
    dialect("parse_log_chart_js", "javascript", FailureLists(names=browser_failures)),
    dialect("parse_log_p5js", "javascript", FailureLists(names=mocha_failures)),
    marked(
        "parse_log_js_4",
        "javascript",
        rule(rf"[✔✓]{_TAG_AND_NAME}", PASSED, without_js_duration, merge=keep, empty=False, heads="✔✓"),
        rule(
            rf"(?P<word>[✘✖×○◌◦⚪]){_TAG_AND_NAME}",
            dict.fromkeys("✘✖×", FAILED) | dict.fromkeys("○◌◦⚪", SKIPPED),
            without_js_duration,
            empty=False,
            heads="✘✖×○◌◦⚪",
        ),
        rule(holding(_SKIP_MARK, r"\[("), SKIPPED, _without_markers, without_js_duration, empty=False),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_npx",
        "javascript",
        rule(r"✔\s++(?P<name>.+)", PASSED, without_paren_ms, heads="✔"),
        rule(r"\d++\)\s++(?P<name>.+)", FAILED, without_last_paren, heads=r"\d"),
        split=Split.UNIVERSAL,
    ),
    dialect("parse_log_dart", "dart", DartEvents()),
    marked(
        "parse_log_dart_v3",
        "dart",
        rule(
            r"\d++:\d++\s++\+\d++\s++-\d++:\s++loading\s++(?P<name>/[^:]+\.dart)\s++\[E\]$",
            ERROR,
            heads=r"\d",
            clue="loading",
        ),
        rule(
            rf"{_DART_PROGRESS}(?=.*\[E\])(?P<name>{_DART_PATH}:\s++\S.*)",
            FAILED,
            _path_and_name,
            _without_error_mark,
            heads=r"\d",
            clue="[E]",
        ),
        rule(
            rf"{_DART_PROGRESS}(?P<name>{_DART_PATH}:\s++\S.*)",
            PASSED,
            _path_and_name,
            merge=keep,
            heads=r"\d",
            clue=".dart",
        ),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_dart_v2",
        "dart",
        rule(
            rf"(?!.*(?ai:loading))\[\w++\]:\s++\d\d:\d\d\s++\+\d++:\s++(?P<name>{_DART_PATH}:\s++\S.*)",
            "",
            _path_and_name,
            merge=_second_passes,
            heads=r"\[",
        ),
        split=Split.UNIVERSAL,
    ),
)
