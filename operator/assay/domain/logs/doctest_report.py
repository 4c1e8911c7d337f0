"""Family: the XML report of C++ doctest, in which subcases are the tests and expressions decide them."""

from dataclasses import dataclass
from operator import itemgetter

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import MalformedError
from assay.domain.logs.statuses import FAILED, PASSED
from assay.domain.logs.xml_reports import Target, feed, island

_MAX_NESTED_CASES = 10
"""A subcase is a test of every case around it; doctest itself nests none."""


_Subcase = tuple[int, str, list[bool]]
"""The number of the case, the name, and whether it passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctestReport:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """`case > subcase` -> status in the first `<doctest>` island; raises `UnreadableError` where it is broken."""
        report = island(text, "doctest")
        if report is None:
            return {}
        found: list[_Subcase] = []
        try:
            feed(_subcases(found), text, *report)
        except MalformedError as error:
            raise UnreadableError(f"the doctest report is not well-formed: {error}") from error
        found.sort(key=itemgetter(0))
        return {name: PASSED if passed else FAILED for _, name, (passed,) in found}


def _subcases(found: list[_Subcase]) -> Target:
    """Keeps each subcase for every test case around it."""
    seen = 0
    cases: list[tuple[int, str]] = []
    subcases: list[list[bool]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal seen
        if tag == "TestCase":
            if len(cases) == _MAX_NESTED_CASES:
                raise UnreadableError(f"more than {_MAX_NESTED_CASES} test cases stand in each other")
            seen += 1
            cases.append((seen, str(attributes.get("name"))))
        elif tag == "SubCase" and cases:
            passed = [True]
            subcases.append(passed)
            subcase = attributes.get("name")
            for number, case in cases:
                found.append((number, f"{case} > {subcase}", passed))
        elif tag == "Expression" and subcases and attributes.get("success") != "true":
            subcases[-1][0] = False

    def end(tag: str) -> None:
        if tag == "TestCase":
            cases.pop()
        elif tag == "SubCase" and subcases:
            passed = subcases.pop()
            if subcases and not passed[0]:
                subcases[-1][0] = False

    return Target(start, end)
