"""Family: logs of which only the failures are read, from the whole text: Karma's browser lines and Mocha's epilogue."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from assay.domain.logs.cleaning import full
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, blocks, lists_of_lines
from assay.domain.logs.statuses import FAILED

_BROWSER = re.compile(r"Chrome\s[\d.]++[^\S\n]\(")
_AFTER_BROWSER = re.compile(r"\)[^\S\n]")
_TAG = re.compile(r"<(/?)(\w++)>")
_NUMBER = re.compile(r"^[^\S\n]*+\d++\)", re.MULTILINE)
_BRACKETS = frozenset("{}[]")
_TITLE_CHARS = 1000
_MOST_ROUNDS = 50
_PIECES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLists:
    """Options of the family: how names of failed tests are found in the text; terminal escapes are removed first."""

    names: Callable[[str], Iterator[str]]

    def results_of(self, text: str) -> dict[str, str]:
        """Names of failed tests, all FAILED; a run without failures gives nothing."""
        return dict.fromkeys(self.names(text), FAILED)


def browser_failures(text: str) -> Iterator[str]:
    """Between `Chrome 99.0 (system) ` and `FAILED` at the line's end, blanks included; one a line."""
    text = "".join(map(full, blocks(text))) if "\x1b" in text else text
    at = 0
    while browser := _BROWSER.search(text, at):
        end = text.find("\n", browser.end())
        end = len(text) if end < 0 else end
        # A browser's name at the very end of this line may belong to a version on the next one.
        at = max(browser.end(), end - len("Chrome"))
        stop = end - len("FAILED")
        if stop >= browser.end() and text.startswith("FAILED", stop):
            closing = _AFTER_BROWSER.search(text, browser.end() + 1, stop)
            if closing:
                yield text[closing.end() : stop]
                at = end


def mocha_failures(text: str) -> Iterator[str]:
    """Numbered titles up to their first colon, their lines joined by `:` where each is indented more than the last."""
    text = _without_tags(_without_objects(text))
    at = 0
    while number := _NUMBER.search(text, at):
        colon = text.find(":", number.end(), number.end() + _TITLE_CHARS + 1)
        at = number.end()
        if colon >= 0:
            pieces = text[number.end() : colon].split("\n")
            at = colon + 1
            indents = [0, *(len(piece) - len(piece.lstrip()) for piece in pieces)]
            if all(less < more for less, more in pairwise(indents)):
                yield ":".join(piece.strip() for piece in pieces)


def _without_objects(text: str) -> str:
    """The text without lines that are part of what looks like a printed object or array."""
    objects = _Objects()
    parts = (objects.outside(lines) for lines in lists_of_lines(text, Split.LF, full))
    return "\n".join([part for part in parts if part is not None])


class _Objects:
    """Whether an object and an array are open, from block to block."""

    def __init__(self) -> None:
        self._in_object = self._in_array = False

    def outside(self, lines: list[str]) -> str | None:
        """The lines outside of both, joined; None where there is none."""
        lines = list(map(str.rstrip, lines))
        kept: list[str] = []
        start = 0
        for at in [at for at, line in enumerate(lines) if line[-1:] in _BRACKETS]:
            if not (self._in_object or self._in_array):
                kept += lines[start:at]
            line, start = lines[at], at + 1
            if not self._is_bracket(line) and not (self._in_object or self._in_array or _is_literal(line)):
                kept.append(line)
        if not (self._in_object or self._in_array):
            kept += lines[start:]
        return "\n".join(kept) if kept else None

    def _is_bracket(self, line: str) -> bool:
        """Whether the line opens an object or array, or closes an open one; remembers it."""
        if line.endswith("{"):
            self._in_object = True
        elif line.endswith("["):
            self._in_array = True
        elif line == "}" and self._in_object:
            self._in_object = False
        elif line == "]" and self._in_array:
            self._in_array = False
        else:
            return False
        return True


def _is_literal(line: str) -> bool:
    return line[:1] + line[-1:] in ("{}", "[]")


def _without_tags(text: str) -> str:
    """Without `<word>…</word>`, until none is left; a removal can bring together what forms a new one."""
    for _ in range(_MOST_ROUNDS):
        shorter = _one_round_without_tags(text)
        if shorter == text:
            return text
        text = shorter
    raise UnreadableError(f"tags are still nested after {_MOST_ROUNDS} removals")


def _one_round_without_tags(text: str) -> str:
    closings_left = Counter(tag[2] for tag in _TAG.finditer(text) if tag[1])
    if not closings_left:
        return text
    parts: list[str] = []
    kept: list[str] = []
    depth, inside, at = 0, "", 0
    for tag in _TAG.finditer(text):
        opens, word = not tag[1], tag[2]
        closings_left[word] -= not opens
        if depth and word == inside:
            depth += 1 if opens else -1
            at = at if opens else tag.end()
            if depth and not opens and not closings_left[word]:
                kept.append(f"<{word}>" * depth)
                depth = 0
        elif not depth and opens and closings_left[word]:
            kept.append(text[at : tag.start()])
            depth, inside = 1, word
        if len(kept) > _PIECES:
            parts.append("".join(kept))
            kept.clear()
    return "".join([*parts, *kept, text[at:]])
