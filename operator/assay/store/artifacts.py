"""Files by content hash: written once, compressed, verified on every read.

A store is any URI that pyarrow's file systems know (a directory, S3, GCS).  A file of SHA-256 ``h`` lies at
``<root>/<h[:2]>/<h>.zst``; writing it twice is harmless, and a half-written one is never seen under its name: a directory
gives a file its name when it is whole, an object store shows an object when its upload has ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

import pyarrow as pa
from pyarrow import fs

from assay.domain.outcomes import Artifact
from assay.domain.retention import StoredFile
from assay.store.places import place_of

FRESH = timedelta(days=1)
"""Age from which a file that is put again is written again, so that nobody takes it for one that nothing needs."""
STORED = re.compile(r"(?:.*/)?(?P<folder>[0-9a-f]{2})/(?P<name>(?P<digest>[0-9a-f]{64})\.zst(?:\.[0-9a-z]+\.part)?)")


class ArtifactLostError(Exception):
    """The store has no file of the hash, or its bytes are others."""


class ArtifactChangedError(ArtifactLostError):
    """The store has a file of the hash, and its bytes are others: reading it again will not help."""


class Store:
    """The artifact store at one URI.  All methods block: call them from a thread.

    ``OSError`` from any of them says that the store could not be asked, nothing about what it holds.
    """

    def __init__(self, uri: str, *, make: bool = True) -> None:
        """Open the store; a directory is made unless ``make`` is false: then it is an ``OSError`` that there is none."""
        self.uri = uri.rstrip("/")
        self._place = place_of(self.uri)
        self._files = self._place.files
        if self._place.renames and not make:
            if self._files.get_file_info(self._place.root).type is not fs.FileType.Directory:
                raise FileNotFoundError(f"there is no store at {self.uri}")
        elif self._place.renames:
            self._files.create_dir(self._place.root, recursive=True)

    def put(self, content: bytes) -> Artifact:
        """Store bytes and return where they are.  ``OSError`` when the store refuses or has not kept all of them."""
        digest = hashlib.sha256(content).hexdigest()
        path = _path(digest)
        packed = pa.Codec("zstd").compress(content, asbytes=True)
        if not self._holds(path, len(packed)):
            self._write(f"{self._place.root}/{path}", packed)
        return Artifact(uri=self._place.uri_of(path), sha256=digest, bytes=len(content))

    def get(self, digest: str) -> bytes:
        """Return the bytes of a hash; ``ArtifactLostError`` when they are not there or not those."""
        try:
            with self._files.open_input_stream(f"{self._place.root}/{_path(digest)}", compression=None) as stream:
                packed = stream.read()
        except FileNotFoundError as error:
            raise ArtifactLostError(f"the store {self.uri} has no file {digest}") from error
        except OSError as error:
            if "checksum" not in str(error):  # S3's client compares the bytes with the server's own checksum
                raise
            raise ArtifactChangedError(f"the file {digest} in the store {self.uri} is damaged: {error}") from error
        try:
            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
                content: bytes = stream.read()
        except (OSError, pa.ArrowException) as error:
            raise ArtifactChangedError(f"the file {digest} in the store {self.uri} is damaged: {error}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ArtifactChangedError(f"the file {digest} in the store {self.uri} has other bytes")
        return content

    def has(self, digest: str) -> bool:
        """Whether a file of the hash is there."""
        return bool(self._files.get_file_info(f"{self._place.root}/{_path(digest)}").type is fs.FileType.File)

    def listed(self) -> Iterator[StoredFile]:
        """Yield all files that this store wrote; others in its directory are passed over."""
        selector = fs.FileSelector(self._place.root, recursive=True, allow_not_found=True)
        for info in self._files.get_file_info(selector):
            named = STORED.fullmatch(info.path)
            if info.type is fs.FileType.File and named and named["digest"].startswith(named["folder"]):
                yield StoredFile(
                    path=f"{named['folder']}/{named['name']}",
                    digest=named["digest"],
                    bytes=info.size,
                    modified=modified(info),
                )

    def delete(self, file: StoredFile) -> bool:
        """Delete a file if it is still the one that was listed; return whether it was."""
        info = self._files.get_file_info(f"{self._place.root}/{file.path}")
        if info.type is not fs.FileType.File or modified(info) != file.modified:
            return False
        self._files.delete_file(info.path)
        return True

    def _holds(self, path: str, size: int) -> bool:
        """Whether a file is there whole, and young enough to be left alone."""
        info = self._files.get_file_info(f"{self._place.root}/{path}")
        if info.type is not fs.FileType.File or info.size != size:
            return False
        return datetime.now(UTC) - modified(info) < FRESH

    def _write(self, path: str, packed: bytes) -> None:
        """Write a file so that its name shows either all of it or nothing."""
        if not self._place.renames:
            self._upload(path, packed)
            return
        self._files.create_dir(str(PurePosixPath(path).parent), recursive=True)
        unfinished = f"{path}.{uuid.uuid4().hex}.part"
        try:
            self._upload(unfinished, packed)
            self._files.move(unfinished, path)
        except OSError:
            with contextlib.suppress(OSError):
                self._files.delete_file(unfinished)
            raise

    def _upload(self, path: str, packed: bytes) -> None:
        with self._files.open_output_stream(path, compression=None) as stream:
            stream.write(packed)
        kept = self._files.get_file_info(path)
        if kept.type is not fs.FileType.File or kept.size != len(packed):
            raise OSError(f"the store {self.uri} took {len(packed)} bytes and shows {kept.size}")


def modified(info: fs.FileInfo) -> datetime:
    """Return when a file was written; object stores tell whole seconds."""
    return datetime.fromtimestamp(info.mtime_ns / 1e9, UTC)


def _path(digest: str) -> str:
    return f"{digest[:2]}/{digest}.zst"
