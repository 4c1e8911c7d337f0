r"""Many line patterns as one search over a text of lines, several times as fast as trying each on each line.

A line pattern speaks of one line; over a text its blanks, negated classes and ends must not reach into the next. What
changes is spelled out here, so that rules stay written for a line: `\s` and `[^…]` lose the line feed, `$` is the end of
the line, groups lose their names. Positive classes must not hold `\s`, since they could not lose it.
"""

import re
from collections.abc import Iterable, Iterator

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\(\?P<\w++>|.", re.DOTALL)
BLANK = r"[ \t\x0b\x0c\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What `\\s` fits, without the line feed; written out it is faster than `[^\\S\\n]`."""
_SETS_OF_MORE = ("\\s", "\\D", "\\W")


def over_lines(pattern: re.Pattern[str]) -> str:
    """The source of an unnamed group that fits in a text of lines, behind a line feed, what the pattern fits in a line.

    Raises ValueError where the pattern cannot be kept within a line.
    """
    source = "".join(map(_within_a_line, _TOKEN.findall(pattern.pattern)))
    return f"(?{'i' if pattern.flags & re.IGNORECASE else ''}:{source})"


def _within_a_line(token: str) -> str:
    if token == r"\s":
        return BLANK
    if token == "$":
        return r"(?=\n)"
    if token.startswith("[^"):
        return r"[^\n" + token[2:]
    if token.startswith("(?P<"):
        return "("
    if token in _SETS_OF_MORE or (token.startswith("[") and any(part in token for part in _SETS_OF_MORE)):
        raise ValueError(f"{token} may reach into the next line")
    return token


class Alternatives:
    """Patterns in order of preference; `found_in` gives each line's first that fits, lines without one are passed over."""

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        self.starts: list[int] = []
        """How many groups come before each pattern's own."""
        self.ends: list[int] = []
        """The number of the empty group behind each pattern: `Match.lastindex` tells the patterns apart by it."""
        sources, groups = [], 0
        for pattern in patterns:
            sources.append(over_lines(pattern) + "()")
            self.starts.append(groups)
            groups += pattern.groups + 1
            self.ends.append(groups)
        self._search = re.compile(rf"\n(?:{'|'.join(sources)})")

    def found_in(self, lines: str) -> Iterator[re.Match[str]]:
        """The matches in lines that each have a line feed before and behind them."""
        return self._search.finditer(lines)

    def rows_in(self, lines: str) -> list[tuple[str, ...]]:
        """The groups of the same matches, which are faster to get at; a group that took no part is an empty text."""
        return self._search.findall(lines)
