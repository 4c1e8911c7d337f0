"""Family: attribution: some lines set a current subject, later ones tell what became of it.

Standard error follows standard output in the text, so its lines are blamed on whatever subject came last.
"""

import re

from assay.domain.logs.alternatives import BLANK
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, blocks_of_lines, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed, rank

_LEIN_LINE = re.compile(r"\n(?:lein test (.*+)|(FAIL|ERROR) in)")
_DUNE_HEADING = re.compile(rf"\n(?:Running\[(\d++)\]:{BLANK}++\((.*)\)|Output\[(\d++)\]:.*)(?=\n)")
_CHECKING = "* checking "
_CHECKED = re.compile(r"[A-Z]++$")
_CHECK_WORDS = (
    dict.fromkeys(("OK", "NOTE", "NOTES"), PASSED)
    | dict.fromkeys(("WARNING", "WARNINGS", "FAIL", "FAILED"), FAILED)
    | {"ERROR": ERROR, "ERRORS": ERROR, "SKIPPED": SKIPPED}
)


def leiningen(text: str) -> dict[str, str]:
    """Leiningen: every announced namespace passes unless FAIL or ERROR lines follow while it is the last one."""
    results = Observed()
    current: str | None = None
    for block in blocks_of_lines(text, Split.UNIVERSAL):
        for announced, trouble in _LEIN_LINE.findall(block):
            if announced:
                namespaces = _namespaces(announced)
                current = namespaces[-1] if namespaces else None
                for namespace in namespaces:
                    results.setdefault(namespace, PASSED)
            elif current is not None:
                results[current] = FAILED if trouble == "FAIL" else ERROR
    return results


def _namespaces(rest: str) -> list[str]:
    pieces = rest.split()
    if pieces[:1] != [":only"]:
        return pieces
    only = " ".join(pieces[1:]).split("/", 1)[0].strip()
    return [only] if only else []


def dune(text: str) -> dict[str, str]:
    """Dune's verbose display: executables, judged by any word of trouble in the output attributed to them."""
    results = Observed()
    executables: dict[str, str] = {}
    seen: dict[str, None] = {}
    current: str | None = None
    for block in blocks_of_lines(text, Split.UNIVERSAL):
        at = 0
        for heading in _DUNE_HEADING.finditer(block):
            if current is not None:
                _judge(current, block[at : heading.start()], seen, results)
            at = heading.end()
            run, command, output = heading.groups()
            if run:
                executables[run] = _executable(command) or f"run_{run}"
            current = executables.get(output)
        if current is not None:
            _judge(current, block[at:], seen, results)
    return dict.fromkeys(seen, PASSED) | results


def _executable(command: str) -> str:
    *_, last = command.split("&&")
    pieces = last.strip().removeprefix("exec ").strip().removeprefix("./").split(None, 1)
    return pieces[0].rpartition("/")[2] if pieces else ""


def _judge(executable: str, output: str, seen: dict[str, None], results: Observed) -> None:
    for line in filter(None, output.upper().split("\n")):
        seen[executable] = None
        status = _dune_status(line)
        if status:
            rank(results, executable, status)


def _dune_status(line: str) -> str | None:
    if "FAIL" in line or "ERROR" in line or "EXCEPTION" in line or "CRASH" in line or "FATAL" in line:
        return FAILED
    if "SKIP" in line:
        return SKIPPED
    return PASSED if line == "OK" else None


def r_checks(text: str) -> dict[str, str]:
    """`R CMD check`: a check whose outcome is on a later line swallows everything until then."""
    results = Observed()
    pending: str | None = None
    for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
        if not line:
            continue
        if pending is not None:
            status = _check_status(line)
            if status:
                results[pending] = status
                pending = None
        elif line.startswith(_CHECKING):
            head, dots, word = line.rpartition(" ... ")
            if dots and len(head) > len(_CHECKING) and _CHECKED.match(word):
                results[head[len(_CHECKING) :].strip()] = _CHECK_WORDS.get(word, PASSED)
            elif line.endswith(" ...") and len(line) > len(_CHECKING) + 4:
                pending = line[len(_CHECKING) : -4].strip()
    if pending is not None:
        results.setdefault(pending, PASSED)
    return results


def _check_status(line: str) -> str | None:
    pieces = line.strip(".:!").split(None, 1)
    if not pieces:
        raise UnreadableError(f"a line of punctuation where a check's outcome is due: {line[:80]!r}")
    return _CHECK_WORDS.get(pieces[0].upper())


_R_STARTS = ("── Failed tests ──", "== Failed tests ==")
_R_ENDS = ("[ FAIL", "══ Results ══")
_R_FAILURE = re.compile(r"(Failure|Error)\s++\([^)]++\):\s++(.+)")


def testthat_failures(text: str) -> list[tuple[str, str]]:
    """Names (durations and all) and statuses of testthat's section of failed tests."""
    found: list[tuple[str, str]] = []
    inside = False
    if not any(start in text for start in _R_STARTS):
        return found
    for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
        if not inside:
            inside = line.startswith(_R_STARTS)
        elif line.startswith(_R_ENDS):
            break
        elif failure := _R_FAILURE.match(line):
            found.append((failure[2], FAILED if failure[1] == "Failure" else ERROR))
    return found
