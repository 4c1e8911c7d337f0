"""Direct execution: a command inside a task's root file system, without Kubernetes.

The file system is an overlay of the image's own layers below a private upper directory, so every sandbox starts from
the image's bits. Namespaces of its own (mounts, processes, host name; the network too unless it is asked for, with the
loopback interface up) end with the command, and so do its mounts. A memory limit is a cgroup's, as in a pod.
"""

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATH = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
IMAGE_ENVIRONMENT = {
    "PATH": PATH,
    "GOCACHE": "/root/.cache/go-build",
    "GOMODCACHE": "/root/go/pkg/mod",
    "GOPATH": "/root/go",
}
LONGEST_DYING = 20.0
"""Seconds that killed processes may take to leave their cgroup."""
_COUNTER = itertools.count()
_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

# $1 lower directories, $2 upper, $3 work, $4 mount point, $5 cgroup file or empty, $6 loopback or empty, then the command
_ENTER = """
set -e
[ -z "$5" ] || echo 0 > "$5"
[ -z "$6" ] || ip link set lo up
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"
root=$4
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do : > "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
shift 6
exec chroot "$root" "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one command did. `code` is None when its time ran out; `out_of_memory` is the cgroup's own count."""

    stdout: bytes
    stderr: bytes
    code: int | None
    out_of_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A root file system of `layers` (lowest first) whose changes go to `upper`; `scratch` is its own directory."""

    layers: Sequence[Path]
    upper: Path
    scratch: Path

    def run(
        self,
        script: str,
        *,
        workdir: str = "/",
        network: bool = False,
        seconds: float = 600,
        memory: str = "8Gi",
    ) -> Done:
        """Run a shell script as root; it and all that it started are gone when this returns."""
        work, root = self.scratch / "work", self.scratch / "root"
        for folder in (work, root, self.upper):
            folder.mkdir(parents=True, exist_ok=True)
        lower = ":".join(str(layer) for layer in reversed(self.layers))
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc"]
        spaces += [] if network else ["--net"]
        inside = ["/bin/bash", "-c", 'cd "$1" && eval "$2"', "bash", workdir, script]
        environment = {**IMAGE_ENVIRONMENT, "HOME": "/root"}
        with _memory_group(memory) as group:
            arguments = [lower, str(self.upper), str(work), str(root), group.tasks, "" if network else "lo"]
            argv = [*spaces, "/bin/sh", "-c", _ENTER, "enter", *arguments, *inside]
            return _finish(argv, environment, seconds=seconds, group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    folder: Path | None

    @property
    def tasks(self) -> str:
        return "" if self.folder is None else str(self.folder / "cgroup.procs")

    def kills(self) -> int:
        """How many processes the kernel has killed in this group for want of memory."""
        if self.folder is None:
            return 0
        for name in ("memory.oom_control", "memory.events"):
            if (self.folder / name).exists():
                words = (line.split() for line in (self.folder / name).read_text().splitlines())
                return sum(int(count) for key, count in words if key == "oom_kill")
        return 0


def _finish(argv: Sequence[str], env: Mapping[str, str], *, seconds: float, group: _Group) -> Done:
    process = subprocess.Popen(
        argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        stdout, stderr = process.communicate(timeout=seconds)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        code = None
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Done(stdout=stdout, stderr=stderr, code=code, out_of_memory=group.kills() > 0)


@contextlib.contextmanager
def _memory_group(limit: str) -> Iterator[_Group]:
    """A cgroup (v1 or v2) with that limit, gone afterwards."""
    v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    parent, file = (v1, "memory.limit_in_bytes") if v1.is_dir() else (v2, "memory.max")
    folder = parent / f"assay-examples-{os.getpid()}-{next(_COUNTER)}"
    folder.mkdir()
    try:
        (folder / file).write_text(str(bytes_of(limit)))
        yield _Group(folder=folder)
    finally:
        _remove_group(folder)


def _remove_group(folder: Path) -> None:
    """Remove a cgroup as soon as the killed processes in it are gone, which the kernel does in its own time."""
    deadline = time.monotonic() + LONGEST_DYING
    while (folder / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    folder.rmdir()


def bytes_of(quantity: str) -> int:
    """Bytes of a Kubernetes quantity with the suffix Ki, Mi, Gi or none."""
    return int(quantity[:-2]) * _UNITS[quantity[-2:]] if quantity[-2:] in _UNITS else int(quantity)
