"""Family: the XML report of C++ doctest, in which subcases are the tests and expressions decide them."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import MalformedError
from assay.domain.logs.statuses import FAILED, PASSED
from assay.domain.logs.xml_reports import feed, island

_MAX_NESTED_CASES = 10
"""A subcase is a test of every case around it; doctest itself nests none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctestReport:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """`case > subcase` -> status in the first `<doctest>` island; raises `UnreadableError` where it is broken."""
        report = island(text, "doctest")
        if report is None:
            return {}
        target = _Subcases()
        try:
            feed(target, text, *report)
        except MalformedError as error:
            raise UnreadableError(f"the doctest report is not well-formed: {error}") from error
        found = sorted(target.found, key=itemgetter(0)) if target.is_nested else target.found
        return {name: PASSED if passed else FAILED for _, name, (passed,) in found}


class _Subcases:
    """A parser target that keeps each subcase for every test case around it: the case's number, the name, the outcome."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, list[bool]]] = []
        self.is_nested = False
        self._depth = 0
        self._cases_seen = 0
        self._cases: list[tuple[int, str]] = []
        self._open: list[list[bool]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "TestCase" and self._depth:
            if len(self._cases) == _MAX_NESTED_CASES:
                raise UnreadableError(f"more than {_MAX_NESTED_CASES} test cases stand in each other")
            self.is_nested |= bool(self._cases)
            self._cases_seen += 1
            self._cases.append((self._cases_seen, str(attributes.get("name"))))
        elif tag == "SubCase" and self._cases:
            passed = [True]
            self._open.append(passed)
            for number, case in self._cases:
                self.found.append((number, f"{case} > {attributes.get('name')}", passed))
        elif tag == "Expression" and self._open and attributes.get("success") != "true":
            self._open[-1][0] = False
        self._depth += 1

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "TestCase" and self._cases:
            self._cases.pop()
        elif tag == "SubCase" and self._open:
            closed = self._open.pop()
            if self._open and not closed[0]:
                self._open[-1][0] = False
