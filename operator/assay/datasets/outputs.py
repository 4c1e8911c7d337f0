"""What an import writes: manifests as a stream of YAML documents, in files of so many or on one stream; refusals as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import yaml

from assay.datasets.importing import Told

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
    """Manifests in files of ``PER_FILE`` documents; earlier ones of the directory are removed first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._file: IO[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("manifests-*.yaml"):
            old.unlink()

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
