"""Family: logs of which only the failures are read, from the whole text: Karma's browser lines and Mocha's epilogue."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from assay.domain.logs.alternatives import BLANK
from assay.domain.logs.cleaning import full
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import blocks
from assay.domain.logs.statuses import FAILED

_BROWSER = re.compile(r"Chrome\s[\d.]++[^\S\n]\(")
_AFTER_BROWSER = re.compile(r"\)[^\S\n]")
_TAG = re.compile(r"<(/?)(\w++)>")
_TITLE_CHARS = 1000
_NUMBER = re.compile(rf"\n{BLANK}*+\d++\)")
_NUMBERED = re.compile(rf"{_NUMBER.pattern}([^:]{{0,{_TITLE_CHARS}}}+):")
_LAST_BRACKET = re.compile(r"[{}\[\]][^\S\n]*+(?:\n|\Z)")
_MOST_ROUNDS = 50

Blocks = Callable[[], Iterator[str]]
"""A text in parts that end where a line ends, made anew at each call, so that no copy of a log is held."""


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
    # An escape may part the `<` from the `/` of a closing tag.
    may_hold_tags = "</" in text or "<\x1b" in text
    return iter(_titles_without_tags(text) if may_hold_tags else _titles(_stripped(_without_objects(text))))


def _titles_without_tags(text: str) -> list[str]:
    """The titles without `<word>…</word>`, until none is left; a removal can bring together what forms a new one."""

    def outside() -> Iterator[str]:
        return _stripped(_without_objects(text))

    pairs = _Pairs()
    blocks: Blocks = outside
    for _ in pairs.seen_in(_without_objects(text)):
        pass
    for _ in range(_MOST_ROUNDS):
        blocks = partial(_one_round_without_tags, blocks, pairs.closings) if pairs.are_there else blocks
        pairs = _Pairs()
        titles = list(_titles(pairs.seen_in(blocks())))
        if not pairs.are_there:
            return titles
    raise UnreadableError(f"tags are still nested after {_MOST_ROUNDS} removals")


def _titles(blocks: Iterable[str]) -> Iterator[str]:
    pending = "\n"
    for block in blocks:
        lines, at = pending + block, 0
        for numbered in _NUMBERED.finditer(lines):
            at = numbered.end()
            title = _joined_if_ever_deeper(numbered[1].split("\n"))
            if title is not None:
                yield title
        numbers = _NUMBER.finditer(lines, at)
        unfinished = (number.start() for number in numbers if number.end() >= len(lines) - _TITLE_CHARS)
        pending = lines[next(unfinished, len(lines)) :] or "\n"


def _joined_if_ever_deeper(pieces: list[str]) -> str | None:
    depth = 0
    words: list[str] = []
    for piece in pieces:
        body = piece.lstrip()
        indent = len(piece) - len(body)
        if indent <= depth:
            return None
        depth = indent
        words.append(body.rstrip())
    return ":".join(words)


def _without_objects(text: str) -> Iterator[str]:
    """The text without lines that are part of what looks like a printed object or array."""
    objects = _Objects()
    for block in blocks(text):
        yield objects.outside(full(block))


def _stripped(blocks: Iterable[str]) -> Iterator[str]:
    for block in blocks:
        yield "\n".join(map(str.rstrip, block.split("\n")))


class _Objects:
    """Whether an object and an array are open, from block to block."""

    def __init__(self) -> None:
        self._in_object = self._in_array = False

    def outside(self, block: str) -> str:
        """The lines outside of both."""
        kept: list[str] = []
        start = 0
        for bracket in _LAST_BRACKET.finditer(block):
            at = block.rfind("\n", start, bracket.start()) + 1 or start
            if not (self._in_object or self._in_array):
                kept.append(block[start:at])
            line, start = block[at : bracket.start() + 1], bracket.end()
            if not self._is_bracket(line) and not (self._in_object or self._in_array or _is_literal(line)):
                kept.append(block[at:start])
        if not (self._in_object or self._in_array):
            kept.append(block[start:])
        return "".join(kept)

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


class _Pairs:
    """Whether a tag closes what was opened before, and how many closing tags each word has."""

    def __init__(self) -> None:
        self.are_there = False
        self.closings: Counter[str] = Counter()
        self._opened: set[str] = set()

    def seen_in(self, blocks: Iterable[str]) -> Iterator[str]:
        """The same blocks, looked at."""
        for block in blocks:
            for is_closing, word in _TAG.findall(block):
                if is_closing:
                    self.closings[word] += 1
                    self.are_there = self.are_there or word in self._opened
                else:
                    self._opened.add(word)
            yield block


def _one_round_without_tags(blocks: Blocks, closings: Counter[str]) -> Iterator[str]:
    tags = _Tags(closings)
    return _by_lines(tags.outside(block) for block in blocks())


class _Tags:
    """The open tag whose inside is left out, from block to block."""

    def __init__(self, closings: Counter[str]) -> None:
        self._closings_left = closings.copy()
        self._depth, self._word = 0, ""

    def outside(self, block: str) -> str:
        """The text outside of pairs of tags."""
        kept: list[str] = []
        at = 0
        for tag in _TAG.finditer(block):
            opens, word = not tag[1], tag[2]
            self._closings_left[word] -= not opens
            if self._depth and word == self._word:
                self._depth += 1 if opens else -1
                at = at if opens else tag.end()
                if self._depth and not opens and not self._closings_left[word]:
                    kept.append(f"<{word}>" * self._depth)
                    self._depth = 0
            elif not self._depth and opens and self._closings_left[word]:
                kept.append(block[at : tag.start()])
                self._depth, self._word = 1, word
        return "".join(kept) if self._depth else "".join([*kept, block[at:]])


def _by_lines(parts: Iterable[str]) -> Iterator[str]:
    """The same text in blocks that end with a line feed, as far as there is one: no line stands in two."""
    line: list[str] = []
    for part in parts:
        end = part.rfind("\n") + 1
        if end:
            yield "".join([*line, part[:end]])
            line = []
        line.append(part[end:])
    yield "".join(line)
