"""Family: XML reports by their own rules, for tasks that choose them: JUnit's by junitparser, .NET's TRX.

Unlike the published readers these refuse a broken report, since a report that a task asked for is all the evidence.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, TreeBuilder

from junitparser import Error, Failure, Skipped, TestCase

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import MalformedError
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed
from assay.domain.logs.xml_reports import Target, feed, island

_OPENING = re.compile(r"<(testsuites|testsuite)\b")
_JUNIT_OUTCOMES = ((Failure, FAILED), (Error, ERROR), (Skipped, SKIPPED))
_TRX_OUTCOMES = {
    "Passed": PASSED,
    "PassedButRunAborted": PASSED,
    "Failed": FAILED,
    "Timeout": FAILED,
    "Error": ERROR,
    "Aborted": ERROR,
    "NotExecuted": SKIPPED,
    "Inconclusive": SKIPPED,
    "NotRunnable": SKIPPED,
    "Pending": SKIPPED,
}


def junit(text: str) -> dict[str, str]:
    """`class::name` (or the name alone) -> status of every case in every report of the text."""
    target = _JunitCases()
    for start, end in _reports(text):
        _read(target, text, start, end)
    return target.results


class _JunitCases:
    """A parser target that builds one test case at a time and has junitparser read it."""

    def __init__(self) -> None:
        self.results = Observed()
        self._case = TreeBuilder()
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth or tag == "testcase":
            self._depth += 1
            self._case.start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._depth:
            self._depth -= 1
            self._case.end(tag)
            if not self._depth:
                self._read(self._case.close())
                self._case = TreeBuilder()

    def _read(self, element: Element) -> None:
        case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
        name = f"{case.classname}::{case.name}" if case.classname else str(case.name or "")
        kinds = {type(outcome) for outcome in case.result} if len(element) else set()
        self.results[name] = next((status for kind, status in _JUNIT_OUTCOMES if kind in kinds), PASSED)


def _reports(text: str) -> Iterator[tuple[int, int]]:
    """The outermost elements `testsuites` or `testsuite`."""
    at = 0
    while opening := _OPENING.search(text, at):
        at = _end_of(opening[1], text, opening.start())
        yield opening.start(), at


def _end_of(tag: str, text: str, start: int) -> int:
    depth = 0
    for mark in re.compile(rf"<{tag}\b[^<>]*+(?P<empty>(?<=/)>)?|</{tag}>").finditer(text, start):
        if mark["empty"] is None:
            depth += -1 if mark[0].startswith("</") else 1
        if depth == 0:
            return mark.end()
    raise UnreadableError(f"a report has no end: <{tag}>")


def _read(target: Target, text: str, start: int, end: int) -> None:
    try:
        feed(target, text, start, end)
    except MalformedError as error:
        raise UnreadableError(f"a report is not well-formed: {error}") from error


def trx(text: str) -> dict[str, str]:
    """`testName` -> status of every result in the .NET report that begins with `<TestRun`."""
    report = island(text, "TestRun")
    if report is None:
        return {}
    target = _TrxResults()
    _read(target, text, *report)
    return target.results


class _TrxResults:
    """A parser target that keeps the results."""

    def __init__(self) -> None:
        self.results = Observed()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag.rpartition("}")[2] == "UnitTestResult" and "testName" in attributes:
            self.results[attributes["testName"]] = _TRX_OUTCOMES.get(attributes.get("outcome", ""), ERROR)

    def end(self, tag: str) -> None:
        """Nothing depends on where a result ends."""
