"""Family: `<testcase …>` tags found in raw text, without regard to XML.

Nothing is decoded and nothing has to be well-formed; a `>` inside an attribute ends the tag. The scan looks up each mark
once from left to right, so that it stays linear on any text.
"""

import re
from dataclasses import dataclass

from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_CASE = re.compile(r"<testcase\b")
_ATTRIBUTE = re.compile(r'(?<!\w)(\w++)="([^"]*+)"')
_CLOSING = "</testcase>"
_UNCLOSED_CHARS = 4096
_MARKS = (("<failure", FAILED), ("<error", ERROR), ("<skipped", SKIPPED))


class _Ahead:
    """The next place of a text at or after positions that only grow."""

    def __init__(self, text: str, wanted: str) -> None:
        self._text, self._wanted = text, wanted
        self._at = -2

    def after(self, position: int) -> int:
        """The next place at or after the position, or the text's length."""
        if self._at < position:
            found = self._text.find(self._wanted, position)
            self._at = found if found >= 0 else len(self._text)
        return self._at


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScan:
    """The family has no options: one behaviour under several names."""

    def results_of(self, text: str) -> dict[str, str]:
        """`class name` -> status of every test case tag that has a name; the last of equal names wins."""
        results = Observed()
        marks = [(_Ahead(text, mark), status) for mark, status in _MARKS]
        closing, at = _Ahead(text, _CLOSING), 0
        while (case := _CASE.search(text, at)) and (tag_end := text.find(">", case.end())) >= 0:
            at = tag_end + 1
            tag = text[case.end() : tag_end]
            attributes = dict(_ATTRIBUTE.findall(tag))
            name = attributes.get("name")
            if not name:
                continue
            status = PASSED
            if not tag.rstrip().endswith("/"):
                end = closing.after(at)
                open_ended = end == len(text)
                status = _status(marks, at, min(at + _UNCLOSED_CHARS, end) if open_ended else end)
                at = at if open_ended else end + len(_CLOSING)
            classname = attributes.get("classname")
            results[f"{classname} {name}".strip() if classname else name] = status
        return results


def _status(marks: list[tuple[_Ahead, str]], start: int, end: int) -> str:
    for ahead, status in marks:
        mark = _MARK_LENGTH[status]
        if ahead.after(start) + mark <= end:
            return status
    return PASSED


_MARK_LENGTH = {status: len(mark) for mark, status in _MARKS}
