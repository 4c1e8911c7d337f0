"""What an agent reads of output and files: bounded at both ends, with the way to the rest."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

OUTPUT_BYTES = 50_000
"""Output up to this size is shown whole; of more, half of it from each end."""
LINE_CHARS = 4_000
OUTPUTS = "/assay/output/"
"""Paths under which ``view`` shows the outputs of earlier calls; no such files are in the sandbox."""
BINARY_LOOK = 8_000
_CONTINUATION = re.compile(rb"\A[\x80-\xbf]{1,3}")
_PARTIAL = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{0,2}\Z")


def output_text(head: bytes, tail: bytes, *, total: int, identifier: str) -> str:
    """Return a call's output as text: ``head`` is all of it, or its beginning with ``tail`` its end (``total`` bytes)."""
    if len(head) >= total:
        return _decoded(head) or "(no output)"
    head, tail = _without_partial(head), _CONTINUATION.sub(b"", tail)
    left_out = total - len(head) - len(tail)
    path = f"{OUTPUTS}{identifier}"
    line = head.count(b"\n") + 1
    notice = (
        f"[{left_out} of {total} bytes are left out here, from line {line} on. "
        f'To read them: view with path "{path}" and a view_range.]'
    )
    return f"{_decoded(head)}\n{notice}\n{_decoded(tail)}"


def with_exit_code(text: str, code: int) -> str:
    """Return a text with its last line, which tells the exit code."""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}Exit code: {code}"


def is_binary(content: bytes) -> bool:
    """Whether a file's beginning is not text."""
    return b"\0" in content[:BINARY_LOOK]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    number: int
    text: str


class LineWindow:
    """Numbered lines of a file that is fed in chunks; keeps what is shown and nothing else.

    Without a range the first and the last lines are kept, ``OUTPUT_BYTES`` characters together.  ``fold`` counts every
    4,000 bytes of a long line as a line, so that all of an output can be reached by ranges; else the rest of a long line
    is told and not shown.
    """

    def __init__(self, *, first: int = 0, last: int = 0, fold: bool = False) -> None:
        self._first = first
        self._last = last
        self._fold = fold
        self._number = 0
        self._partial = b""
        self._dropped = 0
        self._head: list[_Line] = []
        self._tail: deque[_Line] = deque()
        self._room = OUTPUT_BYTES if first else OUTPUT_BYTES // 2
        self._tail_chars = 0
        self._cut_at = 0

    @property
    def enough(self) -> bool:
        """Whether nothing that follows would be shown."""
        return bool(self._cut_at) or bool(self._first and self._last and self._number >= self._last)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        lines = (self._partial + chunk).split(b"\n")
        for line in lines[:-1]:
            self._take(line)
        self._partial = lines[-1]
        if self._fold:
            while len(self._partial) > LINE_CHARS:
                self._add(self._partial[:LINE_CHARS])
                self._partial = self._partial[LINE_CHARS:]
        elif len(self._partial) > 4 * LINE_CHARS:
            self._dropped += len(self._partial) - 4 * LINE_CHARS
            self._partial = self._partial[: 4 * LINE_CHARS]

    def text(self) -> str:
        """Return what is shown."""
        if self._partial or self._dropped:
            self._take(self._partial)
            self._partial = b""
        if not self._number:
            return "(empty file)"
        if self._first:
            return self._range_text()
        if not self._tail:
            return _numbered(self._head)
        left_out = self._tail[0].number - self._head[-1].number - 1 if self._head else self._tail[0].number - 1
        if left_out <= 0:
            return _numbered([*self._head, *self._tail])
        start = self._head[-1].number + 1 if self._head else 1
        notice = (
            f"[{left_out} of {self._number} lines are left out here: "
            f"view_range [{start}, {start + left_out - 1}] shows them.]"
        )
        return "\n".join(filter(None, (_numbered(self._head), notice, _numbered(self._tail))))

    def _range_text(self) -> str:
        if not self._head:
            return f"(the file has {self._number} lines; none is in the range)"
        if self._cut_at:
            end = self._last or -1
            return f"{_numbered(self._head)}\n[Cut here: view_range [{self._cut_at}, {end}] goes on.]"
        return _numbered(self._head)

    def _take(self, line: bytes) -> None:
        if self._fold:
            while len(line) > LINE_CHARS:
                self._add(line[:LINE_CHARS])
                line = line[LINE_CHARS:]
        self._add(line)

    def _add(self, line: bytes) -> None:
        self._number += 1
        dropped, self._dropped = self._dropped, 0
        if self.enough and self._number > max(self._last, self._cut_at):
            return
        if self._first and not (self._first <= self._number <= (self._last or self._number)):
            return
        text = _decoded(line)
        if len(text) > LINE_CHARS and not self._fold:
            more = len(text) - LINE_CHARS + dropped
            text = f"{text[:LINE_CHARS]} [about {more} more characters: use bash, for example cut -c]"
        self._keep(_Line(number=self._number, text=text))

    def _keep(self, line: _Line) -> None:
        size = len(line.text) + 8
        if not self._tail and not self._cut_at and size <= self._room:
            self._head.append(line)
            self._room -= size
            return
        if self._first:
            if self._head:
                self._cut_at = self._cut_at or line.number
                return
            self._head.append(line)
            self._room = 0
            return
        self._room = 0
        self._tail.append(line)
        self._tail_chars += size
        while self._tail_chars > OUTPUT_BYTES // 2 and len(self._tail) > 1:
            self._tail_chars -= len(self._tail.popleft().text) + 8


def _numbered(lines: Sequence[_Line]) -> str:
    return "\n".join(f"{line.number:6d}\t{line.text}" for line in lines)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _without_partial(content: bytes) -> bytes:
    found = _PARTIAL.search(content)
    return content[: found.start()] if found and _is_cut(found.group()) else content


def _is_cut(character: bytes) -> bool:
    """Whether these bytes, the last ones, are a character without its end."""
    lead = character[0]
    needed = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return len(character) < needed
