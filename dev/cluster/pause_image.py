"""The image that holds a pod's namespaces: one static program, packed without any base image."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_pause_image(program: Path, name: str, target: Path, *, machine: str) -> None:
    """Pack the program as a docker-archive with one layer."""
    layer = _tar({"pause": program.read_bytes()}, mode=0o755)
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    target.write_bytes(_tar({"manifest.json": manifest, config_name: config, "layer.tar": layer}, mode=0o644))


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
