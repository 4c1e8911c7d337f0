"""Dialects of JavaScript's and Dart's runners."""

import re

from assay.domain.logs.dialect import dialect
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
from assay.domain.logs.marked import Marked, Rule
from assay.domain.logs.outlines import Outline, jest_runs, karma_tree, tap_braces
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep

_MARKERS = ("(skipped)", "[skip]", "[skipped]", "[pending]", "[todo]")


def _without_tag(name: str) -> str:
    name = name.strip()
    if name.startswith("[") and "]:" in name:
        name = name.split("]:", 1)[1].strip()
    return name[1:].strip() if name.startswith(":") else name


def _without_markers(line: str) -> str:
    for marker in _MARKERS:
        line = line.replace(marker, "")
    return line


_BULLET = Rule(pattern=re.compile(r"-\s++(?P<name>.+)"), status=SKIPPED, edits=(without_js_duration,), empty=False)
_TICK = Rule(
    pattern=re.compile(r"✔\s++(?P<name>.+)"), status=PASSED, merge=keep, edits=(without_js_duration,), empty=False
)


def _second_passes(results: dict[str, str], name: str, _status: str) -> None:
    results[name] = PASSED if name in results else ERROR


def _path_and_name(found: str) -> str:
    path, _, name = found.partition(":")
    return f"{path}: {name.strip()}"


def _without_error_mark(entry: str) -> str:
    """Cut a last ` [E]` that follows a name, not one that is the name."""
    shorter = entry.removesuffix("[E]")
    return shorter.rstrip() if shorter[-1:].isspace() and not shorter.endswith(".dart: ") else entry


_DART_PROGRESS = r"\d++:\d++\s++\+\d++(?:\s++-\d++)?:\s++"
_DART_PATH = r"/(?!\.dart:)[^:]*+(?<=\.dart)"

ROWS = (
    dialect(
        "parse_log_jest",
        "javascript",
        Marked(
            heads="✓✕○",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>[✓✕○])\s(?P<name>.+)"),
                    status={"✓": PASSED, "✕": FAILED, "○": SKIPPED},
                    edits=(without_paren_int,),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_jest_json",
        "javascript",
        Marked(
            heads="[",
            rules=(
                Rule(
                    pattern=re.compile(r"\[(?P<word>PASSED|FAILED)\]\s(?P<name>.+)"),
                    status={"PASSED": PASSED, "FAILED": FAILED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_vitest",
        "javascript",
        Marked(
            heads="✓×↓",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>[✓×↓])\s(?P<name>.+)"),
                    status={"✓": PASSED, "×": FAILED, "↓": SKIPPED},
                    edits=(without_bare,),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_react_pdf",
        "javascript",
        Marked(
            trim=Trim.NONE,
            heads="PF",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>PASS|FAIL)\s(?P<name>.*)"),
                    status={"PASS": PASSED, "FAIL": FAILED},
                    edits=(without_paren_dot,),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_tap",
        "javascript",
        Marked(
            heads="on",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>ok|not ok) \d++ (?P<name>.+)"),
                    status={"ok": PASSED, "not ok": FAILED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_marked",
        "javascript",
        Marked(
            trim=Trim.NONE,
            rules=(Rule(pattern=re.compile(r"\d++\)\s(?P<name>.*)"), status=FAILED, edits=(str.strip,)),),
        ),
    ),
    dialect(
        "parse_log_js",
        "javascript",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                _BULLET,
                Rule(
                    pattern=re.compile(r"\d++\)\s++(?P<name>.*):$"),
                    status=FAILED,
                    edits=(without_js_duration,),
                    empty=False,
                ),
                Rule(
                    pattern=re.compile(r"\[W\]\s*+\d++\)\s++(?P<name>.+)"),
                    status=FAILED,
                    edits=(without_js_duration,),
                    empty=False,
                ),
                _TICK,
            ),
        ),
    ),
    dialect(
        "parse_log_js_2",
        "javascript",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                _BULLET,
                Rule(
                    pattern=re.compile(r"\d++\)\s++(?P<name>.+)"),
                    status=FAILED,
                    edits=(without_js_duration,),
                    empty=False,
                ),
                _TICK,
            ),
        ),
    ),
    dialect("parse_log_js_3", "javascript", Outline(reader=tap_braces)),
    dialect("parse_log_calypso", "javascript", Outline(reader=jest_runs)),
    dialect("parse_log_karma", "javascript", Outline(reader=karma_tree)),
    dialect("parse_log_chart_js", "javascript", FailureLists(names=browser_failures)),
    dialect("parse_log_p5js", "javascript", FailureLists(names=mocha_failures)),
    dialect(
        "parse_log_js_4",
        "javascript",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                Rule(
                    pattern=re.compile(r"[✔✓](?P<name>.*)"),
                    status=PASSED,
                    merge=keep,
                    edits=(_without_tag, without_js_duration),
                    empty=False,
                ),
                Rule(
                    pattern=re.compile(r"(?P<word>[✘✖×○◌◦⚪])(?P<name>.*)"),
                    status=dict.fromkeys("✘✖×", FAILED) | dict.fromkeys("○◌◦⚪", SKIPPED),
                    edits=(_without_tag, without_js_duration),
                    empty=False,
                ),
                Rule(
                    pattern=re.compile(
                        r"(?=.*?(?:\(skipped\)|\[(?:skip|skipped|pending|todo)\]))(?P<name>.*)", re.IGNORECASE
                    ),
                    status=SKIPPED,
                    edits=(_without_markers, without_js_duration),
                    empty=False,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_npx",
        "javascript",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                Rule(pattern=re.compile(r"✔\s++(?P<name>.+)"), status=PASSED, edits=(without_paren_ms,)),
                Rule(pattern=re.compile(r"\d++\)\s++(?P<name>.+)"), status=FAILED, edits=(without_last_paren,)),
            ),
        ),
    ),
    dialect("parse_log_dart", "dart", DartEvents()),
    dialect(
        "parse_log_dart_v2",
        "dart",
        Marked(
            split=Split.UNIVERSAL,
            heads="[",
            rules=(
                Rule(
                    pattern=re.compile(
                        rf"(?!.*(?i:loading))\[\w++\]:\s++\d\d:\d\d\s++\+\d++:\s++(?P<name>{_DART_PATH}:\s++\S.*)"
                    ),
                    merge=_second_passes,
                    edits=(_path_and_name,),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_dart_v3",
        "dart",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                Rule(
                    pattern=re.compile(r"\d++:\d++\s++\+\d++\s++-\d++:\s++loading\s++(?P<name>/[^:]+\.dart)\s++\[E\]$"),
                    status=ERROR,
                ),
                Rule(
                    pattern=re.compile(rf"{_DART_PROGRESS}(?=.*\[E\])(?P<name>{_DART_PATH}:\s++\S.*)"),
                    status=FAILED,
                    edits=(_path_and_name, _without_error_mark),
                ),
                Rule(
                    pattern=re.compile(rf"{_DART_PROGRESS}(?P<name>{_DART_PATH}:\s++\S.*)"),
                    status=PASSED,
                    merge=keep,
                    edits=(_path_and_name,),
                ),
            ),
        ),
    ),
)
