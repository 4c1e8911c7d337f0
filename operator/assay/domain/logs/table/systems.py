"""Dialects of Go, Rust, C, C++, Swift and C# runners."""

import re

from assay.domain.logs.dialect import dialect
from assay.domain.logs.doctest_report import DoctestReport
from assay.domain.logs.dotted import Dotted, judged_lines
from assay.domain.logs.durations import without_paren_int
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import Found, Marked, Rule
from assay.domain.logs.shapes import ENDS_IN_BRACKET, ENDS_IN_PAREN, Void, between
from assay.domain.logs.statuses import FAILED, PASSED, SKIPPED, keep, put_unless_passed
from assay.domain.logs.verbose import Verbose

_TCL_FILE = re.compile(r"(?<!\s)\s++in\s++\S++$")


def _without_file(name: str) -> str:
    found = _TCL_FILE.search(name)
    return name[: found.start()] if found else name


def _ctest_status(found: Found) -> str:
    return {"passed": PASSED, "skipped": SKIPPED}.get((found["word"] or "").lower(), FAILED)


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
    return {"name": line[best.end() : end], "word": best[1]} if best else None


ROWS = (
    dialect(
        "parse_log_gotest",
        "go",
        Marked(
            clues=("--- ",),
            heads="-",
            rules=(
                Rule(
                    pattern=re.compile(rf"--- (?P<word>PASS|FAIL|SKIP): {ENDS_IN_PAREN}(?P<name>.+) \(.+\)$"),
                    status={"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_cargo",
        "rust",
        Marked(
            clues=(" ...", "\t...", "..."),
            heads="t",
            rules=(
                Rule(
                    pattern=re.compile(r"test\s++(?P<name>\S++)\s++\.\.\.\s++(?P<word>\w++)$"),
                    status={"ok": PASSED, "FAILED": FAILED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_redis",
        "c",
        Marked(
            heads="[",
            rules=(
                Rule(
                    pattern=re.compile(r"\[(?P<word>ok|skip|ignore)\]:\s(?P<name>.+)"),
                    status={"ok": PASSED, "skip": SKIPPED, "ignore": SKIPPED},
                    edits=(without_paren_int,),
                ),
                Rule(
                    pattern=re.compile(r"\[err\]:\s(?P<name>.+)"),
                    status=FAILED,
                    edits=(without_paren_int, _without_file),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_jq",
        "c",
        Marked(
            heads="PF",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>PASS|FAIL):\s(?P<name>.+)"), status={"PASS": PASSED, "FAIL": FAILED}
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_micropython_test",
        "c",
        Marked(
            heads="pFs",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>pass|FAIL|skip)\s++(?P<name>.+)"),
                    status={"pass": PASSED, "FAIL": FAILED, "skip": SKIPPED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_googletest",
        "cpp",
        Marked(clues=("OK", "FAILED"), rules=(Rule(pattern=_googletest, status={"OK": PASSED, "FAILED": FAILED}),)),
    ),
    dialect("parse_log_doctest", "cpp", DoctestReport()),
    dialect("parse_log_cpp", "cpp", Verbose()),
    dialect("parse_log_cpp_v3", "cpp", Dotted(reader=judged_lines)),
    dialect(
        "parse_log_cpp_v2",
        "cpp",
        Marked(
            split=Split.UNIVERSAL,
            heads="T",
            rules=(
                Rule(
                    pattern=re.compile(between("Test", r"(?P<word>passed|failed|skipped)$", Void.EMPTY)),
                    status={"passed": PASSED, "failed": FAILED, "skipped": SKIPPED},
                    merge=put_unless_passed,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_cpp_v4",
        "cpp",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                Rule(
                    pattern=re.compile(
                        between(
                            r"\d++/\d++\s++Test\s++#\d++:",
                            r"\.++\s++(?P<word>passed|failed|timeout|skipped)\b",
                            Void.EMPTY,
                        ),
                        re.IGNORECASE,
                    ),
                    status=_ctest_status,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_swift",
        "swift",
        Marked(
            split=Split.UNIVERSAL,
            heads="T",
            rules=(
                Rule(
                    pattern=re.compile(
                        r"Test Case '(?P<name>[^']++)'\s++(?P<word>passed|failed)\s++\([0-9.]++\s++seconds\)$"
                    ),
                    status={"passed": PASSED, "failed": FAILED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_csharp",
        "csharp",
        Marked(
            split=Split.UNIVERSAL,
            trim=Trim.RIGHT,
            heads="[ \t\xa0",
            rules=(
                Rule(
                    pattern=re.compile(between(r"\[xUnit\.net\s++[\d:.]++\s*+\]", r"\[FAIL\]$", Void.BLANK)),
                    status=FAILED,
                ),
                Rule(
                    pattern=re.compile(ENDS_IN_BRACKET + between(r"\s++Failed", r"\[(?!\]$)", Void.BLANK)),
                    status=FAILED,
                ),
                Rule(
                    pattern=re.compile(
                        rf"\s++Skipped(?:{ENDS_IN_BRACKET}\s++(?P<name>\S.*?)(?<!\s)\s++\[(?!\]$)|\s++(?P<void>.+))"
                    ),
                    status=SKIPPED,
                ),
                Rule(
                    pattern=re.compile(ENDS_IN_BRACKET + between(r"\s++Passed", r"\[(?!\]$)", Void.BLANK)),
                    status=PASSED,
                    merge=keep,
                ),
            ),
        ),
    ),
)
