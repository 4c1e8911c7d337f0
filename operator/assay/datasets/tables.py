"""A path -> the reader of its form."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.folder_rows import MARK, FolderTable
from assay.datasets.json_rows import JsonLinesTable, JsonTable
from assay.datasets.parquet_rows import ParquetTable
from assay.datasets.rows import Table, UnreadableFileError


def table_at(path: Path) -> Table:
    """Return the reader of a file or folder by its name and first bytes.  ``UnreadableFileError`` when there is none."""
    if path.is_dir():
        if not (path / MARK).exists():
            raise UnreadableFileError(f"is a directory without {MARK}")
        return FolderTable(path)
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise UnreadableFileError(error.strerror or str(error)) from error
    if head == b"PAR1" or path.suffix == ".parquet":
        return ParquetTable(path)
    if path.suffix in {".jsonl", ".ndjson"}:
        return JsonLinesTable(path)
    if path.suffix == ".json":
        return JsonTable(path)
    raise UnreadableFileError("is neither .parquet, .jsonl, .json nor a folder of tasks")
