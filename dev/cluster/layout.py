"""Where everything lives: the cache directory, and one directory per cluster below it.

Paths only; nothing here touches the file system. `ASSAY_CACHE` overrides the user's cache directory.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def cache_dir() -> Path:
    """The directory of everything that is built or kept between runs."""
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "assay"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one cluster."""

    name: str
    clusters: Path

    @property
    def root(self) -> Path:
        """The cluster's directory; it vanishes with the cluster."""
        return self.clusters / self.name

    @property
    def command_lock(self) -> Path:
        """Held by `up` and `down` of this cluster, one at a time."""
        return self.clusters / f".{self.name}.lock"

    @property
    def alive(self) -> Path:
        """Locked by the supervisor for as long as it lives; holds its process id."""
        return self.root / "supervisor.lock"

    @property
    def plan(self) -> Path:
        """The settings that the cluster was started with."""
        return self.root / "plan.json"

    @property
    def status(self) -> Path:
        """The supervisor's last word: starting, ready or failed."""
        return self.root / "status.json"

    @property
    def exited(self) -> Path:
        """Written by the node when a component ends that should not."""
        return self.root / "exited.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, for people."""
        return self.root / "kubeconfig"

    @property
    def pki(self) -> Path:
        """Keys, certificates and the components' kubeconfigs."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """Configuration files of the components."""
        return self.root / "config"

    @property
    def logs(self) -> Path:
        """One log a component."""
        return self.root / "logs"

    @property
    def data(self) -> Path:
        """What the components store."""
        return self.root / "data"

    @property
    def simulated_logs(self) -> Path:
        """The files that kwok serves as the logs of its pods."""
        return self.root / "simlogs"

    @property
    def identity(self) -> str:
        """A name that no other cluster of this machine has, whoever's cache it is in; it names the cgroups."""
        digest = hashlib.sha256(str(self.root).encode()).hexdigest()[:8]
        return f"assay-{self.name}-{digest}"


def layout_of(name: str) -> Layout:
    """The layout of the cluster with this name; a name is a DNS label of at most 40 characters."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no cluster name: lower-case letters, digits and dashes, at most 40 characters")
    return Layout(name, cache_dir() / "clusters")


def all_layouts() -> list[Layout]:
    """The clusters that have left a directory, running or not."""
    clusters = cache_dir() / "clusters"
    if not clusters.is_dir():
        return []
    return [Layout(entry.name, clusters) for entry in sorted(clusters.iterdir()) if _NAME.fullmatch(entry.name)]
