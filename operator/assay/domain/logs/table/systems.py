"""Dialects of Go, Rust, C, C++, Swift and C# runners."""

import re

from assay.domain.logs.dialect import Reader, dialect
from assay.domain.logs.doctest_report import DoctestReport
from assay.domain.logs.dotted import judged_lines
from assay.domain.logs.durations import without_paren_int
from assay.domain.logs.entries import Found
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import rule
from assay.domain.logs.shapes import ENDS_IN_BRACKET, ENDS_IN_PAREN, Void, between
from assay.domain.logs.statuses import FAILED, PASSED, SKIPPED, keep, put_unless_passed
from assay.domain.logs.table.rows import marked
from assay.domain.logs.verbose import Verbose

_TCL_FILE = re.compile(r"(?<!\s)\s++in\s++\S++$")


def _without_file(name: str) -> str:
    found = _TCL_FILE.search(name)
    return name[: found.start()] if found else name


def _ctest_status(word: str) -> str:
    return {"passed": PASSED, "skipped": SKIPPED}.get(word.lower(), FAILED)


_GOOGLE_MARK = re.compile(r"\[\s*+(OK|FAILED)\s*+\]\s")
_GOOGLE_TIME = re.compile(r".*\s\(")


def _googletest(line: str) -> Found | None:
    """The last mark that is followed by a name, a blank and the line's last parenthesis that follows a blank."""
    time = _GOOGLE_TIME.match(line) if line.endswith(")") else None
    if time is None:
        return None
    end = time.end() - 2
    best: re.Match[str] | None = None
    for mark in _GOOGLE_MARK.finditer(line, 0, end):
        if mark.end() < end:
            best = mark
    return (line[best.end() : end], best[1]) if best else None


ROWS = (
    marked(
        "parse_log_gotest",
        "go",
        rule(
            rf"--- (?P<word>PASS|FAIL|SKIP): {ENDS_IN_PAREN}(?P<name>.+) \(.+\)$",
            {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED},
            heads="-",
        ),
        clues=("--- ",),
    ),
    marked(
        "parse_log_cargo",
        "rust",
        rule(r"test\s++(?P<name>\S++)\s++\.\.\.\s++(?P<word>\w++)$", {"ok": PASSED, "FAILED": FAILED}, heads="t"),
        clues=(" ...", "\t...", "..."),
    ),
    marked(
        "parse_log_redis",
        "c",
        rule(
            r"\[(?P<word>ok|skip|ignore)\]:\s(?P<name>.+)",
            {"ok": PASSED, "skip": SKIPPED, "ignore": SKIPPED},
            without_paren_int,
            heads=r"\[",
        ),
        rule(r"\[err\]:\s(?P<name>.+)", FAILED, without_paren_int, _without_file, heads=r"\["),
    ),
    marked(
        "parse_log_jq", "c", rule(r"(?P<word>PASS|FAIL):\s(?P<name>.+)", {"PASS": PASSED, "FAIL": FAILED}, heads="PF")
    ),
    marked(
        "parse_log_micropython_test",
        "c",
        rule(
            r"(?P<word>pass|FAIL|skip)\s++(?P<name>.+)", {"pass": PASSED, "FAIL": FAILED, "skip": SKIPPED}, heads="pFs"
        ),
    ),
    marked("parse_log_googletest", "cpp", rule(_googletest, {"OK": PASSED, "FAILED": FAILED}), clues=("OK", "FAILED")),
    dialect("parse_log_doctest", "cpp", DoctestReport()),
    dialect("parse_log_cpp", "cpp", Verbose()),
    dialect("parse_log_cpp_v3", "cpp", Reader(judged_lines)),
    marked(
        "parse_log_cpp_v2",
        "cpp",
        rule(
            between("Test", r"(?P<word>passed|failed|skipped)$", Void.EMPTY),
            {"passed": PASSED, "failed": FAILED, "skipped": SKIPPED},
            merge=put_unless_passed,
            heads="T",
        ),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_cpp_v4",
        "cpp",
        rule(
            between(r"\d++/\d++\s++Test\s++#\d++:", r"\.++\s++(?P<word>passed|failed|timeout|skipped)\b", Void.EMPTY),
            _ctest_status,
            flags=re.IGNORECASE,
            heads=r"\s\d",
        ),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_swift",
        "swift",
        rule(
            r"Test Case '(?P<name>[^']++)'\s++(?P<word>passed|failed)\s++\([0-9.]++\s++seconds\)$",
            {"passed": PASSED, "failed": FAILED},
            heads="T",
        ),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_csharp",
        "csharp",
        rule(between(r"\[xUnit\.net\s++[\d:.]++\]", r"\[FAIL\]$", Void.BLANK), FAILED, heads=r"\["),
        rule(ENDS_IN_BRACKET + between(r"\s++Failed", r"\[(?!\]$)", Void.BLANK), FAILED, heads=r"\s"),
        rule(
            rf"\s++Skipped(?:{ENDS_IN_BRACKET}\s++(?P<name>\S.*?)(?<!\s)\s++\[(?!\]$)|\s++(?P<void>.+))",
            SKIPPED,
            heads=r"\s",
        ),
        rule(
            ENDS_IN_BRACKET + between(r"\s++Passed", r"\[(?!\]$)", Void.BLANK),
            PASSED,
            merge=keep,
            heads=r"\s",
        ),
        split=Split.UNIVERSAL,
        trim=Trim.RIGHT,
    ),
)
