"""Rows of published files with all their columns, found again by the hash that their tasks keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.parquet_rows import ParquetTable
from assay.datasets.rows import UnreadableFileError
from assay.datasets.tables import table_at
from assay.domain.datasets import FAMILIES
from assay.domain.datasets.digests import row_digest

LOOKED_AT = 200
"""Rows of a file without types that tell them."""


def original_rows(
    files: Sequence[Path], families: Collection[str]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield each row with its hash under each of these families.  ``UnreadableFileError``."""
    columns = [FAMILIES[name].columns for name in sorted(families) if name in FAMILIES]
    for file in files:
        table = table_at(file)
        for row in table.rows(table.columns()):
            if not row.fault:
                yield tuple(row_digest(row.values, names) for names in columns), row.values


def schema_of_files(files: Sequence[Path]) -> pa.Schema:
    """Return the types of the files' columns; they must have the same ones.  ``UnreadableFileError`` when not."""
    schemas = [_schema(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            raise UnreadableFileError(f"{file.name} has other columns than {files[0].name}; .jsonl takes any")
    return schemas[0]


def _schema(file: Path) -> pa.Schema:
    table = table_at(file)
    if isinstance(table, ParquetTable):
        return table.schema()
    first = []
    for row in table.rows(table.columns()):
        first.append(dict(row.values))
        if len(first) >= LOOKED_AT:
            break
    try:
        names = {name for values in first for name in values}
        return pa.Table.from_pylist([dict.fromkeys(sorted(names)) | values for values in first]).schema
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UnreadableFileError(
            f"{file.name}: a column has values of several types: {error}; .jsonl takes any"
        ) from error
