"""Family: the Test Anything Protocol, versions 12 to 14, by its own rules rather than a published parser's.

Subtests are told by indentation under `# Subtest: name`; directives are honoured: a skipped test is SKIPPED, a failing
to-do is XFAIL. `Bail out!` adds an ERROR under its own text.
"""

import re

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, XFAIL, Observed

_RESULT = re.compile(r"(ok|not ok)\b(?:\s++(\d++))?(?:\s*+- |\s++|$)(.*)")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*+(skip|todo)\w*", re.IGNORECASE)
_SUBTEST = re.compile(r"# Subtest: (.+)")
_MAX_DEPTH = 100


def protocol(text: str) -> dict[str, str]:
    """Descriptions, joined by ` > ` below subtests, or the number where there is none -> status."""
    results = Observed()
    groups: list[tuple[int, str]] = []
    for line in lines_of(text, Split.UNIVERSAL, Trim.RIGHT):
        body = line.lstrip()
        indent = len(line) - len(body)
        if body.startswith("Bail out!"):
            results[body] = ERROR
        elif body.startswith(("ok", "not ok")) and (found := _RESULT.match(body)):
            groups = [group for group in groups if group[0] < indent]
            name, status = _name_and_status(found)
            results[" > ".join([*(group for _, group in groups), name])] = status
        elif body.startswith("# Subtest: ") and (found := _SUBTEST.match(body)):
            groups = [group for group in groups if group[0] < indent]
            groups.append((indent, found[1]))
            if len(groups) > _MAX_DEPTH:
                raise UnreadableError(f"subtests are nested more than {_MAX_DEPTH} deep")
    return results


def _name_and_status(found: re.Match[str]) -> tuple[str, str]:
    outcome, number, description = found.groups()
    status = PASSED if outcome == "ok" else FAILED
    description = description.removesuffix("{").rstrip()
    directive = _DIRECTIVE.search(description) if "#" in description else None
    if directive:
        description = description[: directive.start()]
        if directive[1].lower() == "skip":
            status = SKIPPED
        elif status == FAILED:
            status = XFAIL
    elif " # " in description:
        description = description.split(" # ", 1)[0]
    return description.strip() or number or "", status
