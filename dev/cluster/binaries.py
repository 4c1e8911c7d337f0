"""The programs of a cluster: Debian packages, and Go modules built once into the cache.

Each directory of `tools/` is a Go module of its own. What it builds is cached under a hash of its files and its build
flags, so a change to one tool rebuilds that one alone.
"""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from layout import SOURCE, cache_dir
from locks import exclusive
from progress import Failure, say

KUBERNETES_VERSION = "v1.36.3"
# The command that shows that a package is there, and the package.
PACKAGES: Mapping[str, str] = {
    "/usr/bin/containerd": "containerd",
    "/usr/sbin/runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/iptables": "iptables",
    "/usr/sbin/ipset": "ipset",
    "/usr/sbin/conntrack": "conntrack",
    "/usr/bin/socat": "socat",
    "/usr/bin/buildah": "buildah",
    "/usr/bin/skopeo": "skopeo",
    "/usr/bin/mmdebstrap": "mmdebstrap",
    "/usr/bin/openssl": "openssl",
    "/usr/sbin/ip": "iproute2",
    "/usr/bin/unshare": "util-linux",
    "/usr/bin/mount": "mount",
    "/usr/bin/busybox": "busybox",  # a shell that run.sh is tested with
}
# Empty directories that the node mounts something upon, inside of its own mount namespace.
MOUNT_POINTS = ("/var/lib/kubelet", "/var/log/pods", "/var/log/containers")


def _kubernetes_stamp() -> str:
    """Linker flags without which clients see `v0.0.0-master+$Format`."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    facts = {"gitVersion": KUBERNETES_VERSION, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return "".join(f" -X {package}.{name}={value}" for package in packages for name, value in facts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One Go module below `tools/` and the commands that it gives."""

    name: str
    commands: tuple[str, ...]
    packages: tuple[str, ...] = ("tool",)
    stamp: str = field(default="")

    @property
    def source(self) -> Path:
        """The module's directory."""
        return SOURCE / "tools" / self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """The arguments of `go build`."""
        return ("-trimpath", "-buildvcs=false", "-ldflags", "-s -w" + self.stamp)

    @property
    def digest(self) -> str:
        """A hash of all that decides what is built."""
        found = hashlib.sha256("\0".join((*self.flags, *self.packages)).encode())
        for path in sorted(self.source.iterdir()):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
        return found.hexdigest()[:16]

    @property
    def directory(self) -> Path:
        """Where the built commands lie."""
        return cache_dir() / "bin" / self.digest

    @property
    def built(self) -> bool:
        """Whether all commands are there; the directory appears in one step, when all are."""
        return self.directory.is_dir()


TOOLS = (
    Tool(
        name="kubernetes",
        commands=("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet"),
        stamp=_kubernetes_stamp(),
    ),
    Tool(name="etcd", commands=("etcd",), packages=(".",)),
    Tool(name="registry", commands=("registry",)),
    Tool(name="kube-router", commands=("kube-router",)),
    Tool(name="pause", commands=("pause",), packages=(".",)),
    Tool(name="helm", commands=("helm",)),
    Tool(name="kwok", commands=("kwok",)),
)


def path_of(command: str) -> Path:
    """The built program of this name."""
    for tool in TOOLS:
        if command in tool.commands:
            return tool.directory / command
    raise KeyError(command)


def bin_dir() -> Path:
    """One directory with a link to each program, for a shell's PATH."""
    digest = hashlib.sha256("".join(tool.digest for tool in TOOLS).encode()).hexdigest()[:16]
    return cache_dir() / "bin" / f"all-{digest}"


def set_up() -> None:
    """Install and build whatever is missing; at once when nothing is."""
    if is_set_up():
        return
    with exclusive(cache_dir() / "setup.lock", waiting="another setup is at work; waiting for it"):
        _install_packages()
        _make_mount_points()
        for tool in TOOLS:
            if not tool.built:
                _build(tool)
        _link_all()


def is_set_up() -> bool:
    """Whether `set_up` would have nothing to do."""
    return (
        not missing_packages()
        and all(Path(path).is_dir() for path in MOUNT_POINTS)
        and all(tool.built for tool in TOOLS)
        and bin_dir().is_dir()
    )


def missing_packages() -> list[str]:
    """The Debian packages that are not installed."""
    return [package for path, package in PACKAGES.items() if not Path(path).exists()]


def _install_packages() -> None:
    missing = missing_packages()
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise Failure(f"this machine has no apt-get; install the equivalents of: {' '.join(missing)}")
    say(f"installing Debian packages: {' '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    wait = ("-o", "DPkg::Lock::Timeout=300")
    _run(("apt-get", *wait, "-qq", "update"), environment=environment)
    _run(("apt-get", *wait, "-qq", "install", "-y", "--no-install-recommends", *missing), environment=environment)


def _make_mount_points() -> None:
    for path in MOUNT_POINTS:
        Path(path).mkdir(parents=True, exist_ok=True)


def _build(tool: Tool) -> None:
    """Build into a directory of its own and rename it, so that no one ever sees half of a tool."""
    if not shutil.which("go"):
        raise Failure("no `go` on the PATH: Go 1.26 or newer builds the cluster's programs")
    say(f"building {tool.name} ({', '.join(tool.commands)})")
    started = time.monotonic()
    partial = tool.directory.with_name(f"{tool.digest}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    _run(("go", "build", *tool.flags, "-o", f"{partial}/", *tool.packages), cwd=tool.source, environment=environment)
    absent = [command for command in tool.commands if not (partial / command).exists()]
    if absent:
        raise Failure(f"{tool.name} was built but gave no {', '.join(absent)}")
    partial.rename(tool.directory)
    say(f"built {tool.name} in {time.monotonic() - started:.0f} s")


def _link_all() -> None:
    """Fill the one directory for the PATH, again in one step."""
    target = bin_dir()
    if target.is_dir():
        return
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for tool in TOOLS:
        for command in tool.commands:
            (partial / command).symlink_to(tool.directory / command)
    partial.rename(target)


def _run(command: tuple[str, ...], *, environment: Mapping[str, str], cwd: Path | None = None) -> None:
    """Run a command; its output is shown only when it fails."""
    done = subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Failure(f"`{' '.join(command[:4])} ...` ended with {done.returncode}:\n{tail}")
