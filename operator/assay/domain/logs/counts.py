"""Family: tables of counts, in which a row's numbers decide its status: Julia's `Test Summary`."""

import re
from dataclasses import dataclass

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, lines_of
from assay.domain.logs.shapes import up_to
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, Observed

_HEADING = "Test Summary:"
_ROW = re.compile(rf"(?:\s*+(?P<title>{up_to('[|]')})\s++|\s\s++)\|(?P<columns>.+)")
_EMPTY_CELL_CHARS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTable:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """Row title -> status; numbers are read by position, whatever the heading says about their columns."""
        results = Observed()
        collecting = only_fail = False
        for line in lines_of(text, Split.UNIVERSAL):
            if _HEADING in line:
                collecting = True
                if "| Pass" in line:
                    columns = line.split("|", 2)[1]
                    only_fail = "Fail" in columns and "Error" not in columns
            elif collecting and "|" in line and (row := _row(line)):
                title, columns = row
                status = _row_status(columns, only_fail=only_fail)
                if status and results.enter(title, status) is not status:
                    results.again(title, status, overwrites=True)
        return results


def _row(line: str) -> tuple[str, str] | None:
    """Title and columns; mostly the first bar parts them, and only else the shortest title has to be looked for."""
    head, _, columns = line.partition("|")
    title = head.strip()
    if title and columns and head[-1].isspace():
        return title, columns
    found = _ROW.match(line)
    return (found["title"] or "", found["columns"]) if found else None


def _row_status(columns: str, *, only_fail: bool) -> str | None:
    try:
        numbers = list(map(int, filter(str.isdigit, columns.split())))
    except ValueError as error:
        raise UnreadableError("a count has no value, or too many digits") from error
    if len(numbers) < 2:
        return None
    if len(numbers) == 2:
        pass_cell_is_empty = len(columns) - len(columns.lstrip()) >= _EMPTY_CELL_CHARS
        return ERROR if pass_cell_is_empty or numbers[0] != numbers[1] else PASSED
    if len(numbers) == 3:
        if numbers[1] == 0:
            return PASSED
        return FAILED if only_fail else ERROR
    if numbers[2] > 0:
        return ERROR
    return FAILED if numbers[1] > 0 else PASSED
