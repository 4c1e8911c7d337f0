"""Parquet, a few rows at a time: memory does not grow with the file, nor with its row groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from assay.datasets.rows import RowRead, UnreadableFileError

BATCH_ROWS = 4
READ_BYTES = 1024 * 1024


class ParquetTable:
    """One parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def columns(self) -> frozenset[str]:
        """Return the top-level columns."""
        with self._opened() as file:
            return frozenset(file.schema_arrow.names)

    def schema(self) -> pa.Schema:
        """Return the types of the columns."""
        with self._opened() as file:
            return file.schema_arrow.remove_metadata()

    def count(self) -> int | None:
        """Return the number of rows."""
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield the rows with these columns alone."""
        number = 0
        pa.set_memory_pool(pa.system_memory_pool())  # the default one keeps what it has freed
        with self._opened() as file:
            wanted = [name for name in file.schema_arrow.names if name in columns]
            try:
                for group in range(file.metadata.num_row_groups):
                    for values in _values_of(file, group, wanted):
                        yield RowRead(number=number, values=values)
                        number += 1
            except (pa.ArrowException, OSError) as error:
                raise UnreadableFileError(f"cannot be read after row {number - 1}: {error}") from error

    def _opened(self) -> Any:
        try:
            return parquet.ParquetFile(self._path, buffer_size=READ_BYTES, pre_buffer=False, memory_map=False)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableFileError(f"is no complete parquet file: {error}") from error


def _values_of(file: Any, group: int, wanted: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one row group: its pages are let go before those of the next are read."""
    batches = file.iter_batches(batch_size=BATCH_ROWS, row_groups=[group], columns=wanted, use_threads=False)
    for batch in batches:
        yield from batch.to_pylist()
