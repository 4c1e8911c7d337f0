"""Why a verdict is what it is: the runs, the tests that decided, and where in the logs they speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_TESTS = 20
CONTEXT_LINES = 3
ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestHistory:
    """One test: why it is shown, and its status word in each run that parsed, ``absent`` where it was not seen."""

    name: str
    why: str
    statuses: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A test whose status differs between two runs."""

    name: str
    left: str
    right: str


def deciding_tests(
    report: Mapping[str, Any], results: Mapping[str, Mapping[str, str]], *, most: int = MAX_TESTS
) -> tuple[TestHistory, ...]:
    """Return the tests that a verdict turns on: flaky ones, then excluded ones, then targets.

    ``report`` is the stored report document, ``results`` a run's name -> test name -> status word.
    """
    shown: dict[str, str] = {}
    for kind in ("flaky", "excluded"):
        for name, evidence in sorted((report.get(kind) or {}).items()):
            shown.setdefault(name, f"{kind}: {evidence}")
    for name in report.get("failToPass") or ():
        shown.setdefault(name, "target")
    return tuple(
        TestHistory(name=name, why=why, statuses={run: words.get(name, ABSENT) for run, words in results.items()})
        for name, why in list(shown.items())[:most]
    )


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the tests whose status differs between two runs, by name."""
    return tuple(
        Difference(name=name, left=left.get(name, ABSENT), right=right.get(name, ABSENT))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    )


def excerpt(log: str, name: str, *, context: int = CONTEXT_LINES) -> Sequence[str]:
    """Return the lines around the last place where a log names a test; none when it does not.

    A parametrised or nested name is looked for whole first, then by its last part.
    """
    lines = log.splitlines()
    for wanted in (name, name.rpartition("::")[2].partition("[")[0], name.rpartition("/")[2]):
        places = [number for number, line in enumerate(lines) if wanted and wanted in line]
        if places:
            return lines[max(0, places[-1] - context) : places[-1] + context + 1]
    return []
