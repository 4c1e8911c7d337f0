"""The chart on a real node: the operator works under its own RBAC, may do nothing else, and leaves nothing hanging."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chart.installing import Release, installed
from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SYSTEM, RUNS = "release-system", "release-runs"
EXAMPLE = "targets-pass-unpatched"
WHERE = ("-n", RUNS, "--service", f"{SYSTEM}/assay-operator")
OPERATOR = f"system:serviceaccount:{SYSTEM}:assay-operator"


@pytest.fixture(scope="module")
def release(cluster: TestCluster) -> Iterator[Release]:
    """Assay, installed and ready."""
    with installed(cluster, "release") as release:
        yield release


@pytest.fixture(scope="module")
def finished(release: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An example that the installed operator has validated."""
    manifest = release.apply_example(tmp_path_factory.mktemp("manifests"), EXAMPLE)
    return release.wait(f"tv/{manifest['metadata']['name']}")


def assay(release: Release, *words: str) -> str:
    """Run ``assay`` as a user of the cluster would."""
    return release.program(sys.executable, "-m", "assay", *words)


def _refused(release: Release, *words: str) -> str:
    environment = release.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(
        (sys.executable, "-m", "assay", *words), env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 2
    return done.stderr


def test_the_installed_operator_brings_a_task_to_its_verdict(finished: dict[str, Any]) -> None:
    status = finished["status"]
    assert (status["verdict"], status["reason"]) == ("Invalid", "TargetTestsPassUnpatched")
    assert status["runs"][0]["isolation"]["targets"] > 0
    assert status["runs"][0]["isolation"]["leaks"] == 0
    conditions = {condition["type"]: condition for condition in status["conditions"]}
    assert conditions["BaseCommitFound"]["reason"] == "AtHead"


def test_its_events_and_its_logs_can_be_read(release: Release, finished: dict[str, Any]) -> None:
    name, run = finished["metadata"]["name"], finished["status"]["runs"][0]
    field = f"involvedObject.name={name}"
    events = release.cluster.kubectl("get", "events", "-n", RUNS, "--field-selector", field, "-o", "json").stdout
    assert json.loads(events)["items"]
    done = subprocess.run(
        (sys.executable, "-m", "assay", "logs", name, run["name"], *WHERE),
        env=release.cluster.environment | {"PYTHONPATH": str(ROOT / "operator")},
        capture_output=True,
        check=True,
    )
    assert hashlib.sha256(done.stdout).hexdigest() == run["log"]["sha256"]


def test_the_verdict_is_explained_from_its_evidence(release: Release, finished: dict[str, Any]) -> None:
    name, run = finished["metadata"]["name"], finished["status"]["runs"][0]
    said = json.loads(assay(release, "explain", name, *WHERE, "-o", "json"))
    assert (said["verdict"], said["reason"]) == ("Invalid", "TargetTestsPassUnpatched")
    assert said["message"] == finished["status"]["message"]
    shown = assay(release, "explain", name, *WHERE)
    assert "TargetTestsPassUnpatched" in shown
    assert run["log"]["sha256"][:12] in shown


def test_every_hash_in_status_is_that_of_the_stored_bytes(release: Release, finished: dict[str, Any]) -> None:
    status = finished["status"]
    said = json.loads(assay(release, "verify", finished["metadata"]["name"], *WHERE, "-o", "json"))
    assert {one["sha256"] for one in said} >= {run["log"]["sha256"] for run in status["runs"]}
    assert [one["wrong"] for one in said] == [""] * (2 * len(status["runs"]) + 1)


def test_a_run_does_not_differ_from_itself(release: Release, finished: dict[str, Any]) -> None:
    run = finished["status"]["runs"][0]["name"]
    assert "no test differs" in assay(release, "diff", finished["metadata"]["name"], run, run, *WHERE)


def test_stored_evidence_judged_by_its_own_profile_gives_its_own_verdict(
    release: Release, finished: dict[str, Any]
) -> None:
    (same,) = json.loads(assay(release, "regrade", finished["metadata"]["name"], *WHERE, "-o", "json"))
    assert not same["changed"]
    assert "unknown 'none'" in _refused(release, "regrade", "--profile", "none", *WHERE)


def test_the_batch_is_counted_and_reported(release: Release, finished: dict[str, Any], tmp_path: Path) -> None:
    (row,) = json.loads(assay(release, "status", "-n", RUNS, "-o", "json"))
    assert row == {"phase": "Complete", "verdict": "Invalid", "reason": "TargetTestsPassUnpatched", "tasks": 1}
    page = tmp_path / "report.html"
    assay(release, "report", "-n", RUNS, "--out", str(page))
    assert f'id="tv-{finished["metadata"]["name"]}"' in page.read_text()
    assert "must end in one of" in _refused(release, "report", "--out", "report.doc")


def test_helm_test_finds_it_ready(release: Release) -> None:
    assert "Succeeded" in release.program("helm", "test", "assay", "-n", SYSTEM, "--timeout", "60s")


@pytest.mark.parametrize(
    ("verb", "resource", "namespace"),
    [
        ("get", "secrets", RUNS),
        ("list", "secrets", RUNS),
        ("get", "secrets", SYSTEM),
        ("create", "secrets", SYSTEM),
        ("create", "pods --subresource=exec", RUNS),
        ("create", "pods --subresource=attach", RUNS),
        ("create", "pods", "default"),
        ("create", "pods", SYSTEM),
        ("update", "taskvalidations.assay.dev", RUNS),
        ("delete", "taskvalidations.assay.dev", RUNS),
        ("list", "taskvalidations.assay.dev", "default"),
        ("delete", "networkpolicies.networking.k8s.io", RUNS),
        ("list", "nodes", ""),
        ("list", "namespaces", ""),
    ],
)
def test_the_operator_may_not(release: Release, verb: str, resource: str, namespace: str) -> None:
    place = ("-n", namespace) if namespace else ("--all-namespaces",)
    done = release.cluster.kubectl("auth", "can-i", verb, *resource.split(), *place, "--as", OPERATOR, check=False)
    assert done.stdout.strip() == "no"


def test_people_get_access_by_the_clusters_own_roles(release: Release) -> None:
    for role, verb, answer in (("view", "get", "yes"), ("view", "create", "no"), ("edit", "create", "yes")):
        user = f"someone-who-may-{role}"
        release.cluster.kubectl(
            "create", "rolebinding", f"{user}-{verb}", "-n", RUNS, f"--clusterrole={role}", f"--user={user}"
        )
        done = release.cluster.kubectl("auth", "can-i", verb, "tv", "-n", RUNS, "--as", user, check=False)
        assert done.stdout.strip() == answer, (role, verb)


def test_upgrade_and_uninstall_leave_verdicts_and_nothing_that_hangs(
    release: Release, finished: dict[str, Any]
) -> None:
    changed = release.values("operator.maxPods=7")
    release.program("helm", "upgrade", "assay", "charts/assay", "-n", SYSTEM, *changed)
    path = "jsonpath={.data.config\\.yaml}"
    assert (
        "maxPods: 7" in release.cluster.kubectl("get", "configmap", "assay-operator", "-n", SYSTEM, "-o", path).stdout
    )
    release.program("helm", "uninstall", "assay", "-n", SYSTEM, "--wait", "--timeout", "60s")
    kept = release.cluster.kubectl("get", "tv", "-n", RUNS, "-o", "jsonpath={.items[*].status.verdict}").stdout
    assert kept == finished["status"]["verdict"]
    release.cluster.kubectl("wait", "--for=delete", "pod", "--all", "-n", SYSTEM, "--timeout=20s")
    assert "assay" not in release.cluster.kubectl("get", "deploy,service", "-n", SYSTEM, "-o", "name").stdout
    release.cluster.kubectl("delete", "namespace", SYSTEM, RUNS, "--timeout=60s")
