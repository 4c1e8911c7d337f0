"""A bundle on a real API server: pushed through the Service's proxy, loaded by the operator, refused when it differs."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.api.bundles import BundledTask
from assay.datasets.bundles import BundleWriter, Document
from assay.domain.datasets.digests import digest_of, document_of
from assay.store.artifacts import Store
from builders import make_manifest
from conftest import ROOT, TestCluster
from operating import serve_operator

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

NAMESPACE = "bundles"
LINES = 100_000
PATCH = f"diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,{LINES} @@\n" + "".join(
    f"+line {number} of a large file, made to be quite large\n" for number in range(LINES)
)


class Site:
    """An operator on the cluster, its Service and its store."""

    def __init__(self, cluster: TestCluster, folder: Path) -> None:
        self.cluster, self.store, self.folder = cluster, Store(f"file://{folder}/store"), folder
        self._log = folder / "operator.log"
        port = free_port()
        settings = {
            "namespace": NAMESPACE,
            "leaseNamespace": NAMESPACE,
            "store": self.store.uri,
            "httpPort": port,
        }
        (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
        cluster.kubectl("create", "namespace", NAMESPACE)
        serve_operator(cluster, NAMESPACE, port)
        environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator"), "POD_NAME": "under-test"}
        command = (sys.executable, "-m", "assay", "operator", "--config", str(folder / "settings.yaml"))
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)

    def status(self, name: str) -> dict[str, Any]:
        """An object's status."""
        said = json.loads(self.cluster.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json").stdout)
        found: dict[str, Any] = said.get("status", {})
        return found

    def accepted(self, name: str) -> tuple[str, str]:
        """Status and reason of the condition Accepted."""
        conditions = {condition["type"]: condition for condition in self.status(name).get("conditions", [])}
        found = conditions.get("Accepted", {"status": "", "reason": ""})
        return found["status"], found["reason"]

    def until(self, told: Callable[[], bool], seconds: float = 120) -> None:
        """Wait for something; fail with the operator's last words."""
        end = time.monotonic() + seconds
        while not told():
            assert time.monotonic() < end, self._log.read_text()[-1000:]
            time.sleep(0.3)

    def apply(self, name: str, digest: str) -> None:
        """Apply an object that refers to a task."""
        manifest = make_manifest(name, namespace=NAMESPACE)
        del manifest["spec"]["task"]
        manifest["spec"]["taskFrom"] = {"dataset": "acorn/tasks", "id": "acorn__lantern-7", "digest": digest}
        manifest["spec"]["provenance"] = {"dataset": "acorn/tasks", "revision": "r1"}
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(manifest))

    def push(self, bundle: Path) -> subprocess.CompletedProcess[str]:
        """Push a bundle by the operator's Service."""
        options = ("push", str(bundle), "--service", f"{NAMESPACE}/assay-operator")
        environment = self.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
        return subprocess.run(
            (sys.executable, "-m", "assay", *options), env=environment, text=True, capture_output=True, check=False
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def site(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    found = Site(api_cluster, tmp_path_factory.mktemp("site"))
    yield found
    found.process.send_signal(signal.SIGTERM)
    found.process.wait(30)


def document_with(patch: str, **fields: Any) -> Document:
    task = BundledTask.model_validate(make_manifest()["spec"]["task"] | {"patch": patch} | fields)
    content = document_of(task)
    return Document(id=task.id, repo=task.repo, digest=digest_of(content), content=content)


def bundle_of(folder: Path, *documents: Document) -> Path:
    with BundleWriter(folder, dataset="acorn/tasks", revision="r1") as bundle:
        for document in documents:
            bundle.add(document)
    return folder


def test_a_task_with_five_megabytes_of_patch_is_waited_for_pushed_and_run(site: Site, tmp_path: Path) -> None:
    large = document_with(PATCH)
    assert len(large.content) > 5_000_000
    bundle = bundle_of(tmp_path / "bundle", large)
    site.apply("large", large.digest)
    site.until(lambda: site.accepted("large") == ("Unknown", "TaskUnavailable"))
    assert "verdict" not in site.status("large")

    said = []

    def pushed() -> bool:
        said.append(site.push(bundle))
        return said[-1].returncode == 0

    site.until(pushed, 60)  # the Service's endpoint takes a moment
    again = site.push(bundle)
    assert (again.returncode, "1 there already" in again.stderr) == (0, True), again.stderr
    site.until(lambda: site.accepted("large") == ("True", "TaskAccepted"))
    uid = site.cluster.kubectl("get", "tv", "large", "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}").stdout
    owned = ("get", "secrets", "-n", NAMESPACE, "-l", f"assay.dev/object={uid}", "-o", "name")
    site.until(lambda: len(site.cluster.kubectl(*owned).stdout.split()) >= 5)
    assert site.status("large")["provenance"] == {
        "dataset": "acorn/tasks",
        "family": "",
        "revision": "r1",
        "rowDigest": "",
    }


def test_a_task_whose_bytes_differ_is_malformed_with_the_digests_field(site: Site) -> None:
    right, other = document_with("", statement="right"), document_with("", statement="other")
    for document in (right, other):
        site.store.put(document.content)
    paths = [site.folder / "store" / said.digest[:2] / f"{said.digest}.zst" for said in (right, other)]
    paths[0].write_bytes(paths[1].read_bytes())
    site.apply("changed", right.digest)
    site.until(lambda: site.status("changed").get("phase") == "Complete")
    status = site.status("changed")
    assert (status["verdict"], status["reason"]) == ("Invalid", "MalformedTask")
    assert status["message"].startswith("spec.taskFrom.digest: ")
    assert site.accepted("changed") == ("False", "MalformedTask")
