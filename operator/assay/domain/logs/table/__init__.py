"""The table of dialects: every name that tasks use, bound to a family of grammar and its options.

The rows stand in one module per group of languages; read them as the documentation of the differences.
"""

from collections.abc import Mapping
from types import MappingProxyType

from assay.domain.logs.dialect import Dialect
from assay.domain.logs.table import functional, javascript, jvm, python, scripting, structured, systems

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        row.name: row
        for module in (python, systems, javascript, scripting, functional, jvm, structured)
        for row in module.ROWS
    }
)
"""Dialects by name, in the order of the documentation."""
