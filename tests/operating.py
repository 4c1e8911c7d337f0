"""An operator at work on the simulated cluster, whose pods all log the same run, and what tests ask of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from assay.api import v1alpha1 as api
from conftest import ROOT, TestCluster

if str(ROOT / "benchmarks") not in sys.path:
    sys.path.append(str(ROOT / "benchmarks"))

from stage import NAMESPACE, OperatorProcess, Stage, login_of
from throughput import validation, witness_log

__all__ = ["NAMESPACE", "Site", "operating", "serve_operator", "validation"]

SECONDS = 240
"""How long anything may take on a busy machine."""


class Site:
    """A cluster, an operator on it, and the operator's folder with its settings, log and store."""

    def __init__(self, cluster: TestCluster, folder: Path, **settings: Any) -> None:
        self.cluster, self.folder = cluster, folder
        self.store = str(settings.get("store", f"file://{folder}/store"))
        self._logs = cluster.kubeconfig.parent / "simlogs" / "witness.log"
        self._logs_before = self._logs.read_bytes() if self._logs.exists() else None
        login = login_of(str(cluster.kubeconfig))
        stage = Stage(
            name=cluster.name, environment=cluster.environment, directory=cluster.kubeconfig.parent, login=login
        )
        self.operator = OperatorProcess(stage, folder, **settings)

    def start(self) -> None:
        """Make the namespace of the runs, which has no objects, and start the operator."""
        self.cluster.make_namespace(NAMESPACE)
        self.empty()
        self._logs.write_text(witness_log())
        self.operator.start()

    def end(self) -> None:
        """End the operator; the cluster, which other tests share, is as it was."""
        self.operator.stop()
        self.empty()
        if self._logs_before is not None:
            self._logs.write_bytes(self._logs_before)

    def empty(self) -> None:
        """Delete all tasks and episodes."""
        self.cluster.kubectl("delete", "tv,ae", "--all", "-n", NAMESPACE)

    def apply(self, manifest: dict[str, Any]) -> None:
        """Apply one object."""
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))

    def status(self, name: str) -> api.TaskValidationStatus:
        """An object's status."""
        raw = json.loads(self.cluster.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json").stdout)
        return api.TaskValidationStatus.model_validate(raw.get("status") or {})

    def pods(self) -> list[dict[str, Any]]:
        """The pods of runs."""
        found: list[dict[str, Any]] = json.loads(
            self.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json").stdout
        )["items"]
        return found

    def until(self, told: Callable[[], object], what: object = "") -> None:
        """Wait for something; fail with the operator's last words."""
        end = time.monotonic() + SECONDS
        while not told():
            assert time.monotonic() < end, f"{what} was not seen: {self.operator.log.read_text()[-2000:]}"
            time.sleep(0.2)

    def until_status(self, name: str, told: Callable[[api.TaskValidationStatus], bool]) -> api.TaskValidationStatus:
        """Wait for a status and return it."""
        self.until(lambda: told(self.status(name)), name)
        return self.status(name)

    def assay(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``assay`` in the site's folder, as a user of the cluster would."""
        environment = self.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
        return subprocess.run(
            (sys.executable, "-m", "assay", *words),
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )


@contextmanager
def operating(cluster: TestCluster, folder: Path, **settings: Any) -> Iterator[Site]:
    """A site whose operator, with these settings, is ready."""
    site = Site(cluster, folder, **settings)
    try:
        site.start()
        yield site
    finally:
        site.end()


def serve_operator(cluster: TestCluster, namespace: str, port: int) -> None:
    """Make the Service of an operator that is a process of this machine.

    The API server's proxy goes to addresses of pods alone, so there is one by name with the machine's address.
    """
    address = cluster.host
    metadata = {"name": "assay-operator", "namespace": namespace}
    ports = [{"name": "http", "port": port}]
    pod = {"schedulerName": "nobody", "containers": [{"name": "operator", "image": "none"}]}
    target = {"kind": "Pod", "name": "assay-operator", "namespace": namespace}
    subset = {"addresses": [{"ip": address, "targetRef": target}], "ports": ports}
    parts = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod},
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]},
    ]
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(parts))
    status = json.dumps({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}})
    cluster.kubectl("patch", "pod", "assay-operator", "-n", namespace, "--subresource=status", "-p", status)
