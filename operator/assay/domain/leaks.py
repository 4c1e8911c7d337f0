"""What a rewritten statement gives away: names that only the reference patch holds, and that an agent has to find itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.domain.patches import hunk_lines
from assay.domain.task import Task

NAME = re.compile(r"[^\W\d]\w{2,}")
"""An identifier; shorter ones are in any text."""
ASIDE = re.compile(r"""(//|#|/\*).*|^\s*\*.*|"[^"]*"|'[^']*'""")
"""Comments and strings, as most languages write them: words in there are prose as a rule."""


def leaked_names(statement: str, task: Task, *, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of a statement that the reference patch alone brings, sorted.

    Names that stand in ``known`` texts, in the test patch, or in what the reference patch removes or leaves as it is,
    are no secret.  Plain words that the patch has in comments and strings alone are prose, not names.
    """
    lines = [line.decode("utf-8", "replace") for line in hunk_lines(task.patch)]
    added = [line[1:] for line in lines if line.startswith("+")]
    there = [line[1:] for line in lines if not line.startswith("+")]
    secret = {name for line in added for name in _names_of(line)}
    told = _names((*there, *known, task.test_patch.decode("utf-8", "replace")))
    return tuple(sorted((secret - told) & _names([statement])))


def _names_of(line: str) -> Iterable[str]:
    """Yield the names of a line of code; of its comments and strings those that are no plain word."""
    yield from NAME.findall(ASIDE.sub(" ", line))
    yield from (name for name in NAME.findall(line) if not _is_word(name))


def _is_word(name: str) -> bool:
    return name.isalpha() and (name[1:].islower() or name.isupper())


def _names(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in NAME.findall(text)}
