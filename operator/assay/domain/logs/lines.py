"""Splitting of logs into lines, in bounded memory.

A log is cut into blocks of about thirty thousand characters that end where a line ends, and each block is split at
once: that is as fast as splitting the whole, without a list of every line. A line longer than a block is a block of its
own.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

BLOCK_CHARS = 1 << 15


class Split(StrEnum):
    """What ends a line."""

    LF = "LF"  # the line feed alone; a carriage return stays in the line
    UNIVERSAL = "universal"  # LF, CR, CRLF, VT, FF, U+001C to U+001E, U+0085, U+2028, U+2029


class Trim(StrEnum):
    """Where white space is removed from a line."""

    NONE = "none"
    RIGHT = "right"
    BOTH = "both"


def blocks(text: str, *, at_cr: bool = False, size: int = BLOCK_CHARS) -> Iterator[str]:
    """Consecutive parts of the text, each ending with a line end (the last one perhaps not).

    With `at_cr` a lone carriage return also ends a line, so that a log without line feeds is cut as well; `size` is the
    number of characters after which a cut is looked for.
    """
    start, end = 0, len(text)
    while start < end:
        cut = _cut(text, start + size, at_cr) if end - start > size else end
        yield text[start:cut]
        start = cut


def _cut(text: str, near: int, at_cr: bool) -> int:
    line_feed = text.find("\n", near - 1)
    if not at_cr:
        return line_feed + 1 or len(text)
    stop = line_feed if line_feed >= 0 else len(text)
    carriage_return = text.find("\r", near - 1, stop)
    if carriage_return < 0 or carriage_return + 1 == stop:
        return line_feed + 1 or len(text)
    return carriage_return + 1


def lists_of_lines(text: str, split: Split, clean: Callable[[str], str] | None = None) -> Iterator[list[str]]:
    """The lines of the text, in order, as one list a block; `clean` is applied to lines joined by line feeds."""
    if split is Split.LF:
        for block in blocks(text):
            body = block.removesuffix("\n")
            yield (clean(body) if clean else body).split("\n")
        return
    for block in blocks(text, at_cr=True):
        lines = block.splitlines()
        yield clean("\n".join(lines)).split("\n") if clean else lines


def blocks_of_lines(text: str, split: Split, trim: Trim = Trim.BOTH) -> Iterator[str]:
    """The lines of the text in blocks to be searched: trimmed, each with a line feed before and behind it."""
    return map(searchable, (trimmed(lines, trim) for lines in lists_of_lines(text, split)))


def searchable(lines: list[str]) -> str:
    """The lines as one text in which each has a line feed before and behind it."""
    return "\n".join(("", *lines, ""))


def lines_of(
    text: str, split: Split, trim: Trim = Trim.NONE, clean: Callable[[str], str] | None = None
) -> Iterator[str]:
    """The lines of the text one by one, without their ends, cleaned and then trimmed."""
    for lines in lists_of_lines(text, split, clean):
        yield from trimmed(lines, trim)


def trimmed(lines: list[str], trim: Trim) -> list[str]:
    """The lines without white space at the ends that `trim` names."""
    if trim is Trim.BOTH:
        return list(map(str.strip, lines))
    return list(map(str.rstrip, lines)) if trim is Trim.RIGHT else lines
