"""Test logs to results: every published log dialect, pure and linear.

`parse_log` is the way in; `DIALECTS` is the table of names. One module per family of grammar, one row per name.
"""

from assay.domain.logs.dialect import Dialect
from assay.domain.logs.failures import ParseFailed, UnknownDialectError
from assay.domain.logs.parsing import MAX_LOG_CHARS, contradictions_in, is_dialect, nearest_dialects, parse_log
from assay.domain.logs.statuses import Results
from assay.domain.logs.table import DIALECTS

__all__ = [
    "DIALECTS",
    "MAX_LOG_CHARS",
    "Dialect",
    "ParseFailed",
    "Results",
    "UnknownDialectError",
    "contradictions_in",
    "is_dialect",
    "nearest_dialects",
    "parse_log",
]
