"""Build Assay's image without a registry: print the path of an OCI archive, made only when something changed.

    python3 dev/image/build.py              # Assay's image
    python3 dev/image/build.py --base       # the Debian base alone, as a root file system archive

Three caches, each under a hash of what goes in, below ASSAY_CACHE (default: the user's cache directory): the Debian
base (made by mmdebstrap), the libraries (wheels fetched here, so that the build needs no network), and the image.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime_lock import runtime_lock

REPOSITORY = Path(__file__).resolve().parents[2]
INPUTS = (
    "Dockerfile",
    ".dockerignore",
    "requirements.txt",
    "pyproject.toml",
    "dev/image",
    "operator/assay",
    "job_templates",
    "crds",
)
KEPT_IMAGES = 3

SUITE = "bookworm"
PACKAGES = ("usr-is-merged", "python3", "python3-venv", "libstdc++6", "ca-certificates", "netbase")
UNNEEDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*")
PYTHON = "3.11"
"""The base's Python, for which the wheels are fetched."""

_started = time.monotonic()


class Failure(Exception):  # noqa: N818 - what the user reads is a failure, whatever its cause
    """Something outside of this program went wrong; the message says what."""


def say(message: str) -> None:
    """Print one line with the time since the command began, on standard error."""
    sys.stderr.write(f"[{time.monotonic() - _started:6.1f} s] {message}\n")
    sys.stderr.flush()


def cache_dir() -> Path:
    """The directory of everything that is kept between builds."""
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "assay"


def image_archive() -> Path:
    """Build what is not there yet and return the image's OCI archive."""
    archive = cache_dir() / "images" / f"assay-{_digest(*_input_files())}.tar"
    if archive.is_file():
        archive.touch()
        return archive
    with _exclusive(cache_dir() / "images" / ".lock"):
        if not archive.is_file():
            _require("buildah", "mmdebstrap", "skopeo")
            _build_image(archive)
            _forget_old(archive.parent)
    return archive


def base_archive() -> Path:
    """Return the Debian base as an archive of its root file system; made once for each list of packages."""
    archive = cache_dir() / "images" / f"base-{_base_key()}.tar"
    if not archive.is_file():
        _require("mmdebstrap")
        say(f"making a Debian base with {', '.join(PACKAGES)} (about a minute)")
        archive.parent.mkdir(parents=True, exist_ok=True)
        partial = archive.with_suffix(".partial.tar")
        excluded = [f"--dpkgopt=path-exclude={path}" for path in UNNEEDED]
        mirror = [mirror] if (mirror := os.environ.get("ASSAY_DEBIAN_MIRROR")) else []
        merged = "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"
        packages = f"--include={','.join(PACKAGES)}"
        _run("mmdebstrap", "--quiet", "--variant=essential", merged, packages, *excluded, SUITE, str(partial), *mirror)
        partial.rename(archive)
    return archive


def _base_key() -> str:
    return hashlib.sha256(repr((SUITE, PACKAGES, UNNEEDED)).encode()).hexdigest()[:16]


def _build_image(archive: Path) -> None:
    base, wheels = _base_image(), _wheels()
    say("building Assay's image")
    name = f"localhost/assay:{archive.stem.removeprefix('assay-')}"
    context = [
        str(REPOSITORY),
        "--file",
        str(REPOSITORY / "Dockerfile"),
        "--ignorefile",
        str(REPOSITORY / ".dockerignore"),
    ]
    options = ["--build-arg", f"BASE={base}", "--build-arg", "PIP_OPTIONS=--no-index --find-links=/wheels"]
    _buildah(
        "build",
        "--layers",
        "--pull-never",
        "--timestamp=0",
        "-v",
        f"{wheels}:/wheels:ro",
        "-t",
        name,
        *options,
        *context[1:],
        context[0],
    )
    say("writing the archive")
    partial = archive.with_suffix(".partial.tar")
    partial.unlink(missing_ok=True)
    fast = ("--compression-format", "zstd", "--compression-level", "1")
    _buildah("push", "--quiet", *fast, name, f"oci-archive:{partial}:assay")
    partial.rename(archive)


def _base_image() -> str:
    """Import the base into buildah's storage and return its name there."""
    name = f"localhost/assay-base:{_base_key()}"
    known = _buildah("images", "--quiet", "--filter", f"reference={name}")
    if not known.strip():
        archive = base_archive()
        say("importing the base")
        container = _buildah("from", "scratch").strip()
        _buildah("add", "--quiet", container, str(archive), "/")
        _buildah("commit", "--quiet", "--rm", container, name)
    return name


def _wheels() -> Path:
    """Fetch the wheels of the runtime lock, by their hashes, into a directory of their own."""
    lock = runtime_lock(
        *((REPOSITORY / name).read_text(encoding="utf-8") for name in ("requirements.txt", "pyproject.toml"))
    )
    wheels = cache_dir() / "wheels" / hashlib.sha256(lock.encode()).hexdigest()[:16]
    if not wheels.is_dir():
        say("fetching the libraries' wheels")
        partial = wheels.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        (partial / "runtime.txt").write_text(lock, encoding="utf-8")
        target = ["--only-binary=:all:", f"--python-version={PYTHON}", "--no-deps", "--require-hashes", "--quiet"]
        _run(sys.executable, "-m", "pip", "download", *target, "-r", str(partial / "runtime.txt"), "-d", str(partial))
        partial.rename(wheels)
    return wheels


def _buildah(*arguments: str) -> str:
    storage = cache_dir() / "buildah"
    command, *rest = arguments
    isolation = ["--isolation", "chroot"] if command in ("build", "from") else []
    places = ["--root", str(storage / "root"), "--runroot", str(storage / "run"), "--storage-driver", "overlay"]
    return _run("buildah", *places, command, *isolation, *rest)


def _run(*command: str) -> str:
    """Run a command to its end and return its standard output."""
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise Failure(f"{' '.join(command[:6])} … failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def _input_files() -> list[Path]:
    roots = (REPOSITORY / name for name in INPUTS)
    files = (file for root in roots for file in ([root] if root.is_file() else root.rglob("*")))
    return sorted(file for file in files if file.is_file() and "__pycache__" not in file.parts)


def _digest(*files: Path) -> str:
    """Hash the names and the contents of files of the repository."""
    total = hashlib.sha256()
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(REPOSITORY)}\0{file.stat().st_mode & 0o111}\0{content}\n".encode())
    return total.hexdigest()[:16]


def _forget_old(images: Path) -> None:
    by_age = sorted(images.glob("assay-*.tar"), key=lambda archive: archive.stat().st_mtime, reverse=True)
    for archive in by_age[KEPT_IMAGES:]:
        archive.unlink()
        _buildah("rmi", f"localhost/assay:{archive.stem.removeprefix('assay-')}")


def _require(*programs: str) -> None:
    if missing := [program for program in programs if not shutil.which(program)]:
        raise Failure(f"not installed: {', '.join(missing)} (`python3 dev/cluster/cluster.py setup` installs them)")


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build Assay's image; print the path of its OCI archive.")
    parser.add_argument("--base", action="store_true", help="only the Debian base; print the path of its archive")
    options = parser.parse_args()
    try:
        print(base_archive() if options.base else image_archive())
    except Failure as failure:
        raise SystemExit(f"error: {failure}") from None


if __name__ == "__main__":
    main()
