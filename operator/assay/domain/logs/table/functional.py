"""Dialects of Haskell's, OCaml's and Scala's runners."""

import re

from assay.domain.logs.cleaning import sgr, sgr_and_bare, sgr_to_space
from assay.domain.logs.dialect import alias, dialect
from assay.domain.logs.hspec import Hspec
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import Found, Marked, Rule
from assay.domain.logs.outlines import Outline, scala_headings
from assay.domain.logs.shapes import ENDS_IN_PAREN, Void, before_paren, between
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep, put_unless_passed, rank
from assay.domain.logs.subjects import Subjects, dune, leiningen

_INFO_ITEM = r"\[info\]\s++-"
_TASTY = {"OK": PASSED, "PASS": PASSED, "FAIL": FAILED, "ERROR": ERROR, "SKIP": SKIPPED, "PENDING": SKIPPED}
_TASTY_TAIL = r"\s*+:\s*+(?P<word>OK|PASS|FAIL|ERROR|SKIP|PENDING)\b"
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
    return {"name": " ".join(filter(None, parts)), "word": found["word"]}


def _plain(glyph: str, status: str) -> Rule:
    """A glyph, a name and a time, colours removed."""
    return Rule(
        pattern=re.compile(r"\s*+" + between(glyph, _SCALA_TIME + r"\s*+$", Void.EMPTY)),
        clean=sgr_and_bare,
        status=status,
    )


def _coloured(glyph: str, colour: str, status: str) -> Rule:
    """A glyph, a name and a time in what is left of their colours; the name keeps its blanks."""
    return Rule(
        pattern=re.compile(
            rf"{glyph}\s++\[0m\[{colour}m(?P<name>.+?)\[0m\s++\[90m{_SCALA_TIME}\[0m$",
        ),
        status=status,
    )


OCAML_V4 = dialect(
    "parse_log_ocaml_v4",
    "ocaml",
    Marked(
        split=Split.UNIVERSAL,
        clean=sgr_to_space,
        heads="PFSE",
        rules=(
            Rule(
                pattern=re.compile(r"(?P<word>PASSED|FAILED|SKIPPED|ERROR)\s++(?P<name>.+)"),
                status={word: word for word in (PASSED, FAILED, SKIPPED, ERROR)},
                merge=rank,
                edits=(_up_to_two_blanks,),
            ),
        ),
    ),
)

ROWS = (
    dialect(
        "parse_log_haskell",
        "haskell",
        Marked(
            split=Split.UNIVERSAL,
            trim=Trim.RIGHT,
            clean=sgr,
            ignore=("Test suite ", "Linking ", "Building ", "Running  "),
            rules=(
                Rule(
                    pattern=re.compile(rf"(?:\s*+(?P<name>\S.*?)(?<!\s)|(?P<void>\s++)){_TASTY_TAIL}"),
                    status=_TASTY,
                    edits=(str.strip,),
                ),
                Rule(
                    pattern=re.compile(r"\s++(?P<name>\S.*?)(?<!\s)\s++\[[✓✔]\]$|\s\s\s++(?P<void>)\[[✓✔]\]$"),
                    status=PASSED,
                    merge=keep,
                ),
                Rule(
                    pattern=re.compile(r"\s++(?P<name>\S.*?)(?<!\s)\s++\[[✗✘]\]$|\s\s\s++(?P<void>)\[[✗✘]\]$"),
                    status=FAILED,
                ),
                Rule(
                    pattern=re.compile(
                        rf"\s*+[✓✔](?:{ENDS_IN_PAREN}\s++(?P<name>\S.*?)(?<!\s)\s++\(|\s++(?P<void>.+))"
                    ),
                    status=PASSED,
                    merge=keep,
                    edits=(str.strip,),
                ),
                Rule(pattern=re.compile(r"\s*+[✗✘]\s++(?P<name>.+)"), status=FAILED, edits=(str.strip,)),
                Rule(pattern=re.compile(r"\s*+\d++\)\s++(?P<name>.+)"), status=FAILED, edits=(str.strip,)),
                Rule(
                    pattern=re.compile(r"###\s++(?P<word>Failure|Error)\s++in:\s++(?P<name>.+)"),
                    status={"Failure": FAILED, "Error": ERROR},
                    edits=(str.strip,),
                ),
            ),
        ),
    ),
    dialect("parse_log_haskell_v2", "haskell", Hspec()),
    dialect("parse_log_lein", "clojure", Subjects(reader=leiningen)),
    dialect("parse_log_ocaml_v2", "ocaml", Subjects(reader=dune)),
    dialect("parse_log_scala_v3", "scala", Outline(reader=scala_headings)),
    dialect(
        "parse_log_ocaml",
        "ocaml",
        Marked(
            split=Split.UNIVERSAL,
            heads="[",
            rules=(
                Rule(
                    pattern=_alcotest,
                    status=lambda found: _ALCOTEST.get(found["word"] or "", ERROR),
                    merge=put_unless_passed,
                ),
            ),
        ),
    ),
    dialect(
        "parse_log_ocaml_v3",
        "ocaml",
        Marked(
            split=Split.UNIVERSAL,
            heads="[",
            rules=(
                Rule(
                    pattern=re.compile(r"\[(?P<word>[A-Za-z][A-Za-z0-9_-]*+)\]\s++(?P<name>.+)"),
                    status=lambda found: _TAGS.get((found["word"] or "").lower()),
                    merge=rank,
                    edits=(_with_single_blanks,),
                ),
            ),
        ),
    ),
    OCAML_V4,
    alias("parse_log_ocaml_v5", OCAML_V4),
    dialect(
        "parse_log_scala",
        "scala",
        Marked(
            split=Split.UNIVERSAL,
            clues=("[info]",),
            heads="[",
            rules=(
                Rule(
                    pattern=re.compile(before_paren(_INFO_ITEM, r"\*\*\*\s++FAILED\s++\*\*\*\s++", Void.EMPTY)),
                    status=FAILED,
                ),
                Rule(
                    pattern=re.compile(before_paren(_INFO_ITEM, r"!!!\s++CANCELED\s++!!!\s++", Void.EMPTY)),
                    status=SKIPPED,
                ),
                Rule(pattern=re.compile(between(_INFO_ITEM, r"!!!\s++IGNORED\s++!!!", Void.EMPTY)), status=SKIPPED),
                Rule(pattern=re.compile(before_paren(_INFO_ITEM, void=Void.EMPTY)), status=PASSED, merge=keep),
            ),
        ),
    ),
    dialect(
        "parse_log_scala_v2",
        "scala",
        Marked(
            split=Split.UNIVERSAL,
            rules=(
                _coloured("x", "31", FAILED),
                _plain("x", FAILED),
                _coloured(r"\+", "32", PASSED),
                _plain(r"\+", PASSED),
            ),
        ),
    ),
)
