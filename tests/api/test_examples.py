"""The example of every command's help, run as it stands there: files of a user's directory, a cluster with an operator.

Those of the servers, of deny lists and of predictions are run by the tests of their own.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from assay.cli.main import app
from assay.cli.pages import commands_of, example_of
from builders import make_manifest
from conftest import ROOT, TestCluster
from datasets_made import MADE

if str(ROOT / "benchmarks") not in sys.path:
    sys.path.append(str(ROOT / "benchmarks"))

from stage import NAMESPACE, OperatorProcess, Stage, login_of
from throughput import validation, witness_log

pytestmark = [pytest.mark.api, pytest.mark.timeout(1800)]
SECONDS = 240
SYSTEM = "assay-system"
NAME = "demo-valid"
ELSEWHERE = frozenset({"operator", "gateway", "goproxy", "deny-list", "evaluate", "compare"})
"""First words of commands."""
EXAMPLES = [name for name, _ in commands_of(app) if name.split()[1] not in ELSEWHERE]
"""In the order of the help, in which what one writes is there for the next."""


class Site:
    """A user's directory, and a cluster whose operator has judged one task."""

    def __init__(self, cluster: TestCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        directory = cluster.kubeconfig.parent
        (directory / "simlogs" / "witness.log").write_text(witness_log())
        login = login_of(str(cluster.kubeconfig))
        stage = Stage(name=cluster.name, environment=cluster.environment, directory=directory, login=login)
        for name in (NAMESPACE, SYSTEM):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(namespace))
        self.empty()
        self.store = f"file://{folder}/store"
        self.operator = OperatorProcess(stage, folder, httpAddress="0.0.0.0")
        self.operator.start()
        port = yaml.safe_load((folder / "operator.yaml").read_text())["httpPort"]
        self._serve(cluster.host, int(port))

    def empty(self) -> None:
        """Delete all tasks: the cluster, and with it the namespace, is shared with other tests."""
        self.cluster.kubectl("delete", "tv,ae", "--all", "-n", NAMESPACE)

    def _serve(self, address: str, port: int) -> None:
        """The operator's Service; the API server's proxy goes to addresses of pods alone, so to one by name."""
        metadata = {"name": "assay-operator", "namespace": SYSTEM}
        ports = [{"name": "http", "port": port}]
        pod = {"schedulerName": "nobody", "containers": [{"name": "operator", "image": "none"}]}
        target = {"kind": "Pod", "name": "assay-operator", "namespace": SYSTEM}
        subset = {"addresses": [{"ip": address, "targetRef": target}], "ports": ports}
        parts = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod},
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
            {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]},
        ]
        self.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(parts))
        status = json.dumps({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}})
        self.cluster.kubectl("patch", "pod", "assay-operator", "-n", SYSTEM, "--subresource=status", "-p", status)

    def judge(self) -> None:
        """Have the task judged: without targets, so that each of its runs is made; then say that it is Valid."""
        task: dict[str, Any] = validation(NAME, "examples")
        task["spec"]["task"]["tests"] |= {"failToPass": [], "passToPass": []}
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(task))
        end = time.monotonic() + SECONDS
        while not (said := self._status()).get("verdict"):
            assert time.monotonic() < end, f"{said}: {self.operator.log.read_text()[-2000:]}"
            time.sleep(0.3)
        assert [run["name"] for run in said["runs"]] == ["unpatched-1", "patched-1"]
        patch = json.dumps({"status": {"verdict": "Valid"}})
        self.cluster.kubectl("patch", "tv", NAME, "-n", NAMESPACE, "--type=merge", "--subresource=status", "-p", patch)

    def _status(self) -> dict[str, Any]:
        said = json.loads(self.cluster.kubectl("get", "tv", NAME, "-n", NAMESPACE, "-o", "json").stdout)
        return dict(said.get("status") or {})

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run a command's example in the user's directory; stores are the operator's own."""
        command = dict(commands_of(app))[name]
        words = [self.store if word.startswith("file://") else word for word in shlex.split(example_of(command))]
        environment = self.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
        return subprocess.run(
            (sys.executable, "-m", *words),
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )


def users_files(folder: Path) -> None:
    """What the examples find in the user's directory before an import."""
    rows = [dict(row.values) for row in MADE["swe-rebench-v2"].rows[:22:2]]
    for row in rows:
        row["repo"] = "acorn/lantern"
        for column in ("install_config", "meta"):
            row[column] = row[column] if isinstance(row[column], str) else json.dumps(row[column])
    parquet.write_table(pa.Table.from_pylist(rows), folder / "tasks.parquet")
    (folder / "clearer.md").write_text("Dim the Lantern.\n")
    (folder / "run.log").write_text("PASSED tests/test_m.py::test_f\n")


@pytest.fixture(scope="module")
def site(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site; afterwards there are no tasks, and the logs of simulated pods are as they were."""
    logs = api_cluster.kubeconfig.parent / "simlogs" / "witness.log"
    before = logs.read_bytes() if logs.exists() else None
    folder = tmp_path_factory.mktemp("examples")
    users_files(folder)
    made = Site(api_cluster, folder)
    try:
        made.judge()
        yield made
    finally:
        made.operator.stop()
        made.empty()
        api_cluster.kubectl("delete", "namespace", SYSTEM)
        if before is not None:
            logs.write_bytes(before)


def test_the_examples_run_one_after_the_other(site: Site) -> None:
    reviewed = site.folder / "tasks" / "manifests-00001.yaml"
    for name in EXAMPLES:
        if name == "assay review next":  # what is reviewed lies beside the tasks of the import
            reviewed.write_text(yaml.safe_dump(make_manifest(NAME, namespace=NAMESPACE)))
        done = site.run(name)
        assert done.returncode == 0, f"{name}: {done.stdout[-500:]} {done.stderr[-1500:]}"
        if name == "assay review rewrite":
            said = yaml.safe_load(reviewed.read_text())["spec"]["statementReview"]
            assert (said["decision"], said["statement"]) == ("Rewritten", "Dim the Lantern.\n")
            reviewed.unlink()
    assert (site.folder / "report.html").stat().st_size > 1000
    assert parquet.read_table(site.folder / "tasks.parquet").column("instance_id").to_pylist() == [NAME]
