"""A bundle: a directory of task documents by their hash, packed into parquet files, with an index.

``bundle.json`` names the data set and each file's hash; ``tasks-00000.parquet`` and so on hold one row a document.
What refers to a task does so by the document's own hash, so a bundle can be moved, split or pushed in any order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyarrow import parquet

from assay.domain.datasets.digests import digest_of

FORMAT = 1
INDEX = "bundle.json"
GROUP_BYTES = 2 * 1024 * 1024
FILE_BYTES = 256 * 1024 * 1024
KEY_BYTES = 16
SCHEMA = pa.schema([("digest", pa.string()), ("id", pa.string()), ("repo", pa.string()), ("document", pa.binary())])


class BundleError(Exception):
    """The directory is no bundle, or holds other bytes than its index says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One task's document and its hash."""

    id: str
    repo: str
    digest: str
    content: bytes


def empty_bundle(folder: Path) -> None:
    """Make the directory of a bundle that has nothing yet: the index of an earlier one goes first, then its tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).unlink(missing_ok=True)
    for old in folder.glob("tasks-*.parquet"):
        old.unlink()


class BundleWriter:
    """Writes a bundle; nothing is a bundle before ``close``, which writes the index."""

    def __init__(self, folder: Path, *, dataset: str, revision: str) -> None:
        self._folder = folder
        self._about = {"format": FORMAT, "dataset": dataset, "revision": revision}
        self._files: list[dict[str, Any]] = []
        self._writer: Any = None
        self._waiting: list[Document] = []
        self._waiting_bytes = self._file_bytes = 0
        self._written: set[bytes] = set()
        empty_bundle(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def add(self, document: Document) -> None:
        """Add a document; one of the same bytes is there already and is not written again."""
        key = bytes.fromhex(document.digest)[:KEY_BYTES]
        if key in self._written:
            return
        self._written.add(key)
        self._waiting.append(document)
        self._waiting_bytes += len(document.content)
        if self._waiting_bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the index."""
        self._flush()
        self._end_file()
        index = self._about | {"tasks": len(self._written), "files": self._files}
        (self._folder / INDEX).write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            name = f"tasks-{len(self._files):05}.parquet"
            self._writer = parquet.ParquetWriter(self._folder / name, SCHEMA, compression="zstd", use_dictionary=False)
            self._files.append({"name": name})
        rows = [
            {"digest": said.digest, "id": said.id, "repo": said.repo, "document": said.content}
            for said in self._waiting
        ]
        self._writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
        self._file_bytes += self._waiting_bytes
        self._waiting, self._waiting_bytes = [], 0
        if self._file_bytes >= FILE_BYTES:
            self._end_file()

    def _end_file(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._files[-1]["sha256"] = file_digest(self._folder / self._files[-1]["name"])
        self._writer, self._file_bytes = None, 0


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_index(folder: Path) -> dict[str, Any]:
    """Return a bundle's index.  ``BundleError`` when the directory is none of this format."""
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError) as error:
        raise BundleError(f"{folder} is no bundle: {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise BundleError(f"{folder} is no bundle of format {FORMAT}")
    return index


def read_bundle(folder: Path) -> Iterator[Document]:
    """Yield a bundle's documents, each with the bytes that its hash says.  ``BundleError`` otherwise."""
    for said in read_index(folder)["files"]:
        path = folder / said["name"]
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for group in range(file.metadata.num_row_groups):
                    for row in file.read_row_group(group).to_pylist():
                        yield _document(path, row)
        except (pa.ArrowException, OSError) as error:
            raise BundleError(f"{path} cannot be read: {error}") from error


def document_in(folder: Path, digest: str) -> Document | None:
    """Return a bundle's document of a hash, None when it has none.  ``BundleError`` as for all of them."""
    for said in read_index(folder)["files"]:
        path = folder / said["name"]
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for group in range(file.metadata.num_row_groups):
                    digests = file.read_row_group(group, columns=["digest"]).column("digest").to_pylist()
                    if digest in digests:
                        (row,) = file.read_row_group(group).slice(digests.index(digest), 1).to_pylist()
                        return _document(path, row)
        except (pa.ArrowException, OSError) as error:
            raise BundleError(f"{path} cannot be read: {error}") from error
    return None


def _document(path: Path, row: dict[str, Any]) -> Document:
    if digest_of(row["document"]) != row["digest"]:
        raise BundleError(f"{path}: the document of {row['id']!r} has other bytes than its hash {row['digest']}")
    return Document(id=row["id"], repo=row["repo"], digest=row["digest"], content=row["document"])
