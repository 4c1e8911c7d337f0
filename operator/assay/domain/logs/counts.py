"""Family: tables of counts, in which a row's numbers decide its status: Julia's `Test Summary`."""

import re
from dataclasses import dataclass

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, lists_of_lines
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
        for lines in lists_of_lines(text, Split.UNIVERSAL):
            for line in lines:
                head, bar, columns = line.partition("|")
                if _HEADING in line:
                    collecting = True
                    if "| Pass" in line:
                        heading = columns.split("|", 1)[0]
                        only_fail = "Fail" in heading and "Error" not in heading
                elif collecting and bar:
                    title = head.strip()
                    # Mostly the first bar parts title and columns; only else the shortest title has to be looked for.
                    if not (title and columns and head[-1].isspace()):
                        row = _ROW.match(line)
                        if row is None:
                            continue
                        title, columns = row["title"] or "", row["columns"]
                    status = _row_status(columns, only_fail=only_fail)
                    if status and results.enter(title, status) is not status:
                        results.again(title, status, overwrites=True)
        return results


def _row_status(columns: str, *, only_fail: bool) -> str | None:
    try:
        numbers = [int(cell) for cell in columns.split() if cell.isdigit()]
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
