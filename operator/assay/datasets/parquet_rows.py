"""Parquet, a few rows at a time: memory does not grow with the file, nor with its row groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from assay.datasets.rows import RowRead, UnreadableFileError

BATCH_ROWS = 16
READ_BYTES = 1024 * 1024


class ParquetTable:
    """One parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def columns(self) -> frozenset[str]:
        """Return the top-level columns."""
        with self._opened() as file:
            return frozenset(file.schema_arrow.names)

    def count(self) -> int | None:
        """Return the number of rows."""
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def rows(self, columns: frozenset[str]) -> Iterator[RowRead]:
        """Yield the rows with these columns alone."""
        number = 0
        with self._opened() as file:
            wanted = [name for name in file.schema_arrow.names if name in columns]
            try:
                for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted, use_threads=False):
                    for values in batch.to_pylist():
                        yield RowRead(number=number, values=values)
                        number += 1
            except (pa.ArrowException, OSError) as error:
                raise UnreadableFileError(f"cannot be read after row {number - 1}: {error}") from error

    def _opened(self) -> Any:
        try:
            return parquet.ParquetFile(self._path, buffer_size=READ_BYTES, pre_buffer=False, memory_map=False)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableFileError(f"is no complete parquet file: {error}") from error
