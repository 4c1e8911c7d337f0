"""What an import writes: manifests as a stream of YAML documents, in files of so many or on one stream; refusals as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import yaml

from assay.datasets.bundles import INDEX, empty_bundle
from assay.datasets.importing import Told

MANIFESTS = "manifests-*.yaml"
PER_FILE = 500
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as one YAML document."""
    return "---\n" + yaml.dump(manifest, Dumper=DUMPER, sort_keys=False, allow_unicode=True, width=1_000_000)


def refusal_line(told: Told) -> str:
    """Return a refusal as one line of JSON."""
    said = {"file": told.file, "row": told.row, "id": told.id, "field": told.refusal.field, "reason": told.refusal.why}
    return json.dumps(said, ensure_ascii=True) + "\n"


class ManifestFiles:
    """Manifests in files of ``PER_FILE`` documents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._file: IO[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, text: str) -> None:
        """Add one document."""
        if self._count % PER_FILE == 0:
            self.close()
            path = self._folder / f"manifests-{self._count // PER_FILE:05}.yaml"
            self._file = path.open("w", encoding="utf-8", newline="")
        assert self._file is not None
        self._file.write(text)
        self._count += 1

    def close(self) -> None:
        """Close the last file."""
        if self._file:
            self._file.close()
            self._file = None


def has_manifests(folder: Path) -> bool:
    """Whether an earlier import left manifests in a folder."""
    return any(folder.glob(MANIFESTS))


def put_in_place(aside: Path, folder: Path) -> None:
    """Put a finished import, written aside in the folder, in the place of an earlier one; a bundle's index comes last."""
    for old in folder.glob(MANIFESTS):
        old.unlink()
    if (aside / "bundle").is_dir():
        empty_bundle(folder / "bundle")
    files = (path for path in aside.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: (path.name == INDEX, path)):
        path.replace(folder / path.relative_to(aside))
