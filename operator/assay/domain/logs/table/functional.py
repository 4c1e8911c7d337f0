"""Dialects of Haskell's, OCaml's and Scala's runners."""

import re

from assay.domain.logs.cleaning import sgr, sgr_and_bare, sgr_to_space
from assay.domain.logs.dialect import Reader, alias, dialect
from assay.domain.logs.entries import Found
from assay.domain.logs.hspec import Hspec
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import Rule, rule
from assay.domain.logs.outlines import scala_headings
from assay.domain.logs.shapes import ENDS_IN_PAREN, Void, before_paren, between, up_to
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep, put_unless_passed, rank
from assay.domain.logs.subjects import dune, leiningen
from assay.domain.logs.table.rows import marked

_INFO_ITEM = r"\[info\]\s++-"
_TASTY = {"OK": PASSED, "PASS": PASSED, "FAIL": FAILED, "ERROR": ERROR, "SKIP": SKIPPED, "PENDING": SKIPPED}
_TASTY_TAIL = r":\s*+(?:OK|PASS|FAIL|ERROR|SKIP|PENDING)\b"
_TASTY_LINE = rf"(?:(?P<name>\s*+\S[^:]*+(?:(?!{_TASTY_TAIL}):[^:]*+)*+)|\s++(?P<void>))" + _TASTY_TAIL.replace(
    "(?:", "(?P<word>"
)
"""Up to the first colon that an outcome follows; blanks alone may stand before it."""
_ALCOTEST_LINE = re.compile(between(r"\[(?P<word>[A-Z]++)\]", r"(?P<index>\d++)\s++(?P<rest>.+)", Void.EMPTY))
_ALCOTEST = {
    "OK": PASSED,
    "PASS": PASSED,
    "FAIL": FAILED,
    "FAILED": FAILED,
    "SKIP": SKIPPED,
    "SKIPPED": SKIPPED,
    "TODO": SKIPPED,
}
_TAGS = (
    dict.fromkeys(("ok", "pass", "passed", "success"), PASSED)
    | dict.fromkeys(("skip", "skipped", "todo", "pending", "disabled"), SKIPPED)
    | dict.fromkeys(("fail", "failed", "error", "exception", "crash", "fatal", "ko", "panic"), FAILED)
)
_TWO_BLANKS = re.compile(r"\s\s")
_SCALA_TIME = r"[\d.]++[mnμ]?s"


def _boxed(glyphs: str) -> str:
    """A name and a glyph in brackets that ends the line."""
    tail = rf"\[[{glyphs}]\]$"
    return rf"\s++(?P<name>{up_to(tail)})\s++{tail}|\s\s\s++(?P<void>){tail}"


def _with_single_blanks(name: str) -> str:
    return " ".join(name.split())


def _up_to_two_blanks(name: str) -> str:
    name = name.strip()
    found = _TWO_BLANKS.search(name)
    return name[: found.start()] if found else name


def _alcotest(line: str) -> Found | None:
    """Suite, index and name joined by single blanks; the inside of the name keeps its own."""
    found = _ALCOTEST_LINE.match(line)
    if found is None:
        return None
    parts = (found["name"] or "", found["index"], found["rest"].strip())
    return " ".join(filter(None, parts)), found["word"]


def _plain(glyphs: str) -> Rule:
    """A glyph, a name and a time, colours removed."""
    return rule(
        r"\s*+" + between(f"(?P<word>[{glyphs}])", _SCALA_TIME + r"\s*+$", Void.EMPTY),
        {"x": FAILED, "+": PASSED},
        heads=rf"{glyphs}\x1b\[",
        clean=sgr_and_bare,
    )


def _coloured(glyph: str, colour: str, status: str) -> Rule:
    """A glyph, a name and a time in what is left of their colours; the name keeps its blanks."""
    return rule(
        rf"{glyph}\s++\[0m\[{colour}m(?P<name>.+?)\[0m\s++\[90m{_SCALA_TIME}\[0m$",
        status,
        heads=glyph,
        clue=f"[0m[{colour}m",
    )


OCAML_V4 = marked(
    "parse_log_ocaml_v4",
    "ocaml",
    rule(
        r"(?P<word>PASSED|FAILED|SKIPPED|ERROR)\s++(?P<name>.+)",
        {word: word for word in (PASSED, FAILED, SKIPPED, ERROR)},
        _up_to_two_blanks,
        merge=rank,
        heads="PFSE",
    ),
    split=Split.UNIVERSAL,
    clean=sgr_to_space,
)

ROWS = (
    marked(
        "parse_log_haskell",
        "haskell",
        rule(_TASTY_LINE, _TASTY, str.strip, clue=":"),
        rule(_boxed("✓✔"), PASSED, merge=keep, heads=r"\s", clue="]"),
        rule(_boxed("✗✘"), FAILED, heads=r"\s", clue="]"),
        rule(
            rf"\s*+[✓✔](?:{ENDS_IN_PAREN}\s++(?P<name>{up_to('[(]')})\s++\(|\s++(?P<void>.+))",
            PASSED,
            str.strip,
            merge=keep,
            heads=r"\s✓✔",
        ),
        rule(r"\s*+[✗✘]\s++(?P<name>.+)", FAILED, str.strip, heads=r"\s✗✘"),
        rule(r"\s*+\d++\)\s++(?P<name>.+)", FAILED, str.strip, heads=r"\s\d", clue=")"),
        rule(
            r"###\s++(?P<word>Failure|Error)\s++in:\s++(?P<name>.+)",
            {"Failure": FAILED, "Error": ERROR},
            str.strip,
            heads="#",
        ),
        split=Split.UNIVERSAL,
        trim=Trim.RIGHT,
        clean=sgr,
        ignore=("Test suite ", "Linking ", "Building ", "Running  "),
    ),
    dialect("parse_log_haskell_v2", "haskell", Hspec()),
    dialect("parse_log_lein", "clojure", Reader(leiningen)),
    dialect("parse_log_ocaml_v2", "ocaml", Reader(dune)),
    dialect("parse_log_scala_v3", "scala", Reader(scala_headings)),
    marked(
        "parse_log_ocaml",
        "ocaml",
        rule(_alcotest, lambda word: _ALCOTEST.get(word, ERROR), merge=put_unless_passed, heads=r"\["),
        split=Split.UNIVERSAL,
    ),
    marked(
        "parse_log_ocaml_v3",
        "ocaml",
        rule(
            r"\[(?P<word>[A-Za-z][A-Za-z0-9_-]*+)\]\s++(?P<name>.+)",
            lambda word: _TAGS.get(word.lower()),
            _with_single_blanks,
            merge=rank,
            heads=r"\[",
        ),
        split=Split.UNIVERSAL,
    ),
    OCAML_V4,
    alias("parse_log_ocaml_v5", OCAML_V4),
    marked(
        "parse_log_scala",
        "scala",
        rule(
            before_paren(_INFO_ITEM, r"\*\*\*\s++FAILED\s++\*\*\*\s++", Void.EMPTY), FAILED, heads=r"\[", clue="FAILED"
        ),
        rule(
            before_paren(_INFO_ITEM, r"!!!\s++CANCELED\s++!!!\s++", Void.EMPTY), SKIPPED, heads=r"\[", clue="CANCELED"
        ),
        rule(between(_INFO_ITEM, r"!!!\s++IGNORED\s++!!!", Void.EMPTY), SKIPPED, heads=r"\[", clue="IGNORED"),
        rule(before_paren(_INFO_ITEM, void=Void.EMPTY), PASSED, merge=keep, heads=r"\["),
        split=Split.UNIVERSAL,
        clues=("[info]",),
    ),
    marked(
        "parse_log_scala_v2",
        "scala",
        _coloured("x", "31", FAILED),
        _coloured(r"\+", "32", PASSED),
        _plain("x+"),
        split=Split.UNIVERSAL,
    ),
)
