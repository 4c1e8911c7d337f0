"""Family: hspec's tree, read as an outline in which every leaf line is a test.

The tree is the part of the log between a heading and the list of failures; the three are found in a first pass.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from assay.domain.logs.lines import Split, lines_of
from assay.domain.logs.statuses import FAILED, PASSED, SKIPPED, Observed

_GOLDEN = "Golden and Actual output didn't change"
_CHATTER = (
    "Downloading",
    "Building",
    "Installing",
    "Completed",
    "Starting",
    "Preprocessing",
    "Configuring",
    "Linking",
    "Resolving dependencies",
    "Build profile",
    "In order, the following will be built",
    "Error:",
    "Test suite ",
    "Running ",
)
_AFTER_FAILURES = ("To rerun use:", "Randomized with seed", "Finished in ", "Test suite ")
_FAILED_HINT = re.compile(r"(?<!\s)\s++FAILED\s*+\[\d++\]$")
_SKIPPED_HINT = re.compile(r"(?<!\s)\s++(?:PENDING|SKIPPED)\b", re.IGNORECASE)
_HEADING = re.compile(r"\s*+\d++\)\s++(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hspec:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """`group.test` -> status of every leaf of the section, then the numbered failures."""
        start, failures = _section(text)
        results = Observed()
        _read_tree(islice(_lines(text), start, failures), results)
        if failures is not None:
            results.update(dict.fromkeys(_failure_names(islice(_lines(text), failures + 1, None)), FAILED))
        return results


def _lines(text: str) -> Iterator[str]:
    return lines_of(text, Split.UNIVERSAL)


def _section(text: str) -> tuple[int, int | None]:
    """Index of the tree's first line, and of the line `Failures:`, which ends it."""
    running: int | None = None
    heading: int | None = None
    failures: int | None = None
    for index, line in enumerate(_lines(text)):
        if running is None and line.startswith("Test suite ") and ": RUNNING..." in line:
            running = index + 1
        if heading is None and "." in line and not line.startswith(" ") and not any(part in line for part in _CHATTER):
            heading = index
        if failures is None and "Failures:" in line and line.strip() == "Failures:":
            failures = index
    start = running if running is not None else heading or 0
    return (start if failures is None else min(start, failures)), failures


def _read_tree(lines: Iterator[str], results: dict[str, str]) -> None:
    groups: list[tuple[int, str]] = []
    waiting: tuple[int, str] | None = None
    for line in lines:
        text = line.strip()
        if not text or text == _GOLDEN:
            continue
        indent = len(line) - len(line.lstrip(" "))
        if waiting is not None and indent <= waiting[0]:
            results[".".join(group for _, group in groups)] = waiting[1]
        text, status = _text_and_status(text)
        level = indent // 2
        while groups and groups[-1][0] >= level:
            groups.pop()
        groups.append((level, text))
        waiting = (indent, status)
    if waiting is not None:
        results[".".join(group for _, group in groups)] = waiting[1]


def _text_and_status(text: str) -> tuple[str, str]:
    if text.endswith("]"):
        failed = _FAILED_HINT.search(text)
        if failed:
            return text[: failed.start()], FAILED
    skipped = _SKIPPED_HINT.search(text) if "SKIPPED" in (upper := text.upper()) or "PENDING" in upper else None
    return (text[: skipped.start()], SKIPPED) if skipped else (text, PASSED)


def _failure_names(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.strip().startswith(_AFTER_FAILURES):
            return
        found = _HEADING.match(line)
        if found:
            yield ".".join(part.strip() for part in found[1].split(","))
