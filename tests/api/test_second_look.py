"""The real operator, asked again about objects that have their verdict: another decision, other rules, no run twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.store.artifacts import Store
from conftest import ROOT, TestCluster

if str(ROOT / "benchmarks") not in sys.path:
    sys.path.append(str(ROOT / "benchmarks"))

from stage import NAMESPACE, OperatorProcess, Stage, login_of
from throughput import validation, witness_log

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]
SECONDS = 180


class Site:
    """An operator that asks for reviews, on the simulated cluster."""

    def __init__(self, cluster: TestCluster, folder: Path) -> None:
        directory = cluster.kubeconfig.parent
        (directory / "simlogs" / "witness.log").write_text(witness_log())
        login = login_of(str(cluster.kubeconfig))
        self.stage = Stage(name=cluster.name, environment=cluster.environment, directory=directory, login=login)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.stage.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(namespace))
        self.operator = OperatorProcess(self.stage, folder, reviewRequired=True)
        self.store = Store(f"file://{folder}/store")
        self.operator.start()

    def status(self, name: str) -> api.TaskValidationStatus:
        """An object's status."""
        raw = json.loads(self.stage.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json"))
        return api.TaskValidationStatus.model_validate(raw.get("status") or {})

    def until(self, name: str, told: Callable[[api.TaskValidationStatus], bool]) -> api.TaskValidationStatus:
        """Wait for a status; fail with the last one and the operator's last words."""
        end = time.monotonic() + SECONDS
        while not told(status := self.status(name)):
            assert time.monotonic() < end, f"{status}: {self.operator.log.read_text()[-2000:]}"
            time.sleep(0.2)
        return status

    def change(self, name: str, **spec: Any) -> None:
        """Change a part of an object's spec, as a user would."""
        self.stage.kubectl("patch", "tv", name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps({"spec": spec}))

    def review(self, *words: str) -> None:
        """Call ``assay review``."""
        environment = {**self.stage.environment, "PYTHONPATH": str(ROOT / "operator")}
        subprocess.run((sys.executable, "-m", "assay", "review", *words), env=environment, check=True)

    def pods_made(self) -> int:
        """How many pods the operator has asked for."""
        return self.operator.api_requests()["POST", "pods"]


@pytest.fixture
def site(api_cluster: TestCluster, tmp_path: Path) -> Iterator[Site]:
    """The operator; its namespace and the logs of simulated pods are as they were afterwards."""
    logs = api_cluster.kubeconfig.parent / "simlogs" / "witness.log"
    before = logs.read_bytes() if logs.exists() else None
    made = Site(api_cluster, tmp_path)
    yield made
    made.operator.stop()
    api_cluster.kubectl("delete", "namespace", NAMESPACE)
    if before is not None:
        logs.write_bytes(before)


def test_an_object_with_a_verdict_follows_a_later_decision_and_other_rules_without_a_run_made_twice(site: Site) -> None:
    site.stage.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(validation("acorn-1", "second")))
    dropped = site.until("acorn-1", lambda status: status.verdict is not None)
    assert (dropped.reason, dropped.runs, site.pods_made()) == ("StatementUnreviewed", (), 0)

    site.review("accept", "acorn-1", "--reason", "clear")
    ran = site.until("acorn-1", lambda status: status.reason == "TargetTestsPassUnpatched")
    assert (len(ran.runs), ran.observed_generation, site.pods_made()) == (1, 2, 1)

    rules = api.Regrade(profile="swebench-v5", parser="parse_log_pytest_v2")
    site.change("acorn-1", regrade=api.to_wire(rules))
    again = site.until("acorn-1", lambda status: status.regrade == rules)
    assert (again.verdict, again.observed_generation, site.pods_made()) == (api.Verdict.INVALID, 3, 1)
    assert again.runs[0].results is not None
    assert b"tests/test_m.py::test_f" in site.store.get(again.runs[0].results.sha256)

    site.change("acorn-1", regrade=None)
    site.until("acorn-1", lambda status: status.regrade is None and status.observed_generation == 4)

    site.stage.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(validation("acorn-2", "second")))
    site.until("acorn-2", lambda status: status.reason == "StatementUnreviewed")
    site.review("reject", "acorn-2", "--reason", "names the fix")
    site.until("acorn-2", lambda status: status.reason == "StatementRejected")
    assert site.pods_made() == 1
    assert site.operator.lines("ERROR") == []
