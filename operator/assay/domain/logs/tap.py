"""Family: the Test Anything Protocol, versions 12 to 14, by its own rules rather than a published parser's.

Subtests are told by indentation under `# Subtest: name`; directives are honoured: a skipped test is SKIPPED, a failing
to-do is XFAIL. `Bail out!` adds an ERROR under its own text.
"""

import re

from assay.domain.logs.alternatives import over_lines
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, blocks_of_lines
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, XFAIL, Observed

_LINE = re.compile(
    r"(\s*+)(?:(?:(ok)|not ok)\b(?:\s++(\d++))?(?:\s*+- |\s++|$)(.*+)|# Subtest: (.++)|(Bail out!.*+))",
)
_LINES = re.compile("\n" + over_lines(_LINE))
_DIRECTIVE = re.compile(r"(?<!\\)#\s*+(skip|todo)\w*", re.IGNORECASE)
_MAX_DEPTH = 100


def protocol(text: str) -> dict[str, str]:
    """Descriptions, joined by ` > ` below subtests, or the number where there is none -> status."""
    results = Observed()
    enter = results.enter
    groups = [(-1, "")]
    inmost, prefix = groups[0]
    for lines in blocks_of_lines(text, Split.UNIVERSAL, Trim.RIGHT):
        for blanks, is_ok, number, rest, group, bail_out in _LINES.findall(lines):
            if bail_out:
                results[bail_out] = ERROR
                continue
            indent = len(blanks)
            while indent <= inmost:
                groups.pop()
                inmost, prefix = groups[-1]
            if group:
                inmost, prefix = indent, f"{prefix}{group} > "
                groups.append((inmost, prefix))
                if len(groups) > _MAX_DEPTH + 1:
                    raise UnreadableError(f"subtests are nested more than {_MAX_DEPTH} deep")
                continue
            description, status = rest.strip(), PASSED if is_ok else FAILED
            if "#" in rest or rest.endswith("{"):
                description, status = _directed(rest, status)
            name = prefix + (description or number)
            if enter(name, status) is not status:
                results.again(name, status, overwrites=True)
    return results


def _directed(description: str, status: str) -> tuple[str, str]:
    """The description without the brace of a subtest and without a directive, and the status with it."""
    description = description.removesuffix("{").rstrip()
    directive = _DIRECTIVE.search(description)
    if directive is None:
        return description.split(" # ", 1)[0].strip(), status
    if directive[1].lower() == "skip":
        status = SKIPPED
    elif status == FAILED:
        status = XFAIL
    return description[: directive.start()].strip(), status
