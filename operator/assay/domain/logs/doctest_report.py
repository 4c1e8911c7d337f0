"""Family: the XML report of C++ doctest, in which subcases are the tests and expressions decide them."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.plain_reports import MalformedError
from assay.domain.logs.statuses import FAILED, PASSED
from assay.domain.logs.xml_reports import feed, island


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
        return {str(name): PASSED if passed else FAILED for name, passed in target.found}


class _Subcases:
    """A parser target that keeps the subcases in the order in which they open."""

    def __init__(self) -> None:
        self.found: list[list[str | bool]] = []
        self._depth = 0
        self._cases: list[str] = []
        self._open: list[int] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "TestCase" and self._depth:
            self._cases.append(str(attributes.get("name")))
        elif tag == "SubCase" and self._cases:
            self._open.append(len(self.found))
            self.found.append([f"{self._cases[-1]} > {attributes.get('name')}", True])
        elif tag == "Expression" and self._open and attributes.get("success") != "true":
            self.found[self._open[-1]][1] = False
        self._depth += 1

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "TestCase" and self._cases:
            self._cases.pop()
        elif tag == "SubCase" and self._open:
            passed = self.found[self._open.pop()][1]
            if self._open and not passed:
                self.found[self._open[-1]][1] = False
