"""The status words of results and how two observations of one name combine.

A status is a plain `str`: some published parsers copy a word out of the log, so a status may be
none of these constants.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

PASSED: Final = "PASSED"
FAILED: Final = "FAILED"
SKIPPED: Final = "SKIPPED"
ERROR: Final = "ERROR"
XFAIL: Final = "XFAIL"

Results = Mapping[str, str]
"""Test name -> status word; the order is that of the first observation and carries no meaning."""

FAILURES: Final = frozenset({FAILED, ERROR})
_CONTRADICTIONS: Final = frozenset(pair for failure in FAILURES for pair in ((PASSED, failure), (failure, PASSED)))


class Observed(dict[str, str]):
    """Results that remember which names were seen to pass and to fail in one log, whichever observation won."""

    def __init__(self) -> None:
        super().__init__()
        self.contradicted: set[str] = set()
        self.enter = super().setdefault
        """Enters a first observation and returns the status that is known then: all that most names need, and fast."""
        self._overwrite = super().__setitem__

    def __setitem__(self, name: str, status: str) -> None:
        if self.enter(name, status) is not status:
            self.again(name, status, overwrites=True)

    def setdefault(self, name: str, status: str) -> str:
        """Enter the first observation of a name; another one is noted where it contradicts."""
        known = self.enter(name, status)
        if known is not status:
            self.again(name, status, overwrites=False)
        return known

    def take(self, others: Mapping[str, str]) -> None:
        """Enter the observations of another part of the log; they overwrite, and what contradicts is noted."""
        if isinstance(others, Observed):
            self.contradicted |= others.contradicted
        if not self:
            self.update(others)
            return
        self.observe(others.items())

    def observe(self, observations: Iterable[tuple[str, str]]) -> None:
        """Enter names and statuses in order; the last of equal names wins."""
        enter = self.enter
        for name, status in observations:
            if enter(name, status) is not status:
                self.again(name, status, overwrites=True)

    def again(self, name: str, status: str, *, overwrites: bool) -> None:
        """Note a further observation of a known name, and let it win if it overwrites."""
        if (self[name], status) in _CONTRADICTIONS:
            self.contradicted.add(name)
        if overwrites:
            self._overwrite(name, status)


Merge = Callable[[dict[str, str], str, str], None]
"""Enters one observation (name, status) into results."""

_RANK: Final = {PASSED: 0, SKIPPED: 1, FAILED: 2, ERROR: 3}
_SEVERITY: Final = {PASSED: 0, SKIPPED: 0, FAILED: 1, ERROR: 2}


def put(results: dict[str, str], name: str, status: str) -> None:
    """Let the last observation win."""
    results[name] = status


def keep(results: dict[str, str], name: str, status: str) -> None:
    """Let the first observation win."""
    results.setdefault(name, status)


def rank(results: dict[str, str], name: str, status: str) -> None:
    """Write what ranks at least as high: PASSED < SKIPPED < FAILED < ERROR."""
    known = results.get(name)
    if known is None or _RANK[status] >= _RANK[known]:
        results[name] = status


def severity(results: dict[str, str], name: str, status: str) -> None:
    """Write only what is strictly worse: PASSED = SKIPPED < FAILED < ERROR."""
    known = results.get(name)
    if known is None or _SEVERITY[status] > _SEVERITY[known]:
        results[name] = status


def put_unless_passed(results: dict[str, str], name: str, status: str) -> None:
    """Let a pass stand only where nothing is known; everything else overwrites."""
    if status == PASSED:
        results.setdefault(name, status)
    else:
        results[name] = status


MERGES: Final = (put, keep, rank, severity, put_unless_passed)
"""The merges that enter a name's first observation as it is, and change nothing on the same observation again."""
