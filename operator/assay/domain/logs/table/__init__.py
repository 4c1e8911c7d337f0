"""The table of dialects: every name that tasks use, bound to a family of grammar and its options.

The rows stand in one module per group of languages; read them as the documentation of the differences.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from assay.domain.logs.dialect import Dialect
from assay.domain.logs.table import go, python

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {row.name: row for row in chain(python.ROWS, go.ROWS)},
)
"""Dialects by name, in the order of the documentation."""
