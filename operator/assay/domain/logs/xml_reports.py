"""Family: JUnit XML printed into the log, read as XML.

Dialects differ in how they find documents, which outcome elements win and how a name is put together. Documents are read
as a stream of events, so that no tree of a large report is ever in memory. Entity declarations are refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import ParseError, XMLParser

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED

_CHUNK = 1 << 16
_STATUS_OF = {"failure": FAILED, "error": ERROR, "skipped": SKIPPED}

Spans = Callable[[str], Iterator[tuple[int, int]]]
"""Finds documents: start and end offsets in the log."""

Naming = Callable[[Mapping[str, str]], str]
"""Makes a name of a test case's attributes."""


class MalformedError(Exception):
    """The text is not one well-formed document."""


def feed(target: object, text: str, start: int, end: int) -> None:
    """Send one document's events to a parser target; raises `MalformedError` where it is not well-formed."""
    parser = _parser(target, has_declarations=text.find("<!DOCTYPE", start, end) >= 0)
    try:
        for at in range(start, end, _CHUNK):
            parser.feed(text[at : min(at + _CHUNK, end)])
        parser.close()
    except DefusedXmlException as refusal:
        raise UnreadableError(f"an XML document is refused: {type(refusal).__name__}") from refusal
    except (ParseError, UnicodeEncodeError) as error:
        raise MalformedError(str(error)) from error


def _parser(target: object, *, has_declarations: bool) -> XMLParser:
    """Defusedxml's parser where entities can be declared; else the plain one, which is eight times as fast."""
    if has_declarations:
        return DefusedXMLParser(target=target, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    return XMLParser(target=target)  # noqa: S314 - without a document type there are no entities to expand


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlReports:
    """Options of the family; `order` says which outcome element wins, `only_in_suites` that a case's parent matters."""

    spans: Spans
    order: tuple[str, ...]
    naming: Naming
    only_in_suites: bool = False

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses of every test case in well-formed documents; the last of equal names wins."""
        results: dict[str, str] = {}
        for start, end in self.spans(text):
            cases = _Cases(self)
            try:
                feed(cases, text, start, end)
            except MalformedError:
                continue
            results.update(cases.results)
        return results


class _Cases:
    """A parser target that keeps the test cases of one document."""

    def __init__(self, options: XmlReports) -> None:
        self.results: dict[str, str] = {}
        self._options = options
        self._tags: list[str] = []
        self._open: list[tuple[int, Mapping[str, str], set[str]]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        depth = len(self._tags)
        if tag == "testcase":
            if self._counts(depth):
                self._open.append((depth, attributes, set()))
        elif self._open and self._open[-1][0] == depth - 1:
            self._open[-1][2].add(tag)
        self._tags.append(tag)

    def end(self, tag: str) -> None:
        self._tags.pop()
        if tag == "testcase" and self._open and self._open[-1][0] == len(self._tags):
            _, attributes, markers = self._open.pop()
            self.results[self._options.naming(attributes)] = self._status(markers)

    def _counts(self, depth: int) -> bool:
        if self._options.only_in_suites:
            return depth > 1 and self._tags[-1] == "testsuite"
        return depth > 0

    def _status(self, markers: set[str]) -> str:
        if markers:
            for marker in self._options.order:
                if marker in markers:
                    return _STATUS_OF[marker]
        return PASSED


def whole_text(text: str) -> Iterator[tuple[int, int]]:
    """The text is the document."""
    yield 0, len(text)


def declared_to_testsuites(text: str) -> Iterator[tuple[int, int]]:
    """From each XML declaration to the next `</testsuites>`; scanning goes on after it."""
    at = 0
    while (start := text.find("<?xml", at)) >= 0:
        closing = text.find("</testsuites>", start)
        if closing < 0:
            return
        at = closing + len("</testsuites>")
        yield start, at


def first_to_testsuites(text: str) -> Iterator[tuple[int, int]]:
    """From the first XML declaration to the first `</testsuites>` after it, or to the end of the text."""
    start = text.find("<?xml")
    if start >= 0:
        closing = text.find("</testsuites>", start)
        yield start, closing + len("</testsuites>") if closing >= 0 else len(text)


def line_blocks(text: str) -> Iterator[tuple[int, int]]:
    """From the last line that starts with an XML declaration to the line that starts with `</testsuite>`."""
    start = -1
    for mark, line, end in _leading_marks(text, "<?xml", "</testsuite>"):
        if mark == "<?xml":
            start = line
        elif start >= 0:
            yield start, end
            start = -1


def _leading_marks(text: str, *marks: str) -> Iterator[tuple[str, int, int]]:
    """Each line whose first text is one of the marks: the mark, the line's start, its end."""
    ahead = {mark: text.find(mark) for mark in marks}
    while True:
        at, mark = min(((at, mark) for mark, at in ahead.items() if at >= 0), default=(-1, ""))
        if at < 0:
            return
        line = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[line:at].strip() == "":
            yield mark, line, end
        for other, found in ahead.items():
            if 0 <= found < end:
                ahead[other] = text.find(other, end)


def class_and_name(attributes: Mapping[str, str]) -> str:
    """`class::name`; a missing attribute reads `None`."""
    return f"{attributes.get('classname')}::{attributes.get('name')}"


def name_and_class(attributes: Mapping[str, str]) -> str:
    """`name (class)`, or the name alone, which may be empty."""
    name, classname = attributes.get("name", ""), attributes.get("classname", "")
    return f"{name} ({classname})" if name and classname else name


def class_if_any_and_name(attributes: Mapping[str, str]) -> str:
    """`class::name`, or the name alone."""
    name, classname = attributes.get("name", ""), attributes.get("classname", "")
    return f"{classname}::{name}" if classname else name
