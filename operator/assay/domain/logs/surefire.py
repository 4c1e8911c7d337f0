"""Family: Maven's and Surefire's run logs: announced classes, lines of counts, build results.

A line announces a subject (`Running X`, `-Dtest=X`) and a later one tells what became of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, blocks, lines_of, lists_of_lines
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed, Results
from assay.domain.logs.tag_scan import TagScan

COUNTS = re.compile(r"Tests run:\s*+(\d++),\s*+Failures:\s*+(\d++),\s*+Errors:\s*+(\d++),\s*+Skipped:\s*+(\d++)")
_STRICT_COUNTS = re.compile(
    r"Tests run:\s++(\d++),\s++Failures:\s++(\d++),\s++Errors:\s++(\d++),\s++Skipped:\s++(\d++)"
)
_RUNNING = re.compile(r"(?:\[INFO\]\s++)?Running\s++([A-Za-z0-9_$.]++)$")
_RUNNING_ANYTHING = re.compile(r"Running\s++(.+)")
_ERROR_AT = re.compile(r"\[ERROR\]\s++([A-Za-z0-9_$.]+)\.([A-Za-z0-9_$]+?)\b")
_OPTION = "-Dtest="
_NO_NAME = "---NO TEST NAME FOUND YET---"


class Reading(StrEnum):
    """Which lines a dialect of the family reads."""

    BUILDS = "-Dtest= and BUILD lines"
    COUNTED_CLASSES = "Running and Tests run: lines, the class consumed by its counts"
    EVERYTHING = "Running, [ERROR] and Tests run: lines, then testcase tags, then builds, then announced classes"


def counts_in(found: re.Match[str]) -> tuple[int, int, int, int]:
    """Run, failures, errors, skipped of a line of counts."""
    try:
        run, failures, errors, skipped = map(int, found.groups())
    except ValueError as error:
        raise UnreadableError(f"a count is no number that can be read: {found[0][:80]!r}") from error
    return run, failures, errors, skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Surefire:
    """Options of the family."""

    reading: Reading

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses by the chosen reading."""
        if self.reading is Reading.BUILDS:
            return _builds(text)
        return _counted_classes(text) if self.reading is Reading.COUNTED_CLASSES else _everything(text)


def _builds(text: str) -> dict[str, str]:
    results = Observed()
    name = _NO_NAME
    for line in _lines_of_builds(text):
        if _OPTION in line:
            name = _selected(line) or name
        if line.endswith("BUILD SUCCESS"):
            results[name] = PASSED
        elif line.endswith("BUILD FAILURE"):
            results[name] = FAILED
    return results


def _lines_of_builds(text: str) -> Iterator[str]:
    for block in blocks(text):
        if "BUILD " in block or _OPTION in block:
            yield from [line.strip() for line in block.split("\n") if "BUILD " in line or _OPTION in line]


def _selected(line: str) -> str | None:
    """The token after the last `-Dtest=` that has one."""
    end = len(line)
    while (at := line.rfind(_OPTION, 0, end)) >= 0:
        start = at + len(_OPTION)
        if start < len(line) and not line[start].isspace():
            return line[start:].split(None, 1)[0]
        end = start - 1
    return None


def _counted_classes(text: str) -> dict[str, str]:
    results = Observed()
    pending: str | None = None
    for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
        if line.startswith("Running"):
            found = _RUNNING_ANYTHING.match(line)
            pending = found[1] if found else pending
        elif pending is not None and (found := _STRICT_COUNTS.match(line)):
            results[pending] = _class_status(found)
            pending = None
    return results


def _class_status(found: re.Match[str]) -> str:
    _, failures, errors, skipped = counts_in(found)
    if failures or errors:
        return FAILED
    return SKIPPED if skipped else PASSED


def _everything(text: str) -> dict[str, str]:
    results, announced = _classes_and_methods(text)
    if "<testcase" in text:
        _fill(results, TagScan().results_of(text))
    _fill(results, _builds(text))
    return results or dict.fromkeys(announced, PASSED)


def _fill(results: dict[str, str], others: Results) -> None:
    for name, status in others.items():
        results.setdefault(name, status)


def _lines_of_classes(text: str) -> Iterator[str]:
    for lines in lists_of_lines(text, Split.UNIVERSAL):
        yield from [line.strip() for line in lines if "[ERROR]" in line or "Running" in line or "Tests run:" in line]


def _classes_and_methods(text: str) -> tuple[dict[str, str], dict[str, None]]:
    results = Observed()
    announced: dict[str, None] = {}
    current: str | None = None
    for line in _lines_of_classes(text):
        if "Running" in line and (found := _RUNNING.match(line)):
            current = found[1]
            announced[current] = None
        elif line.startswith("[ERROR]") and (found := _ERROR_AT.match(line)):
            is_error = "Exception" in line and "AssertionError" not in line
            results[f"{found[1]}.{found[2]}"] = ERROR if is_error else FAILED
            results.setdefault(found[1], FAILED)
        elif "Tests run:" in line and (found := COUNTS.search(line)):
            subject = line.rpartition(" in ")[2].strip().rstrip(".:;") if " in " in line else current
            if subject:
                results.setdefault(subject, _class_status(found))
            current = None
    return results, announced
