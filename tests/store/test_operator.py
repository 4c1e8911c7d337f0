"""The operator with its store on an S3 server that fails: no verdict before its evidence is stored, and no run twice."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.cli.verify import artifacts_of
from assay.store.artifacts import Store
from conftest import ROOT, TestCluster
from store.s3 import Disk, S3Server

if str(ROOT / "benchmarks") not in sys.path:
    sys.path.append(str(ROOT / "benchmarks"))

from stage import NAMESPACE, OperatorProcess, Stage, login_of
from throughput import validation, witness_log

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]
SECONDS = 180


class Site:
    """An operator on the simulated cluster whose store is on the server."""

    def __init__(self, cluster: TestCluster, folder: Path, store: str) -> None:
        directory = cluster.kubeconfig.parent
        (directory / "simlogs" / "witness.log").write_text(witness_log())
        kubeconfig = str(cluster.kubeconfig)
        self.stage = Stage(
            name=cluster.name, environment=cluster.environment, directory=directory, login=login_of(kubeconfig)
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.stage.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(namespace))
        self.operator = OperatorProcess(self.stage, folder, store=store)
        self.operator.start()

    def apply(self, name: str) -> None:
        """Apply a task that its first run condemns."""
        self.stage.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(validation(name, "store")))

    def status(self, name: str) -> api.TaskValidationStatus:
        """An object's status."""
        raw = json.loads(self.stage.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json"))
        return api.TaskValidationStatus.model_validate(raw.get("status") or {})

    def pods(self) -> list[dict[str, Any]]:
        """The pods of runs."""
        found: list[dict[str, Any]] = json.loads(self.stage.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))[
            "items"
        ]
        return found

    def until(self, told: Callable[[], bool], what: str) -> None:
        """Wait for something; fail with the operator's last words."""
        end = time.monotonic() + SECONDS
        while not told():
            assert time.monotonic() < end, f"{what} was not seen: {self.operator.log.read_text()[-2000:]}"
            time.sleep(0.2)

    def until_refused(self, why: str) -> None:
        """Wait until the operator's log tells of a new refusal by the store."""
        before = sum(why in line for line in self.operator.lines("WARNING"))
        self.until(lambda: sum(why in line for line in self.operator.lines("WARNING")) > before, why)


@pytest.fixture
def site(api_cluster: TestCluster, server: S3Server, tmp_path: Path) -> Iterator[Site]:
    """The operator; its namespace and the logs of simulated pods are as they were afterwards."""
    logs = api_cluster.kubeconfig.parent / "simlogs" / "witness.log"
    before = logs.read_bytes() if logs.exists() else None
    folder = tmp_path / "operator"
    folder.mkdir()
    made = Site(api_cluster, folder, server.uri)
    yield made
    made.operator.stop()
    api_cluster.kubectl("delete", "namespace", NAMESPACE)
    if before is not None:
        logs.write_bytes(before)


def assert_nothing_is_told(site: Site, name: str) -> None:
    """The status names no artifact, and the evidence is still in its pod."""
    status = site.status(name)
    assert status.verdict is None
    assert list(artifacts_of(status)) == []
    assert [pod["metadata"].get("deletionTimestamp") for pod in site.pods()] == [None]


def test_a_verdict_waits_for_the_store_through_every_kind_of_failure(site: Site, server: S3Server, disk: Disk) -> None:
    server.stop()
    site.apply("acorn-1")
    site.until_refused("Could not connect")
    assert_nothing_is_told(site, "acorn-1")
    server.start(readonly=True)
    site.until_refused("ACCESS_DENIED")
    assert_nothing_is_told(site, "acorn-1")
    server.stop()
    disk.fill()
    server.start()
    site.until_refused("No space left")
    assert_nothing_is_told(site, "acorn-1")
    disk.clear()
    site.until(lambda: site.status("acorn-1").verdict is not None, "a verdict")
    status = site.status("acorn-1")
    assert (status.verdict, status.reason) == ("Invalid", "TargetTestsPassUnpatched")
    assert [(run.name, run.attempt, run.faults) for run in status.runs if run.log] == [("unpatched-1", 1, ())]
    store, artifacts = Store(server.uri), list(artifacts_of(status))
    assert [what for what, _ in artifacts] == ["unpatched-1 log", "unpatched-1 results", "report"]
    for _, artifact in artifacts:
        assert len(store.get(artifact.sha256)) == artifact.bytes
    assert site.operator.lines("ERROR") == []
