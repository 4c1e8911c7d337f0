"""Family: `name ... status` lines of unittest-like runners, with memory and second looks at the text.

These three readers follow quirks of single projects: Django's tests that print into their own status line, SymPy's
banners of failed tests, and build drivers that judge a line by any word in it.
"""

import re
from collections.abc import Iterator

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, lines_of, lists_of_lines, trimmed
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_OK_ENDS = (" ... ok", " ... OK", " ...  OK")
_MIGRATION = "Applying sites.0002_alter_domain_unique...test_no_migrations"
_VERSION = "--version is equivalent to version"
_INSTALLED = "Testing against Django installed in "
_SILENCED = re.compile(r" silenced\)\.\nok$", re.MULTILINE)
_SERVER_ERROR = "Internal Server Error: /"
_OK_LINE = re.compile(r"\nok$", re.MULTILINE)
_CHECKED = "System check identified no issues (0 silenced)"
_DOTS = re.compile(r"\s\.\.\.\s")
_GROUP = re.compile(
    r"\sran\s++(?P<count>\d++)\s++tests\s++in\s++[\d.]++\s++(?:msec|sec)\s++(?P<tail>.+)$", re.IGNORECASE
)
_COUNTER = re.compile(r"\[[0-9]++/[0-9]++\]\s*+")
_WORD = re.compile(r"\w++$")
_FAILED = re.compile(r"\bfailed\b", re.IGNORECASE)
_VERDICTS = (
    ("skipped", re.compile(r"\bskipped\b").search, SKIPPED),
    ("fail", re.compile(r"\bfail(?:ed|ure)?\b").search, FAILED),
    ("ok", re.compile(r"\bok\b").search, PASSED),
    ("passed", re.compile(r"\bpassed\b").search, PASSED),
)
"""What a line must hold, the search for words from there, and what they say, in order of preference."""


def django(text: str) -> dict[str, str]:
    """Django's test runner; a line that begins with `ok` passes the test last seen in progress."""
    results = Observed()
    previous: str | None = None
    for line in lines_of(text, Split.LF, Trim.BOTH):
        if _VERSION in line:
            results[_VERSION] = PASSED
        if " ..." in line:
            if " ... " in line:
                previous = line.split(" ... ", 1)[0]
            _django_progress(line, results)
        if line.startswith(("FAIL:", "ERROR:")):
            tokens = line.split(None, 2)
            if len(tokens) < 2:
                raise UnreadableError(f"a header names no test: {line[:80]!r}")
            results[tokens[1]] = FAILED if line.startswith("FAIL:") else ERROR
        elif previous is not None and line.startswith("ok"):
            results[previous] = PASSED
    results.update(dict.fromkeys(_interrupted(text), PASSED))
    return results


def _django_progress(line: str, results: dict[str, str]) -> None:
    if line.endswith(_OK_ENDS):
        end = next(end for end in _OK_ENDS if line.endswith(end))
        line = line.split("...", 1)[1].strip() if line.startswith(_MIGRATION) else line
        results[line.removesuffix(end)] = PASSED
    if " ... skipped" in line:
        results[line.split(" ... skipped", 1)[0]] = SKIPPED
    if line.endswith(" ... FAIL"):
        results[line.split(" ... FAIL", 1)[0]] = FAILED
    if line.endswith(" ... ERROR"):
        results[line.split(" ... ERROR", 1)[0]] = ERROR


def _interrupted(text: str) -> Iterator[str]:
    """Tests whose status line the program under test has broken up in one of three known ways."""
    for message, verdict in ((_INSTALLED, _installed), (_SERVER_ERROR, _server_error), (_CHECKED, _checked)):
        last_pass = seen = 0
        for line, dots, after in _interruptions(text, message):
            if after > seen and line >= last_pass:
                is_passed, seen = verdict(text, after)
                if is_passed:
                    yield text[line:dots]
                    last_pass = seen


def _interruptions(text: str, message: str) -> Iterator[tuple[int, int, int]]:
    """Where a line begins, where ` ... ` ends the name on it, and where the message behind that ends."""
    line = searched = at = 0
    while (found := text.find(message, at)) >= 0:
        at = found + len(message)
        dots = found - len(" ... ")
        if dots >= 0 and _DOTS.match(text, dots):
            line = text.rfind("\n", searched, dots) + 1 or line
            searched = dots
            yield line, dots, at


def _installed(text: str, after: int) -> tuple[bool, int]:
    """Whether a message that ends there is followed by a pass, and up to where that settles the matter."""
    closing = _SILENCED.search(text, after)
    return (True, closing.end()) if closing else (False, len(text))


def _server_error(text: str, after: int) -> tuple[bool, int]:
    """As `_installed`."""
    end = text.find("\n", after)
    if end < 0:
        return False, len(text)
    ok = _OK_LINE.match(text, end) if end > after and text[end - 1] == "/" else None
    return (True, ok.end()) if ok else (False, end)


def _checked(text: str, after: int) -> tuple[bool, int]:
    """As `_installed`."""
    ok = _OK_LINE.match(text, after)
    return (True, ok.end()) if ok else (False, after)


def sympy(text: str) -> dict[str, str]:
    """SymPy's runner: `test_x ok`, and banners that name a file and a failed test."""
    banners: dict[str, str] = {}
    results = Observed()
    for line in lines_of(text, Split.LF):
        if ".py:" in line:
            title = line[line.find(" ") + 1 : max(line.rfind(" "), 0)]
            if ".py:" in title:
                banners[title] = FAILED
        stripped = line.strip()
        if stripped.startswith("test_"):
            _sympy_line(stripped, results)
    return banners | results


def _sympy_line(line: str, results: dict[str, str]) -> None:
    if line.endswith(("[OK]", "[FAIL]")):
        line = line[: line.rfind("[")].strip()
    for end, status in ((" E", ERROR), (" F", FAILED), (" ok", PASSED)):
        if line.endswith(end):
            results[line.split(None, 1)[0]] = status


def judged_lines(text: str) -> dict[str, str]:
    """Lines of build drivers: group summaries, `name... word`, or any line that holds a word of success or failure."""
    results = Observed()
    enter, again = results.enter, results.again
    for block in lists_of_lines(text, Split.UNIVERSAL):
        lines = trimmed(block, Trim.BOTH)
        for line, lower in zip(lines, "\n".join(lines).lower().split("\n"), strict=True):
            name, status = line, _judgement(lower)
            if "ran" in lower and "tests" in lower and (group := _GROUP.search(line)):
                name = f"{line[: group.start()].rstrip()} ran {group['count']} tests {group['tail']}"
                status = FAILED if _FAILED.search(group["tail"]) else PASSED
            elif "..." in line:
                head, _, word = line.rpartition("...")
                if (last := word.lstrip()).isalnum() or _WORD.match(last):
                    name, status = _without_counter(head).strip(), status or ERROR
            if status and enter(name, status) is not status:
                again(name, status, overwrites=True)
    return results


def _without_counter(head: str) -> str:
    counter = _COUNTER.match(head) if head.startswith("[") else None
    return head[counter.end() :] if counter else head


def _judgement(lower: str) -> str | None:
    for stem, search, status in _VERDICTS:
        if stem in lower and search(lower, lower.index(stem)):
            return status
    return None
