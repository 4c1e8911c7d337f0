"""Manifests in a user's files and folders, read in one order by every command that takes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SUFFIXES = {".yaml", ".yml", ".json"}


def documents_in(files: Sequence[Path]) -> Iterator[tuple[str, Any]]:
    """Yield the documents of all files in order, each with its place for messages; ``-`` is standard input."""
    for file in files:
        for path in paths_in(file):
            text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
            for number, document in _numbered(text):
                yield f"{path}, document {number}", document


def documents_of(path: Path) -> list[Any]:
    """Return the documents of a file of manifests."""
    return [document for _, document in _numbered(path.read_text(encoding="utf-8"))]


def _numbered(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the documents that are not empty with their numbers, which count all of them."""
    for number, document in enumerate(yaml.load_all(text, Loader=LOADER)):
        if document is not None:
            yield number, document


def paths_in(file: Path) -> list[Path]:
    """Return a file, or the manifests of a directory in order: those of an import, else all."""
    if not file.is_dir():
        return [file]
    found = sorted(path for path in file.glob("manifests-*.yaml"))
    return found or sorted(path for path in file.iterdir() if path.suffix in SUFFIXES)


def is_validation(document: Any) -> bool:
    """Whether a document is a TaskValidation with a name and a spec."""
    return (
        isinstance(document, Mapping)
        and document.get("kind") == "TaskValidation"
        and isinstance(document.get("metadata"), Mapping)
        and isinstance(document.get("spec"), Mapping)
    )
