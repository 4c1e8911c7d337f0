"""The cgroups of a cluster's pods: one directory in each hierarchy, which no namespace takes away with it."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")


def make(name: str) -> None:
    """Make the root cgroup that the kubelet is told to use; it does not make it itself."""
    for hierarchy in _hierarchies():
        target = hierarchy / name
        target.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # v1: empty in a new cgroup, and then no process may enter it
            if (target / file).exists() and not (target / file).read_text().strip():
                (target / file).write_text((hierarchy / file).read_text())


def remove(name: str, *, patience: float = 10) -> list[Path]:
    """Remove the cgroups and return what is left after the patience: a dead process lingers in its own for a moment."""
    deadline = time.monotonic() + patience
    while True:
        left = [path for path in _of(name) if not _remove_tree(path)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def exist(name: str) -> bool:
    """Whether any hierarchy has them."""
    return bool(_of(name))


def _of(name: str) -> list[Path]:
    return [hierarchy / name for hierarchy in _hierarchies() if (hierarchy / name).is_dir()]


def _hierarchies() -> Iterator[Path]:
    """Version 2 has one hierarchy, version 1 one for each controller (some of them links to one another)."""
    if (_MOUNT / "cgroup.controllers").exists():
        yield _MOUNT
        return
    for entry in _MOUNT.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            yield entry


def _remove_tree(root: Path) -> bool:
    for directory in sorted((path for path in root.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts)):
        with suppress(OSError):
            directory.rmdir()
    with suppress(OSError):
        root.rmdir()
    return not root.exists()
