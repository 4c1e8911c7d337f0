"""Family: JUnit XML printed into the log, read as XML.

Dialects differ in how they find documents, which outcome elements win and how a name is put together. Documents are read
as a stream of events, so that no tree of a large report is ever in memory. Entity declarations are refused.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import NamedTuple
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError, ParserCreate

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import STATUS_OF, MalformedError, Naming, plain_cases
from assay.domain.logs.statuses import PASSED, Observed

_BLOCK_MARK = re.compile(r"(?P<line>)[^\S\n]*+<(?:(?P<declared>\?xml)|/testsuite>)[^\n]*+")
_NEXT_BLOCK_MARK = re.compile(rf"\n{_BLOCK_MARK.pattern}")
_CHUNK = 1 << 16

Spans = Callable[[str], Iterator[tuple[int, int]]]
"""Finds documents: start and end offsets in the log."""


_Place = tuple[int, int]
"""The numbers of a case's suite (0 where suites do not matter) and of the case itself among the elements."""

_OpenCase = tuple[int, Mapping[str, str], list[str], _Place]
"""Depth, attributes, tags of the elements so far, and place of a case that has begun."""


def _ignore(_tag: str) -> None:
    """For targets to which it does not matter where an element ends, or what text is in it."""


class Target(NamedTuple):
    """What receives the elements of a document; a tag in a namespace ends with `}` and its local name."""

    start: Callable[[str, dict[str, str]], None]
    end: Callable[[str], None] = _ignore


def feed(target: Target, text: str, start: int, end: int) -> None:
    """Send one document's elements to a target; raises `MalformedError` where it is not well-formed."""
    parse = _declared_parser(target) if text.find("<!DOCTYPE", start, end) >= 0 else _plain_parser(target)
    try:
        for at in range(start, end, _CHUNK):
            parse(text[at : min(at + _CHUNK, end)], False)
        parse("", True)
    except DefusedXmlException as refusal:
        raise UnreadableError(f"an XML document is refused: {type(refusal).__name__}") from refusal
    except (ParseError, ExpatError, UnicodeEncodeError) as error:
        raise MalformedError(str(error)) from error


def island(text: str, tag: str) -> tuple[int, int] | None:
    """Where the first element of a tag stands in a log, None without one; raises `UnreadableError` if it has no end."""
    start = text.find(f"<{tag}")
    if start < 0:
        return None
    end = text.find(f"</{tag}>", start)
    if end < 0:
        raise UnreadableError(f"the report has no end: <{tag}>")
    return start, end + len(f"</{tag}>")


def _plain_parser(target: Target) -> Callable[[str, bool], object]:
    """Expat itself, for documents without a type: nothing in them can declare an entity. Much faster than the other."""
    parser = ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = target.start, target.end
    return parser.Parse


def _declared_parser(target: Target) -> Callable[[str, bool], object]:
    """Defusedxml's parser, which refuses entity declarations; one that looks at text refuses undefined entities, too."""
    reader = SimpleNamespace(start=target.start, end=target.end, data=_ignore)
    parser = DefusedXMLParser(target=reader, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    return lambda text, is_last: parser.close() if is_last else parser.feed(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlReports:
    """Options of the family; `order` says which outcome element wins, `only_in_suites` that a case's parent matters."""

    spans: Spans
    order: tuple[str, str, str]
    naming: Naming
    only_in_suites: bool = False

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses of every test case in well-formed documents; the last of equal names wins."""
        results = Observed()
        for start, end in self.spans(text):
            try:
                cases = plain_cases(text, start, end, self)
                if cases is None:
                    results.take(expat_results(text, start, end, self))
                else:
                    results.observe(cases)
            except MalformedError:
                continue
        return results

    def status_of(self, markers: Collection[str]) -> str:
        """The status of a test case by the tags of its elements."""
        return next((STATUS_OF[marker] for marker in self.order if marker in markers), PASSED)


def expat_results(text: str, start: int, end: int, options: XmlReports) -> dict[str, str]:
    """Names and statuses of one document's cases; raises `MalformedError` where it is not well-formed."""
    cases = _Cases(options)
    feed(Target(cases.start, cases.end), text, start, end)
    return cases.results


class _Cases:
    """A parser target that keeps the test cases of one document.

    Of equal names the last in the order of their places wins: the place of the suite, if that matters, then the case's
    own. Only a case inside another one's suite or content is entered before its turn, so only of those places are kept.
    """

    def __init__(self, options: XmlReports) -> None:
        self.results = Observed()
        self._options = options
        self._tags: list[str] = []
        self._suites: list[int] = []
        self._open: list[_OpenCase] = []
        self._children_at = -1
        self._elements = 0
        self._place_of_nested: dict[str, _Place] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        depth = len(self._tags)
        self._elements += 1
        if tag == "testcase":
            if depth and ((depth > 1 and self._tags[-1] == "testsuite") or not self._options.only_in_suites):
                place = (self._suites[-1] if self._suites else 0, self._elements)
                self._open.append((depth, attributes, [], place))
                self._children_at = depth + 1
        elif depth == self._children_at:
            self._open[-1][2].append(tag)
        if tag == "testsuite" and depth and self._options.only_in_suites:
            self._suites.append(self._elements)
        self._tags.append(tag)

    def end(self, tag: str) -> None:
        self._tags.pop()
        if tag == "testcase" and self._children_at == len(self._tags) + 1:
            _, attributes, markers, place = self._open.pop()
            self._children_at = self._open[-1][0] + 1 if self._open else -1
            name = self._options.naming(attributes.get("name"), attributes.get("classname"))
            self._enter(name, self._options.status_of(markers) if markers else PASSED, place)
        elif tag == "testsuite" and self._suites and self._tags:
            self._suites.pop()

    def _enter(self, name: str, status: str, place: _Place) -> None:
        if self._place_of_nested.get(name, place) <= place:
            self.results[name] = status
            if self._open or len(self._suites) > 1:
                self._place_of_nested[name] = place


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
    for mark in chain(filter(None, [_BLOCK_MARK.match(text)]), _NEXT_BLOCK_MARK.finditer(text)):
        if mark["declared"]:
            start = mark.start("line")
        elif start >= 0:
            yield start, mark.end()
            start = -1


def class_and_name(name: str | None, classname: str | None) -> str:
    """`class::name`; a missing attribute reads `None`."""
    return f"{classname}::{name}"


def name_and_class(name: str | None, classname: str | None) -> str:
    """`name (class)`, or the name alone, which may be empty."""
    return f"{name} ({classname})" if name and classname else name or ""


def class_if_any_and_name(name: str | None, classname: str | None) -> str:
    """`class::name`, or the name alone."""
    return f"{classname}::{name or ''}" if classname else name or ""
