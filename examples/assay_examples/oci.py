"""OCI images written directly: a layer is a tar of a directory tree, an image a list of layers and a config.

All images of the examples lie in one OCI layout, so that shared layers exist once on disk and once in a registry.
Ownership is root's, extended attributes are left out, times are kept (compiled Python of the base depends on them).
"""

import gzip
import hashlib
import json
import os
import platform
import stat
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_REF = "org.opencontainers.image.ref.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A packed layer: the digest of its bytes, that of the tar inside, and its size in bytes."""

    digest: str
    diff_id: str
    size: int


class Layout:
    """An OCI layout directory. Blobs and images are added; one name holds one image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs" / "sha256"
        self.blobs.mkdir(parents=True, exist_ok=True)
        if not (root / "oci-layout").exists():
            (root / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
            self._write_index([])

    def pack(self, tree: Path) -> Blob:
        """The layer blob of a tree; a note beside the tree saves the work the second time."""
        note = tree.with_name(f"{tree.name}.blob.json")
        if note.exists():
            blob = Blob(**json.loads(note.read_text()))
            if (self.blobs / blob.digest.partition(":")[2]).exists():
                return blob
        blob = self._pack(tree)
        note.write_text(json.dumps(asdict(blob)))
        return blob

    def _pack(self, tree: Path) -> Blob:
        with tempfile.NamedTemporaryFile(dir=self.blobs, prefix=".layer-", delete=False) as file:
            packed = _Hashing(file)
            with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as zipped:
                plain = _Hashing(zipped)
                with tarfile.open(fileobj=cast("IO[bytes]", plain), mode="w|", format=tarfile.PAX_FORMAT) as archive:
                    for path in _walk(tree):
                        _add(archive, tree, path)
        Path(file.name).chmod(0o644)
        Path(file.name).rename(self.blobs / packed.sha256.hexdigest())
        return Blob(
            digest=f"sha256:{packed.sha256.hexdigest()}", diff_id=f"sha256:{plain.sha256.hexdigest()}", size=packed.size
        )

    def add_image(self, name: str, blobs: Sequence[Blob], *, env: Mapping[str, str], workdir: str) -> str:
        """Write the image's config and manifest under `name`; returns the manifest's digest."""
        config = {
            "created": "2001-01-01T00:00:00Z",
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {
                "Env": [f"{key}={value}" for key, value in env.items()],
                "Cmd": ["/bin/sh"],
                "WorkingDir": workdir,
            },
            "rootfs": {"type": "layers", "diff_ids": [blob.diff_id for blob in blobs]},
            "history": [{"created": "2001-01-01T00:00:00Z", "created_by": "assay examples"} for _ in blobs],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._write_json(config, _CONFIG),
            "layers": [{"mediaType": _LAYER, "digest": blob.digest, "size": blob.size} for blob in blobs],
        }
        entry = {**self._write_json(manifest, _MANIFEST), "annotations": {_REF: name}}
        others = [old for old in self._index() if old.get("annotations", {}).get(_REF) != name]
        self._write_index([*others, entry])
        return str(entry["digest"])

    def _write_json(self, value: object, media_type: str) -> dict[str, Any]:
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def _index(self) -> list[dict[str, Any]]:
        manifests: list[dict[str, Any]] = json.loads((self.root / "index.json").read_text())["manifests"]
        return manifests

    def _write_index(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        scratch = self.root / ".index.json"
        scratch.write_text(json.dumps({"schemaVersion": 2, "manifests": list(manifests)}, indent=1))
        scratch.rename(self.root / "index.json")


class _Hashing:
    """A binary writer that hashes and counts what passes."""

    def __init__(self, sink: Any) -> None:
        self.sink = sink
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size += len(data)
        self.sink.write(data)
        return len(data)

    def flush(self) -> None:
        self.sink.flush()


def _walk(tree: Path) -> Iterator[Path]:
    """Everything below the tree in a fixed order, folders before what they hold; links are not followed."""
    for folder, folders, files in os.walk(tree):
        folders.sort()
        here = Path(folder)
        yield from sorted([here / name for name in files] + [here / name for name in folders])


def _add(archive: tarfile.TarFile, tree: Path, path: Path) -> None:
    mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        raise ValueError(f"{path} is neither file, folder nor symbolic link: a layer cannot hold it")
    entry = archive.gettarinfo(path, arcname=str(path.relative_to(tree)))
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = int(entry.mtime)
    if entry.isreg():
        with path.open("rb") as content:
            archive.addfile(entry, content)
    else:
        archive.addfile(entry)
