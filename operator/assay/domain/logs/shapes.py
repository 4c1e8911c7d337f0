"""Building blocks of line patterns that stay linear on any line.

A name that stands before blanks and a tail ends where a run of blanks begins, and starts at a character that is no blank:
so no two repeats can share a long run between them. Only where that reading fails may blanks serve as the name, as they
do in the published parsers; the group `void` then holds what they take.
"""

from enum import StrEnum


class Void(StrEnum):
    """What may stand in for a missing name before a tail."""

    NOTHING = r"(?P<void>(?!))"
    EMPTY = r"\s(?P<void>)"  # of two blanks or more: the empty name
    BLANK = r"\s+(?P<void>\s)(?=\s(?!\s))"  # of three blanks or more: the last but one


NO_INNER_PAREN = r"(?>(?:.*\)(?=[^)]+\)$))?)"
"""As much of a name as must precede a tail `(…)` at the line's end: all up to the last but one closing parenthesis."""


WORDS = r"\S++(?:\s++\S++)*?"
"""As few words as possible, with the blanks between them; much faster than as few characters as possible."""


def between(head: str, tail: str, void: Void = Void.NOTHING, *, inside: str = WORDS) -> str:
    """A pattern: head, blanks, the shortest name, blanks, tail. The parts are pattern sources; tail brings no blanks."""
    return rf"{head}(?:\s++(?=\S)(?P<name>{inside})|{void.value})\s++{tail}"


_AFTER_PARENS = NO_INNER_PAREN + r"[^)\s]*+(?:\s++[^)\s]++)*?(?<!\s)"


def before_paren(head: str, tail: str = "", void: Void = Void.NOTHING) -> str:
    """A pattern: head, blanks, the shortest name, blanks, tail and a last `(…)` without inner closing parenthesis."""
    return between(rf"{head}(?=.*+(?<=[^)]\)))", rf"{tail}\([^)]++\)$", void, inside=_AFTER_PARENS)


ENDS_IN_PAREN = r"(?=.*+(?<=\)))"
ENDS_IN_BRACKET = r"(?=.*+(?<=\]))"
