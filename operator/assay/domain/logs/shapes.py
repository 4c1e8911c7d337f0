"""Building blocks of line patterns that stay linear on any line.

A name that stands before blanks and a tail ends where a run of blanks begins, and starts at a character that is no blank:
so no two repeats can share a long run between them. Only where that reading fails may blanks serve as the name, as they
do in the published parsers; the group `void` then holds what they take.
"""

import re
from enum import StrEnum


class Void(StrEnum):
    """What may stand in for a missing name before a tail."""

    NOTHING = r"(?P<void>(?!))"
    EMPTY = r"\s(?P<void>)"  # of two blanks or more: the empty name
    BLANK = r"\s+(?P<void>\s)(?=\s(?!\s))"  # of three blanks or more: the last but one


NO_INNER_PAREN = r"(?>(?:.*\)(?=[^)]+\)$))?)"
"""As much of a name as must precede a tail `(…)` at the line's end: all up to the last but one closing parenthesis."""


_GROUP_NAME = re.compile(r"\(\?P<\w++>")


def up_to(tail: str, *, first: str = r"\S++", word: str = r"\S++") -> str:
    """As few words as possible, with the blanks between them, before blanks and the tail.

    Much faster than as few characters as possible; and possessive, so that a long line is not remembered word by word.
    """
    return rf"{first}(?:(?!\s++{_GROUP_NAME.sub('(?:', tail)})\s++{word})*+"


def between(head: str, tail: str, void: Void = Void.NOTHING, *, inside: str = "") -> str:
    """A pattern: head, blanks, the shortest name, blanks, tail. The parts are pattern sources; tail brings no blanks."""
    return rf"{head}(?:\s++(?=\S)(?P<name>{inside or up_to(tail)})|{void.value})\s++{tail}"


def before_paren(head: str, tail: str = "", void: Void = Void.NOTHING) -> str:
    """A pattern: head, blanks, the shortest name, blanks, tail and a last `(…)` without inner closing parenthesis."""
    tail = rf"{tail}\([^)]++\)$"
    inside = up_to(tail, first=NO_INNER_PAREN + r"[^)\s]*+", word=r"[^)\s]++")
    return between(rf"{head}(?=.*+(?<=[^)]\)))", tail, void, inside=inside)


def holding(mark: str, heads: str) -> str:
    """A pattern: as the name, a whole line that holds the mark, whose first character is of the class `heads`."""
    return rf"(?P<name>[^{heads}]*+(?:(?!{mark})[{heads}][^{heads}]*+)*+{mark}.*+)"


ENDS_IN_PAREN = r"(?=.*+(?<=\)))"
ENDS_IN_BRACKET = r"(?=.*+(?<=\]))"
