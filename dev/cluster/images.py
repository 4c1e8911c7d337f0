"""Images into a cluster's registry, under the name by which the cluster pulls them."""

import subprocess
import tarfile
import tempfile
from pathlib import Path

from progress import Failure


def push(archive: Path, name: str, registry: str) -> str:
    """Push an OCI or docker archive as NAME:TAG; the full reference, by digest."""
    transport = _transport_of(archive)
    repository = name.rpartition(":")[0]
    if not repository or "/" in name.rpartition(":")[2]:
        raise Failure(f"{name!r} has no tag: give NAME:TAG")
    with tempfile.NamedTemporaryFile() as digest:
        command = (
            *("skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false"),
            *("--digestfile", digest.name, f"{transport}:{archive}", f"docker://{registry}/{name}"),
        )
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode:
            raise Failure(f"cannot push {archive}: {done.stderr.strip()}")
        return f"{registry}/{repository}@{Path(digest.name).read_text().strip()}"


def _transport_of(archive: Path) -> str:
    """Which of the two forms an archive has, by the file that each must contain."""
    try:
        with tarfile.open(archive) as opened:
            names = {member.name.removeprefix("./") for member in opened}
    except (OSError, tarfile.TarError) as error:
        raise Failure(f"cannot read {archive}: {error}") from error
    if "oci-layout" in names:
        return "oci-archive"
    if "manifest.json" in names:
        return "docker-archive"
    raise Failure(f"{archive} is neither an OCI archive nor a docker archive")
