"""Dialects of Python's runners."""

import re

from assay.domain.logs.cleaning import lite
from assay.domain.logs.dialect import Reader, alias, dialect
from assay.domain.logs.dotted import django, sympy
from assay.domain.logs.entries import Found
from assay.domain.logs.lines import Split
from assay.domain.logs.marked import rule
from assay.domain.logs.statuses import XFAIL
from assay.domain.logs.summary import WORDS, Summary, Verbose, with_short_option_path
from assay.domain.logs.table.rows import marked

_WORD = "(?P<word>PASSED|FAILED|ERROR|SKIPPED)"
_SAID = {word: word for word in WORDS}


def _up_to_in(name: str) -> str:
    return name.split(" in ", 1)[0].strip()


_TIME = re.compile(r"\]\s++in\s++\d++(?:\.\d++)?s$")
_COLUMN = re.compile(rf"\s{_WORD}\s++\[")


def _timed(line: str) -> Found | None:
    """Name, blanks, status, blanks, the last column `[…]` of the line, ` in ` and seconds."""
    closing = line.rfind("]") if line.endswith("s") else -1
    if closing < 0 or not _TIME.match(line, closing):
        return None
    column = _COLUMN.search(line, line.rfind("]", 0, closing) + 1, closing)
    return (line[: column.start()].rstrip(), column["word"]) if column else None


_MOUSE_BUTTONS = (("MouseButton.LEFT", "1"), ("MouseButton.RIGHT", "3"))
_SWEBENCH_WORDS = (*WORDS, XFAIL)

PYTEST = dialect("parse_log_pytest", "python", Summary())
PYTEST_OPTIONS = dialect("parse_log_pytest_options", "python", Summary(edit=with_short_option_path))
PYTEST_V2 = dialect("parse_log_pytest_v2", "python", Summary(verbose=Verbose.ENDING, lite_clean=True))

ROWS = (
    PYTEST,
    PYTEST_OPTIONS,
    dialect("parse_log_matplotlib", "python", Summary(replace=_MOUSE_BUTTONS)),
    PYTEST_V2,
    marked(
        "parse_log_pytest_nebo",
        "python",
        rule(rf"\[gw\d++\]\s++\[[^\]]*+\]\s++{_WORD}\s++(?P<name>.+)", _SAID, _up_to_in, heads=r"\["),
        rule(_timed, _SAID, clue="in"),
        rule(rf"{_WORD}\s++(?P<name>.+)", _SAID, _up_to_in, heads="PFES"),
        split=Split.UNIVERSAL,
        clean=lite,
        clues=WORDS,
    ),
    dialect("parse_log_seaborn", "python", Summary(verbose=Verbose.PASSED_SECOND)),
    dialect("parse_log_django", "python", Reader(django)),
    dialect("parse_log_sympy", "python", Reader(sympy)),
    *(
        alias(f"parse_log_{project}", PYTEST)
        for project in ("astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray", "pydantic", "dvc")
    ),
    *(alias(f"parse_log_{project}", PYTEST_OPTIONS) for project in ("pydicom", "requests", "pylint")),
    *(alias(f"parse_log_{project}", PYTEST_V2) for project in ("astropy", "scikit", "sphinx")),
    dialect("swebench_pytest", "python", Summary(words=_SWEBENCH_WORDS)),
    dialect("swebench_pytest_options", "python", Summary(words=_SWEBENCH_WORDS, edit=with_short_option_path)),
    dialect("swebench_pytest_v2", "python", Summary(words=_SWEBENCH_WORDS, verbose=Verbose.ENDING, lite_clean=True)),
    dialect("swebench_matplotlib", "python", Summary(words=_SWEBENCH_WORDS, replace=_MOUSE_BUTTONS)),
)
