"""Family: trees of groups and tests, where a test's name is made of the groups it stands in.

Depth comes from indentation, from braces, or from the last heading; each reader keeps the quirks of its dialect, such as
groups that are never left or output lines that are taken for groups.
"""

import re

from assay.domain.logs.alternatives import Alternatives, over_lines
from assay.domain.logs.durations import without_js_duration, without_worded_paren
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, blocks_of_lines, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

MAX_DEPTH = 1000
"""Deeper groups are refused: the names alone would be larger than the log by that factor."""

_JEST = " ./node_modules/.bin/jest "
_JEST_ENDS = ("Test Suites", "  ● ")
_JEST_MARKS = {"✓": PASSED, "✕": FAILED}
_KARMA_MARKS = {"✔": PASSED, "✖": FAILED}
_TIGHT = re.compile(r"\(\d++ms\)")
_TAP = Alternatives([re.compile(r"(ok|not ok)\s++\d++\s++-\s++(.+)"), re.compile(r"}++$")])
_MARKER = re.compile(r"(?<!\s)\s++\*\*\*\s++([A-Z]++)\s++\*\*\*$")
_SCALA_WORDS = dict.fromkeys(("SKIPPED", "IGNORED", "CANCELED", "CANCELLED", "PENDING"), SKIPPED) | {
    "ERROR": ERROR,
    "ABORTED": ERROR,
}
_SCALA_LINE = re.compile("\n" + over_lines(re.compile(r"\[info\](?: -\s++(.+)|\s(?!-)\s*+(.+))")))
_NOT_HEADING = re.compile(
    "Run completed|Total number|Suites:|Tests:|All tests|compiling|loading|welcome to|set current",
)


def jest_runs(text: str) -> dict[str, str]:
    """Runs of Jest's command in a log: groups by indentation, carried from run to run, joined by ` - `."""
    results = Observed()
    enter = results.enter
    groups: list[tuple[int, str]] = []
    prefix, is_run = " - ", False
    for log_line in lines_of(text, Split.LF, clean=_with_runs_on_lines):
        is_run = is_run or log_line.startswith(_JEST)
        if not is_run:
            continue
        line = log_line.removeprefix(_JEST)
        body = line.lstrip()
        indent = len(line) - len(body)
        if body[:1] in _JEST_MARKS:
            if not indent or not body[1:2].isspace():
                raise UnreadableError(f"a mark stands where the dialect expects none: {line[:80]!r}")
            name = prefix + body[2:]
            name = (_without_tight_ms(name, line) if "ms)" in line else name).strip()
            status = _JEST_MARKS[body[0]]
            if enter(name, status) is not status:
                results.again(name, status, overwrites=True)
        elif line.startswith(_JEST_ENDS):
            is_run = False
        elif indent:
            while groups and groups[-1][0] >= indent:
                groups.pop()
            groups.append((indent, body.rstrip()))
            prefix = " - ".join([*(group for _, group in groups), ""])
    return results


def _with_runs_on_lines(block: str) -> str:
    return block.replace(_JEST, "\n" + _JEST)


def _without_tight_ms(name: str, line: str) -> str:
    if not _TIGHT.search(line):
        return name
    opening = name.rfind("(")
    if opening < 0 or not _TIGHT.fullmatch(name, opening):
        raise UnreadableError(f"a duration does not end its line: {line[:80]!r}")
    return name[:opening]


def karma_tree(text: str) -> dict[str, str]:
    """Karma's report after a browser has started: a deeper line opens a group, a shallower one only closes one."""
    results = Observed()
    enter, marks = results.enter, _KARMA_MARKS.get
    groups: list[str] = []
    prefix: str | None = ""
    started, level = False, -1
    for line in lines_of(text, Split.LF):
        if line.startswith("SUMMARY:"):
            break
        if "Starting browser" in line:
            started = True
            continue
        if not started:
            continue
        body = line.lstrip()
        status = marks(body[:1])
        if status and body[1:2].isspace():
            if prefix is None:
                prefix = " > ".join([*groups, ""])
            name = prefix + body[2:]
            if enter(name, status) is not status:
                results.again(name, status, overwrites=True)
            continue
        indent = len(line) - len(body)
        if indent > 1 and indent != level:
            if indent > level:
                groups.append(body)
            elif groups:
                groups.pop()
            else:
                raise UnreadableError(f"a line is indented less than any group: {line[:80]!r}")
            prefix, level = None, indent
    return results


def tap_braces(text: str) -> dict[str, str]:
    """Node-tap's lines: a result that ends in `{` opens a group, lines of closing braces leave them."""
    results = Observed()
    prefixes = [""]
    for lines in blocks_of_lines(text, Split.UNIVERSAL):
        for found in _TAP.found_in(lines):
            outcome, body = found.group(1, 2)
            if body is None:
                braces = len(found[0]) - len("\n")
                del prefixes[max(len(prefixes) - braces, 1) :]
                continue
            description = _up_to_directive(body.removesuffix("{").rstrip())
            name = without_js_duration(description)
            if not name:
                continue
            entry = prefixes[-1] + name
            _write_tap(results, entry, outcome, description)
            if body.endswith("{"):
                prefixes.append(f"{entry} :: ")
                if len(prefixes) > MAX_DEPTH + 1:
                    raise UnreadableError(f"groups are nested more than {MAX_DEPTH} deep")
    return results


def _up_to_directive(rest: str) -> str:
    """What stands before the first blanks that a number sign follows, and is not nothing."""
    at = rest.find("#", 1)
    while at > 0 and not rest[at - 1].isspace():
        at = rest.find("#", at + 1)
    return rest[:at].rstrip() if at > 0 else rest


def _write_tap(results: Observed, name: str, outcome: str, description: str) -> None:
    if "#" in description and ("# skip" in (lower := description.lower()) or "# todo" in lower):
        results[name] = SKIPPED
    elif outcome == "ok":
        results.setdefault(name, PASSED)
    else:
        results[name] = FAILED


def scala_headings(text: str) -> dict[str, str]:
    """ScalaTest under sbt: tests prefixed with the last line that was no test."""
    results = Observed()
    enter = results.enter
    prefix = ""
    for lines in blocks_of_lines(text, Split.UNIVERSAL):
        for test, heading in _SCALA_LINE.findall(lines):
            if test:
                name, marker = _scala_test(test)
                name, status = prefix + name, marker or PASSED
                if enter(name, status) is not status:
                    results.again(name, status, overwrites=marker is not None)
            elif not _NOT_HEADING.search(heading):
                prefix = f"{heading}: "
    return results


def _scala_test(body: str) -> tuple[str, str | None]:
    """The test's name, and what a marker at the end says of it."""
    found = _MARKER.search(body, 1) if body.endswith("***") else None
    if found is None:
        return without_worded_paren(body), None
    return without_worded_paren(body[: found.start()]), _SCALA_WORDS.get(found[1], found[1])
