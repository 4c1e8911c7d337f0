"""Published releases: fetched once by the ecosystem's own client, checked by hash, unpacked byte for byte."""

import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from assay_examples.caches import fresh_directory
from assay_examples.commands import output_of
from assay_examples.recipes import Release


class ArtefactError(RuntimeError):
    """A release is not what the recipe says it is, or cannot be had."""


def artefact(cache: Path, *, language: str, package: str, release: Release) -> Path:
    """The release's archive in the cache, fetched when it is not there yet; its SHA-256 is the recipe's."""
    suffix = "zip" if language == "go" else "tar.gz"
    target = cache / "artefacts" / f"{release.sha256}.{suffix}"
    if not target.exists():
        with fresh_directory(cache / "artefacts" / f"fetch-{release.sha256[:16]}") as scratch:
            fetch = _fetch_module if language == "go" else _fetch_sdist
            found = fetch(package, release.version, scratch)
            actual = hashlib.sha256(found.read_bytes()).hexdigest()
            if actual != release.sha256:
                raise ArtefactError(f"{package} {release.version} has SHA-256 {actual}, the recipe {release.sha256}")
            found.rename(target)
        shutil.rmtree(cache / "artefacts" / f"fetch-{release.sha256[:16]}")
    return target


def _fetch_sdist(package: str, version: str, into: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package]
    output_of([*pip, "--dest", into, f"{package}=={version}"])
    return _only_file(into, package)


def _only_file(folder: Path, package: str) -> Path:
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise ArtefactError(f"the client brought {len(files)} files for {package}, one was expected")
    return files[0]


def _fetch_module(package: str, version: str, into: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=into.parent) as modules:
        env = {"GOMODCACHE": modules, "GOFLAGS": "-modcacherw", "GO111MODULE": "on"}
        answer = json.loads(output_of(["go", "mod", "download", "-json", f"{package}@{version}"], cwd=into, env=env))
        return Path(shutil.move(answer["Zip"], into / "module.zip"))


def unpack(archive: Path, into: Path) -> None:
    """Write the release's tree into the empty directory `into`, without its leading folder and without `.git`."""
    if archive.suffix == ".zip":
        _unpack_zip(archive, into)
    else:
        _unpack_tar(archive, into)


def _unpack_zip(archive: Path, into: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        for entry in source.infolist():
            _, at, path = entry.filename.partition("@")
            relative = PurePosixPath(path.partition("/")[2] if at else entry.filename)
            if entry.is_dir() or not _kept(relative):
                continue
            target = into / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read(entry))


def _unpack_tar(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as source:
        for member in source:
            relative = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            if member.isdir() or not relative.parts or not _kept(relative):
                continue
            target = into / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
                continue
            content = source.extractfile(member)
            if content is None:
                raise ArtefactError(f"{archive.name}: {member.name} is neither file nor symbolic link")
            target.write_bytes(content.read())
            target.chmod(0o755 if member.mode & 0o100 else 0o644)


def _kept(relative: PurePosixPath) -> bool:
    if relative.is_absolute() or ".." in relative.parts:
        raise ArtefactError(f"a release holds the path {relative}, which leaves its tree")
    return ".git" not in relative.parts
