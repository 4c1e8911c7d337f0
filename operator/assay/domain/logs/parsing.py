"""The one way into the dialects: `parse_log`."""

import difflib

from assay.domain.logs.failures import ParseFailed, UnknownDialectError, UnreadableError
from assay.domain.logs.statuses import Observed, Results
from assay.domain.logs.table import DIALECTS

MAX_LOG_CHARS = 512 * 1024 * 1024
"""Logs of more characters are refused: results of that size would not fit the operator's memory."""


def parse_log(dialect: str, text: str) -> Results:
    """The results that the named dialect finds in a log (`text`: decoded as UTF-8 with `surrogateescape`).

    Raises `UnknownDialectError` where no dialect has that name, and `ParseFailed` where the dialect's reference cannot
    read this log or the log exceeds `MAX_LOG_CHARS`.
    """
    row = DIALECTS.get(dialect)
    if row is None:
        raise UnknownDialectError(dialect, nearest_dialects(dialect))
    if len(text) > MAX_LOG_CHARS:
        raise ParseFailed(dialect, f"the log has {len(text)} characters, more than {MAX_LOG_CHARS}")
    try:
        return row.options.results_of(text)
    except UnreadableError as refusal:
        raise ParseFailed(dialect, refusal.why) from refusal


def contradictions_in(results: Results) -> frozenset[str]:
    """The names that the log showed to pass and to fail, as far as the dialect's grammar looks at each line."""
    return frozenset(results.contradicted) if isinstance(results, Observed) else frozenset()


def is_dialect(name: str) -> bool:
    """Whether `parse_log` knows the name."""
    return name in DIALECTS


def nearest_dialects(name: str) -> tuple[str, ...]:
    """Up to three known names that resemble this one, best first."""
    return tuple(difflib.get_close_matches(name, DIALECTS, n=3, cutoff=0.5))
