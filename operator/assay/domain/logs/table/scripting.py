"""Dialects of Ruby's, PHP's, Lua's, Elixir's and R's runners."""

import re

from assay.domain.logs.cleaning import sgr
from assay.domain.logs.counts import CountTable
from assay.domain.logs.dialect import alias, dialect
from assay.domain.logs.durations import without_bracket, without_lettered_bracket, without_php_columns
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import Marked, Rule
from assay.domain.logs.shapes import ENDS_IN_PAREN, Void, before_paren, between
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep, severity
from assay.domain.logs.subjects import Subjects, r_checks, testthat_failures

_RUBY_WORDS = {
    "PASS": PASSED,
    "PASSED": PASSED,
    "FAIL": FAILED,
    "FAILURE": FAILED,
    "ERROR": ERROR,
    "SKIP": SKIPPED,
    "SKIPPED": SKIPPED,
}
_RUBY_TAIL = r"(?P<word>PASS|PASSED|FAIL|FAILURE|ERROR|SKIP|SKIPPED)(?:\s*+\([0-9.]++s\))?$"
_DOT_E_F = {".": PASSED, "E": FAILED, "F": FAILED, "S": SKIPPED, "O": SKIPPED}
_LUA_NAME = r"\s*+\|\|\s*+(?P<name>.+)"


def _minitest(line: str) -> dict[str, str | None] | None:
    """`name. anything = anything outcome`: the last outcome, the last equals sign before it, the last stop before that."""
    outcome = max(line.rfind("."), line.rfind("F"), line.rfind("E"))
    stop = line.rfind(". ", 0, max(line.rfind("=", 0, max(outcome, 0)), 0))
    return {"name": line[:stop], "word": line[outcome]} if stop > 0 else None


def _php(marks: str, *, seconds: str = "s") -> re.Pattern[str]:
    """A mark, then a name that ends at a wide timing column, or is all there is."""
    timing = rf"\d++\.?\d*+[{seconds}]\b"
    return re.compile(
        rf"{marks}(?:\s++(?P<name>\S.*?)(?<!\s)\s\s++{timing}|\s++(?P<void>(?<=\s\s\s\s)(?={timing})|.+))"
    )


def _r_failed_tests(text: str, results: dict[str, str]) -> None:
    for name, status in testthat_failures(text):
        results[without_lettered_bracket(name)] = status


LUA = dialect(
    "parse_lue_nvim",
    "lua",
    Marked(
        split=Split.UNIVERSAL,
        trim=Trim.RIGHT,
        clean=sgr,
        heads="FSs",
        rules=(
            Rule(pattern=re.compile(rf"Fail(?:ed)?{_LUA_NAME}"), status=FAILED, edits=(str.strip,)),
            Rule(pattern=re.compile(rf"(?i:skip(?:ped)?){_LUA_NAME}"), status=SKIPPED, merge=keep, edits=(str.strip,)),
            Rule(pattern=re.compile(rf"Success{_LUA_NAME}"), status=PASSED, merge=keep, edits=(str.strip,)),
        ),
    ),
)

ROWS = (
    dialect(
        "parse_log_ruby_v1",
        "ruby",
        Marked(
            split=Split.UNIVERSAL,
            trim=Trim.RIGHT,
            joiner="::",
            rules=(
                Rule(pattern=re.compile(r"(?P<name>[A-Z][A-Za-z0-9_]*+)$"), label=True),
                Rule(
                    pattern=re.compile(rf"\s*+(?:(?P<name>test[^A-Z]*?[^A-Z\s])|(?P<void>test\s))\s++{_RUBY_TAIL}"),
                    status=_RUBY_WORDS,
                    merge=severity,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_ruby_v2",
        "ruby",
        Marked(
            split=Split.UNIVERSAL,
            clues=("#",),
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<name>.[^#]*+#.+?(?<!\s))\s++=\s++[\d.]++\s++s\s++=\s++(?P<word>[.FES])$"),
                    status=_DOT_E_F,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_minitest",
        "ruby",
        Marked(
            clues=("=",),
            rules=(Rule(pattern=_minitest, status=_DOT_E_F),),
        ),
    ),
    dialect(
        "parse_log_cucumber",
        "ruby",
        Marked(
            clues=(" .",),
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<name>.+) (?:(?P<word>\.++F)|\.\.)"),
                    status=lambda found: FAILED if found["word"] else PASSED,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_ruby_unit",
        "ruby",
        Marked(
            clues=(":",),
            rules=(
                Rule(
                    pattern=re.compile(r"(?:test: )?(?P<name>.+):\s++(?P<word>\.|[EFO]\b)"),
                    status=_DOT_E_F,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_rspec_transformed_json",
        "ruby",
        Marked(
            clues=(" - passed", " - failed"),
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<name>.+) - (?P<word>passed|failed)"),
                    status={"passed": PASSED, "failed": FAILED},
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_phpunit",
        "php",
        Marked(
            trim=Trim.NONE,
            joiner=" > ",
            no_label="None",
            rules=(
                Rule(pattern=re.compile(rf"(?=\w){ENDS_IN_PAREN}(?P<name>\w.+) \(.+\)$"), label=True),
                Rule(
                    pattern=re.compile(r"\s*+(?P<word>[✔✘↩])(?P<name>.*)"),
                    status={"✔": PASSED, "✘": FAILED, "↩": SKIPPED},
                    edits=(without_bracket,),
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_php_v1",
        "php",
        Marked(
            split=Split.UNIVERSAL,
            ignore_heads=("___", "---", "Tests:", "Duration:"),
            rules=(
                Rule(
                    pattern=re.compile(r"(?i:fail(?:ed)?)\s+(?P<name>..+)"),
                    status=FAILED,
                    edits=(without_php_columns,),
                    empty=False,
                ),
                Rule(pattern=_php("[⨯xX]", seconds="sS"), status=FAILED, edits=(without_php_columns,), empty=False),
                Rule(pattern=_php("-"), status=SKIPPED, edits=(without_php_columns,), empty=False),
                Rule(pattern=_php("[✓✔]"), status=PASSED, merge=keep, edits=(without_php_columns,), empty=False),
                Rule(
                    pattern=re.compile(r"(?=.*?\bskipped\b)(?P<name>.+)", re.IGNORECASE),
                    status=SKIPPED,
                    merge=keep,
                    edits=(without_php_columns,),
                    empty=False,
                ),
            ),
        ),
    ),
    LUA,
    alias("parse_lua_nvim", LUA),
    alias("parse_log_lua_nvim", LUA),
    dialect("parse_log_julia", "julia", CountTable()),
    dialect(
        "parse_log_r",
        "r",
        Marked(
            split=Split.UNIVERSAL,
            heads="✔✖",
            rules=(
                Rule(
                    pattern=re.compile(r"(?P<word>[✔✖])\s++\|[^|]++\|\s++(?P<name>.+)"),
                    status={"✔": PASSED, "✖": FAILED},
                    edits=(without_lettered_bracket,),
                ),
            ),
            after=(_r_failed_tests,),
        ),
    ),
    dialect("parse_log_r_v2", "r", Subjects(reader=r_checks)),
    dialect(
        "parse_log_elixir",
        "elixir",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                Rule(
                    pattern=re.compile(between(r"\*\s++test", r"\(skipped\)\s++\[L#\d++\]$", Void.EMPTY)),
                    status=SKIPPED,
                ),
                Rule(pattern=re.compile(before_paren(r"\d++\)\s++test", void=Void.EMPTY)), status=FAILED),
                Rule(
                    pattern=re.compile(
                        between(r"\*\s++test", r"\([0-9]++(?:\.[0-9]++)?ms\)\s++\[L#\d++\]$", Void.EMPTY)
                    ),
                    status=PASSED,
                    merge=keep,
                ),
                Rule(pattern=re.compile(between(r"\*\s++test", r"\[L#\d++\]$", Void.EMPTY)), status=PASSED, merge=keep),
            ),
        ),
    ),
)
