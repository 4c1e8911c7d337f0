"""Rows -> a parquet or JSON lines file, a batch at a time; the file has its name when it is whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

import pyarrow as pa
from pyarrow import parquet

from assay.domain.datasets.exports import Form
from assay.domain.datasets.originals import EVIDENCE, PLAIN, PREFIX
from assay.domain.datasets.originals import LISTS as VERIFIED

SUFFIXES = (".parquet", ".jsonl")
BATCH = 200
NAMES = pa.list_(pa.string())
REASONS = pa.list_(pa.struct([("name", pa.string()), ("why", pa.string())]))
INSTALL = pa.struct([("install", NAMES), ("test_cmd", NAMES), ("log_parser", pa.string())])
LISTS = {"FAIL_TO_PASS": NAMES, "PASS_TO_PASS": NAMES, "unstable": NAMES, "test_commands": NAMES, "new_targets": NAMES}
TYPES = {
    "flaky": REASONS,
    "excluded": REASONS,
    "install_config": INSTALL,
    "runs": pa.int64(),
    "dataset_row": pa.int64(),
}


class Writer(Protocol):
    """A file that takes rows."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows."""

    def close(self) -> None:
        """End the file."""


class _JsonLines:
    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("w", encoding="ascii", newline="\n")

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._file.writelines(json.dumps(row, ensure_ascii=True, default=_written) + "\n" for row in rows)

    def close(self) -> None:
        self._file.close()


class _Parquet:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._writer.write_table(pa.Table.from_pylist(list(rows), schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def schema_of(columns: Iterable[str], form: Form) -> pa.Schema:
    """Return the types of a form's columns; SWE-bench's lists are JSON text."""
    types = TYPES if form is Form.SWE_BENCH else LISTS | TYPES
    return pa.schema([(name, types.get(name, pa.string())) for name in columns])


class OtherColumnsError(Exception):
    """A row does not fit the types of the rows before it."""


class ExportFile:
    """Rows of one form in one file; nothing is seen under its name before the end of the ``with`` block.

    ``schema`` are the types of a parquet file's columns, where the form does not say them.  ``OtherColumnsError``
    when a row has others.
    """

    def __init__(self, path: Path, form: Form, schema: pa.Schema | None = None) -> None:
        self._path, self._form, self._schema = path, form, schema
        self._fresh = path.with_name(f".{path.name}.part")
        self._writer: Writer | None = None
        self._waiting: list[Mapping[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        if self._writer:
            self._writer.close()
        if kind is not None:
            self._fresh.unlink(missing_ok=True)
        elif self._writer:
            self._fresh.replace(self._path)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        self._waiting.append(row)
        if len(self._waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            if self._path.suffix == ".parquet":
                schema = schema_of(self._waiting[0], self._form) if self._schema is None else self._schema
                self._writer = _Parquet(self._fresh, schema)
            else:
                self._writer = _JsonLines(self._fresh)
        try:
            self._writer.write(self._waiting)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise OtherColumnsError(f"a row has other types than the first ones: {error}; .jsonl takes any") from error
        self._waiting = []


def schema_with_evidence(own: pa.Schema) -> pa.Schema:
    """Return the types of rows with their own columns and what ``with_evidence`` adds."""
    types = {field.name: field.type for field in own}
    for name in (*VERIFIED, *PLAIN):
        if name not in types and (name in PLAIN or name.lower() not in types):
            types[name] = LISTS.get(name, pa.string())
    return pa.schema([*types.items(), *((f"{PREFIX}{name}", _type_of(name)) for name in EVIDENCE)])


def _type_of(column: str) -> pa.DataType:
    return (LISTS | TYPES).get(column, pa.string())


def _written(value: object) -> object:
    """Return what JSON has no form for: times as ISO text, bytes as UTF-8."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def unwritable(row: Mapping[str, Any]) -> str:
    """Return the first column that parquet's text cannot hold, empty when there is none."""
    for name, value in row.items():
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            return name
    return ""
