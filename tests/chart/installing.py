"""Assay installed by its chart on a real node, and examples applied to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conftest import ROOT, TestCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An installed chart: where, and with which image."""

    cluster: TestCluster
    system: str
    runs: str
    image: str

    def program(self, *command: str) -> str:
        """Run a program on the cluster and return its output; a failure shows the operator's log."""
        environment = self.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
        done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{self.log('deploy/assay-operator')}"
        return done.stdout

    def log(self, what: str) -> str:
        """The end of a log."""
        said = self.cluster.kubectl("logs", "-n", self.system, what, "--tail=60", check=False)
        return said.stdout + said.stderr

    def values(self, *more: str) -> tuple[str, ...]:
        """What helm is told of this release."""
        chosen = [f"image.reference={self.image}", f"runs.namespace={self.runs}", "operator.cpuRequestFraction=0.25"]
        return (*(part for value in (*chosen, *more) for part in ("--set", value)), "--wait", "--timeout", "240s")

    def apply_example(self, folder: Path, name: str) -> dict[str, Any]:
        """Build, push and apply an example; return its manifest."""
        build = (sys.executable, "examples/build.py")
        self.program(*build, "images", "--only", name)
        self.program(*build, "push", "--registry", self.cluster.registry, "--only", name)
        self.program(*build, "manifests", "--registry", self.cluster.registry, "--out", str(folder), "--only", name)
        (file,) = folder.iterdir()
        self.cluster.kubectl("apply", "--server-side", "-n", self.runs, "-f", str(file))
        manifest: dict[str, Any] = yaml.safe_load(file.read_text())
        return manifest

    def apply(self, manifest: dict[str, Any]) -> None:
        """Apply one object."""
        self.cluster.kubectl("apply", "--server-side", "-n", self.runs, "-f", "-", stdin=json.dumps(manifest))

    def wait(self, what: str, seconds: int = 300) -> dict[str, Any]:
        """Wait until an object is complete and return it."""
        self.program("kubectl", "wait", "--for=condition=Complete", what, "-n", self.runs, f"--timeout={seconds}s")
        found: dict[str, Any] = json.loads(self.cluster.kubectl("get", what, "-n", self.runs, "-o", "json").stdout)
        return found


@contextmanager
def installed(cluster: TestCluster, name: str, *more: str) -> Iterator[Release]:
    """Assay, installed and ready in namespaces of its own, which begin to go away at the end."""
    done = subprocess.run((sys.executable, "dev/image/build.py"), cwd=ROOT, text=True, capture_output=True, check=True)
    image = cluster.load(Path(done.stdout.strip().splitlines()[-1]), f"assay:{name}")
    release = Release(cluster=cluster, system=f"{name}-system", runs=f"{name}-runs", image=image)
    helm = ("helm", "install", "assay", "charts/assay", "-n", release.system, "--create-namespace")
    release.program(*helm, *release.values(*more))
    try:
        yield release
    finally:
        cluster.kubectl("delete", "namespace", release.system, release.runs, "--ignore-not-found", "--wait=false")
