"""Dialects of Ruby's, PHP's, Lua's, Elixir's and R's runners."""
# ruff: noqa: RUF001 - the marks are exactly these code points

from assay.domain.logs.cleaning import sgr
from assay.domain.logs.counts import CountTable
from assay.domain.logs.dialect import Reader, alias, dialect
from assay.domain.logs.durations import without_bracket, without_lettered_bracket, without_php_columns
from assay.domain.logs.entries import Found
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import rule
from assay.domain.logs.shapes import ENDS_IN_PAREN, Void, before_paren, between, holding, up_to
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep, severity
from assay.domain.logs.subjects import r_checks, testthat_failures
from assay.domain.logs.table.rows import marked

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


def _ruby_name(found: str) -> str:
    """Without the blanks before the status; the least name is `test` and one blank."""
    name = found.rstrip()
    return name if name != "test" else found[:5]


def _minitest(line: str) -> Found | None:
    """`name. anything = anything outcome`: the last outcome, the last equals sign before it, the last stop before that."""
    outcome = len(line) - 1
    if line[outcome] not in ".EF":
        outcome = max(line.rfind("."), line.rfind("F"), line.rfind("E"))
    equals = line.rfind("=", 0, outcome) if outcome > 0 else -1
    stop = line.rfind(". ", 0, equals) if equals > 0 else -1
    return (line[:stop], line[outcome]) if stop > 0 else None


def _php(marks: str, *, seconds: str = "s") -> str:
    """A mark, then a name that ends at the first wide timing column, or is all there is."""
    timing = rf"\d++\.?\d*+[{seconds}]\b"
    column = rf"(?<=\s\s){timing}"
    nothing = rf"\s\s\s\s++(?P<void>)(?={timing})(?!.*\S\s++{column})"
    return rf"{marks}(?:{nothing}|\s++(?P<name>{up_to(column)}))"


_SKIPPED = r"\b[sS][kK\u212a][iI][pP][pP][eE][dD]\b"


def _r_failed_tests(text: str, results: dict[str, str]) -> None:
    for name, status in testthat_failures(text):
        results[without_lettered_bracket(name)] = status


LUA = marked(
    "parse_lue_nvim",
    "lua",
    rule(rf"Fail(?:ed)?{_LUA_NAME}", FAILED, str.strip, heads="F"),
    rule(rf"(?i:skip(?:ped)?){_LUA_NAME}", SKIPPED, str.strip, merge=keep, heads="Ss"),
    rule(rf"Success{_LUA_NAME}", PASSED, str.strip, merge=keep, heads="S"),
    split=Split.UNIVERSAL,
    trim=Trim.RIGHT,
    clean=sgr,
)

ROWS = (
    marked(
        "parse_log_ruby_v1",
        "ruby",
        rule(r"(?P<name>[A-Z][A-Za-z0-9_]*+)$", label=True),
        rule(
            rf"\s*+(?P<name>test[^A-Z][^A-Z]++)(?<=\s){_RUBY_TAIL}",
            _RUBY_WORDS,
            _ruby_name,
            merge=severity,
        ),
        split=Split.UNIVERSAL,
        trim=Trim.RIGHT,
        joiner="::",
    ),
    marked(
        "parse_log_ruby_v2",
        "ruby",
        rule(r"(?P<name>.[^#]*+#(?:.+?(?<!\s)|(?=\s\s)))\s++=\s++[\d.]++\s++s\s++=\s++(?P<word>[.FES])$", _DOT_E_F),
        split=Split.UNIVERSAL,
        clues=("#",),
    ),
    marked("parse_log_minitest", "ruby", rule(_minitest, _DOT_E_F, clue=". "), clues=("=",)),
    marked(
        "parse_log_cucumber",
        "ruby",
        rule(r"(?P<name>.+) (?:(?P<word>\.++F)|\.\.)", lambda word: FAILED if word else PASSED),
        clues=(" .",),
    ),
    marked(
        "parse_log_ruby_unit", "ruby", rule(r"(?:test: )?(?P<name>.+):\s++(?P<word>\.|[EFO]\b)", _DOT_E_F), clues=(":",)
    ),
    marked(
        "parse_log_rspec_transformed_json",
        "ruby",
        rule(r"(?P<name>.+) - (?P<word>passed|failed)", {"passed": PASSED, "failed": FAILED}),
        clues=(" - passed", " - failed"),
    ),
    marked(
        "parse_log_phpunit",
        "php",
        rule(rf"(?=\w){ENDS_IN_PAREN}(?P<name>\w.+) \(.+\)$", label=True, heads=r"\w"),
        rule(
            r"\s*+(?P<word>[✔✘↩])(?P<name>.*)",
            {"✔": PASSED, "✘": FAILED, "↩": SKIPPED},
            without_bracket,
            heads=r"\s✔✘↩",
        ),
        trim=Trim.NONE,
        joiner=" > ",
        no_label="None",
    ),
    marked(
        "parse_log_php_v1",
        "php",
        rule(r"(?P<name>___|---|Tests:|Duration:)", {}),
        rule(r"(?i:fail(?:ed)?)\s+(?P<name>..+)", FAILED, without_php_columns, empty=False),
        rule(_php("[⨯xX]", seconds="sS"), FAILED, without_php_columns, empty=False),
        rule(_php("-"), SKIPPED, without_php_columns, empty=False),
        rule(_php("[✓✔]"), PASSED, without_php_columns, merge=keep, empty=False),
        rule(
            holding(_SKIPPED, "sS"),
            SKIPPED,
            without_php_columns,
            merge=keep,
            empty=False,
        ),
        split=Split.UNIVERSAL,
    ),
    LUA,
    alias("parse_lua_nvim", LUA),
    alias("parse_log_lua_nvim", LUA),
    dialect("parse_log_julia", "julia", CountTable()),
    marked(
        "parse_log_r",
        "r",
        rule(
            r"(?P<word>[✔✖])\s++\|[^|]++\|\s++(?P<name>.+)",
            {"✔": PASSED, "✖": FAILED},
            without_lettered_bracket,
            heads="✔✖",
        ),
        split=Split.UNIVERSAL,
        after=(_r_failed_tests,),
    ),
    dialect("parse_log_r_v2", "r", Reader(r_checks)),
    marked(
        "parse_log_elixir",
        "elixir",
        rule(between(r"\*\s++test", r"\(skipped\)\s++\[L#\d++\]$", Void.EMPTY), SKIPPED, heads=r"\*", clue="(skipped)"),
        rule(before_paren(r"\d++\)\s++test", void=Void.EMPTY), FAILED, heads=r"\d", clue="("),
        rule(
            between(r"\*\s++test", r"\([0-9]++(?:\.[0-9]++)?ms\)\s++\[L#\d++\]$", Void.EMPTY),
            PASSED,
            merge=keep,
            heads=r"\*",
            clue="ms)",
        ),
        rule(between(r"\*\s++test", r"\[L#\d++\]$", Void.EMPTY), PASSED, merge=keep, heads=r"\*"),
        split=Split.UNIVERSAL,
    ),
)
