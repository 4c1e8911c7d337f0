"""Files by content hash: written once, compressed, verified on every read.

A store is any URI that pyarrow's file systems know (a directory, S3, GCS).  A file of SHA-256 ``h`` lies at
``<root>/<h[:2]>/<h>.zst``; writing it twice is harmless, and a half-written one is never seen under its name.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import PurePosixPath

from pyarrow import fs

from assay.domain.outcomes import Artifact


class ArtifactLostError(Exception):
    """The store has no file of the hash, or its bytes are others."""


class ArtifactChangedError(ArtifactLostError):
    """The store has a file of the hash, and its bytes are others: reading it again will not help."""


class Store:
    """The artifact store at one URI.  All methods block: call them from a thread."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/")
        self._files, self._root = fs.FileSystem.from_uri(self.uri)
        self._files.create_dir(self._root, recursive=True)

    def put(self, content: bytes) -> Artifact:
        """Store bytes and return where they are.  ``OSError`` when the store refuses; nothing is stored then."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        if self._files.get_file_info(path).type is not fs.FileType.File:
            self._files.create_dir(str(PurePosixPath(path).parent), recursive=True)
            unfinished = f"{path}.{threading.get_ident()}.part"
            with self._files.open_output_stream(unfinished, compression="zstd") as stream:
                stream.write(content)
            self._files.move(unfinished, path)
        return Artifact(uri=f"{self.uri}/{digest[:2]}/{digest}.zst", sha256=digest, bytes=len(content))

    def get(self, digest: str) -> bytes:
        """Return the bytes of a hash; ``ArtifactLostError`` when they are not there or not those."""
        try:
            with self._files.open_input_stream(self._path(digest), compression="zstd") as stream:
                content: bytes = stream.read()
        except FileNotFoundError as error:
            raise ArtifactLostError(f"the store {self.uri} has no file {digest}") from error
        except OSError as error:
            raise ArtifactLostError(f"the file {digest} in the store {self.uri} cannot be read: {error}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ArtifactChangedError(f"the file {digest} in the store {self.uri} has other bytes")
        return content

    def has(self, digest: str) -> bool:
        """Whether a file of the hash is there.  ``OSError`` when the store cannot be asked."""
        return bool(self._files.get_file_info(self._path(digest)).type is fs.FileType.File)

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}.zst"
