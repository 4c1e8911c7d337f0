"""Where built things are kept: one directory, entries named by the hash of what made them.

An entry is either absent or whole: it is made under a temporary name and renamed. One lock keeps two builders apart.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_root() -> Path:
    """The examples' cache: `$ASSAY_CACHE/examples`, else `assay/examples` under the user's cache directory."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("ASSAY_CACHE") or user / "assay") / "examples"


def content_key(*parts: object) -> str:
    """16 hex digits that change whenever one of the JSON-like parts does."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_key(*paths: Path) -> str:
    """16 hex digits over the files' names and bytes, in the order given."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name}\0{path.stat().st_mode & 0o111:o}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def tree_key(root: Path) -> str:
    """16 hex digits over every file's path, executable bits and bytes below `root`, compiled caches left out."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return content_key([[str(path.relative_to(root)), file_key(path)] for path in files])


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the cache's lock; waits while another builder holds it."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def fresh_directory(target: Path) -> Iterator[Path]:
    """An empty directory that becomes `target` when the block ends well and vanishes when it does not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    scratch.chmod(0o755)
    try:
        yield scratch
        scratch.rename(target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
