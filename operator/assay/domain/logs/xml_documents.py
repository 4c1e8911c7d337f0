"""Family: XML reports by their own rules, for tasks that choose them: JUnit's and .NET's TRX.

Unlike the published readers these refuse a broken report, since a report that a task asked for is all the evidence.
"""

import re
from collections.abc import Iterator

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import STATUS_OF, MalformedError
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed
from assay.domain.logs.xml_reports import Target, feed, island

_OPENING = re.compile(r"<(testsuites|testsuite)\b")
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
    results = Observed()
    for start, end in _reports(text):
        _read(_junit_cases(results), text, start, end)
    return results


def _junit_cases(results: Observed) -> Target:
    """Enters the outermost cases; the worst element in one, however deep, decides."""
    enter = results.enter
    case: dict[str, str] | None = None
    markers: set[str] = set()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal case, depth
        if case is not None:
            depth += 1
            if tag in STATUS_OF:
                markers.add(tag)
        elif tag == "testcase":
            case = attributes

    def end(_tag: str) -> None:
        nonlocal case, depth
        if depth:
            depth -= 1
        elif case is not None:
            classname, name = case.get("classname"), case.get("name")
            test = f"{classname}::{name}" if classname else name or ""
            status = next(status for tag, status in STATUS_OF.items() if tag in markers) if markers else PASSED
            if enter(test, status) is not status:
                results.again(test, status, overwrites=True)
            case = None
            markers.clear()

    return Target(start, end)


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
    results = Observed()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition("}")[2] == "UnitTestResult" and "testName" in attributes:
            results[attributes["testName"]] = _TRX_OUTCOMES.get(attributes.get("outcome", ""), ERROR)

    _read(Target(start), text, *report)
    return results
