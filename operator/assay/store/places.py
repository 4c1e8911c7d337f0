"""Where a store is: a URI -> a file system, the store's root in it, and the URI of a file.

A URI may say how a server is reached (``s3://bucket/prefix?endpoint_override=host:9000&scheme=http&region=…``), never
with which credentials: it is written into statuses.  Those come from the environment, as pyarrow's file systems find them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pyarrow import fs

CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 20.0
"""Longest silence of a server before a request is given up and tried again."""
ATTEMPTS = 3
S3_OPTIONS = frozenset({"endpoint_override", "region", "scheme", "tls_ca_file_path"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A root in a file system; ``renames`` when a file can be given its name in one step, after it was written."""

    files: Any
    root: str
    renames: bool
    base: str
    query: str = ""

    def uri_of(self, path: str) -> str:
        """Return the URI of a file below the root."""
        return f"{self.base}/{path}{self.query}"


def place_of(uri: str) -> Place:
    """Return the place of a URI.  ``ValueError`` when it is none, or holds a password."""
    parts = urlsplit(uri)
    if parts.password is not None or parts.username is not None:
        raise ValueError("a store's URI must not hold credentials: give them by the environment, as AWS_ACCESS_KEY_ID")
    query = f"?{parts.query}" if parts.query else ""
    base = uri.removesuffix(query).rstrip("/")
    if parts.scheme == "s3":
        files, root = _s3(parts.query), f"{parts.netloc}{parts.path}".rstrip("/")
    else:
        files, root = fs.FileSystem.from_uri(base + query)
    renames = isinstance(files, fs.LocalFileSystem)
    return Place(files=files, root=root, renames=renames, base=base, query=query)


def _s3(query: str) -> Any:
    options = dict(parse_qsl(query, strict_parsing=bool(query)))
    unknown = set(options) - S3_OPTIONS
    if unknown:
        raise ValueError(f"a store's s3:// URI takes {', '.join(sorted(S3_OPTIONS))}, not {', '.join(sorted(unknown))}")
    return fs.S3FileSystem(
        **options,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=SILENCE_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        background_writes=False,
        allow_delayed_open=True,  # a small file is one request, not three
    )
