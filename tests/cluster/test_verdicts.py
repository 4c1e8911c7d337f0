"""Real tasks on a real node: verdicts, evidence, an operator that is killed, an object that is deleted."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.store.artifacts import Store
from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

EXAMPLES = (
    "valid",
    "targets-pass-unpatched",
    "test-patch-does-not-apply",
    "image-missing",
    "out-of-memory",
    "regression",
)
NAMESPACE = "assay-runs"


class OperatorProcess:
    """``assay operator`` as a process of this machine, on the cluster under test."""

    def __init__(self, cluster: TestCluster, folder: Path, image: str) -> None:
        self._environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator"), "POD_NAME": "under-test"}
        self._settings = folder / "settings.yaml"
        self._log = folder / "operator.log"
        self.store = Store(f"file://{folder}/store")
        settings = {
            "namespace": NAMESPACE,
            "leaseNamespace": "default",
            "witnessImage": image,
            "store": self.store.uri,
            "httpPort": 0,
            "httpAddress": "127.0.0.1",
            "cpuRequestFraction": 0.25,
        }
        self._settings.write_text(yaml.safe_dump(settings))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            command = (sys.executable, "-m", "assay", "operator", "--config", str(self._settings))
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, cwd=ROOT)

    def kill(self, kind: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        if self._process:
            self._process.send_signal(kind)
            self._process.wait(30)
            self._process = None

    def said(self) -> str:
        """Its log's end."""
        return self._log.read_text()[-4000:]


@pytest.fixture(scope="module")
def operator(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    archive = output_of(cluster, sys.executable, "dev/image/build.py").strip().splitlines()[-1]
    image = cluster.load(Path(archive), "assay:test")
    for action in (("images",), ("push", "--registry", cluster.registry)):
        output_of(cluster, sys.executable, "examples/build.py", *action, "--only", ",".join(EXAMPLES))
    cluster.kubectl("create", "namespace", NAMESPACE)
    policy = yaml.safe_dump(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "deny-all", "namespace": NAMESPACE},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        }
    )
    cluster.kubectl("apply", "-f", "-", stdin=policy)
    process = OperatorProcess(cluster, tmp_path_factory.mktemp("operator"), image)
    process.start()
    yield process
    process.kill(signal.SIGTERM)


@pytest.fixture(scope="module")
def manifests(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("manifests")
    options = ("--registry", cluster.registry, "--out", str(folder), "--only", ",".join(EXAMPLES))
    output_of(cluster, sys.executable, "examples/build.py", "manifests", *options)
    return {path.stem: yaml.safe_load(path.read_text()) for path in folder.iterdir()}


def output_of(cluster: TestCluster, *command: str) -> str:
    """Run a program of the repository."""
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, check=True).stdout


def until(told: Callable[[], bool], seconds: float, operator: OperatorProcess) -> None:
    """Wait for something; fail with the operator's last words."""
    end = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < end, operator.said()
        time.sleep(0.5)


def status_of(cluster: TestCluster, name: str) -> dict[str, Any]:
    found = cluster.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json").stdout
    status: dict[str, Any] = json.loads(found).get("status", {})
    return status


def apply(cluster: TestCluster, manifest: dict[str, Any], name: str | None = None) -> None:
    changed = manifest | {"metadata": manifest["metadata"] | ({"name": name} if name else {})}
    cluster.kubectl("apply", "--server-side", "-n", NAMESPACE, "-f", "-", stdin=yaml.safe_dump(changed))


def test_every_example_gets_the_verdict_that_execution_gives(
    cluster: TestCluster, operator: OperatorProcess, manifests: dict[str, dict[str, Any]]
) -> None:
    for manifest in manifests.values():
        apply(cluster, manifest)
    names = list(manifests)
    until(lambda: all(status_of(cluster, name).get("phase") == "Complete" for name in names), 600, operator)
    for name, manifest in manifests.items():
        status = status_of(cluster, name)
        expected = manifest["metadata"]["annotations"]["examples.assay.dev/expected"]
        said = status["verdict"] if status["verdict"] == "Valid" else f"{status['verdict']}/{status['reason']}"
        assert said == expected, (name, status["message"])


def test_a_valid_task_was_isolated_pinned_and_its_logs_have_the_hashes_in_status(
    cluster: TestCluster, operator: OperatorProcess
) -> None:
    status = status_of(cluster, "valid")
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == dict.fromkeys(
        ("Accepted", "ImageResolved", "NetworkIsolationVerified", "Complete", "Valid"), "True"
    )
    assert "@sha256:" in status["image"]["digest"]
    assert (status["tests"]["failToPass"]["count"], status["tests"]["passToPass"]["count"]) == (2, 14)
    assert len(status["runs"]) == 5
    for run in status["runs"]:
        content = operator.store.get(run["log"]["sha256"])
        assert hashlib.sha256(content).hexdigest() == run["log"]["sha256"]
        assert len(content) == run["log"]["bytes"]
        assert run["isolation"]["targets"] > 0
        assert run["isolation"]["leaks"] == 0


def test_an_operator_that_is_killed_again_and_again_comes_to_the_same_verdict(
    cluster: TestCluster, operator: OperatorProcess, manifests: dict[str, dict[str, Any]]
) -> None:
    apply(cluster, manifests["valid"], "killed")
    for pause in (0.7, 2.0, 3.0, 1.5, 4.0, 2.5):
        time.sleep(pause)
        operator.kill()
        operator.start()
    until(lambda: status_of(cluster, "killed").get("phase") == "Complete", 300, operator)
    status, before = status_of(cluster, "killed"), status_of(cluster, "valid")
    assert (status["verdict"], status["tests"]) == (before["verdict"], before["tests"])
    assert [run["name"] for run in status["runs"]] == [run["name"] for run in before["runs"]]


def test_deleting_an_object_in_the_middle_of_a_run_leaves_nothing(
    cluster: TestCluster, operator: OperatorProcess, manifests: dict[str, dict[str, Any]]
) -> None:
    apply(cluster, manifests["valid"], "deleted")
    uid = cluster.kubectl("get", "tv", "deleted", "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}").stdout
    owned = ("get", "pods,secrets", "-n", NAMESPACE, "-l", f"assay.dev/object={uid}", "-o", "name")
    until(lambda: "pod/" in cluster.kubectl(*owned).stdout, 60, operator)
    cluster.kubectl("delete", "tv", "deleted", "-n", NAMESPACE)
    until(lambda: not cluster.kubectl(*owned).stdout.strip(), 60, operator)


def test_an_object_that_is_no_task_is_refused_with_its_field(
    cluster: TestCluster, operator: OperatorProcess, manifests: dict[str, dict[str, Any]]
) -> None:
    manifest = json.loads(json.dumps(manifests["valid"]))
    manifest["spec"]["task"]["tests"]["parser"] = "parse_log_pytset"
    apply(cluster, manifest, "refused")
    until(lambda: status_of(cluster, "refused").get("phase") == "Complete", 30, operator)
    status = status_of(cluster, "refused")
    assert status["reason"] == "MalformedTask"
    assert "spec.task.tests.parser" in status["message"]
