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
import yaml

from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SYSTEM, RUNS = "release-system", "release-runs"
EXAMPLE = "targets-pass-unpatched"
WHERE = ("-n", RUNS, "--service", f"{SYSTEM}/assay-operator")
OPERATOR = f"system:serviceaccount:{SYSTEM}:assay-operator"


def program(cluster: TestCluster, *command: str) -> str:
    """Run a program on the cluster and return its output."""
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{_operator_log(cluster)}"
    return done.stdout


def _operator_log(cluster: TestCluster) -> str:
    said = cluster.kubectl("logs", "-n", SYSTEM, "deploy/assay-operator", "--tail=40", check=False)
    return said.stdout + said.stderr


@pytest.fixture(scope="module")
def image(cluster: TestCluster) -> str:
    """Assay's image in the cluster's registry, by digest."""
    archive = program(cluster, sys.executable, "dev/image/build.py").strip().splitlines()[-1]
    return cluster.load(Path(archive), "assay:release")


@pytest.fixture(scope="module")
def release(cluster: TestCluster, image: str) -> Iterator[str]:
    """Assay, installed and ready; the image's reference."""
    program(cluster, "helm", "install", "assay", "charts/assay", "-n", SYSTEM, "--create-namespace", *_values(image))
    yield image
    cluster.kubectl("delete", "namespace", SYSTEM, RUNS, "--ignore-not-found", "--timeout=120s")


def _values(image: str, *more: str) -> tuple[str, ...]:
    chosen = [f"image.reference={image}", f"runs.namespace={RUNS}", "operator.cpuRequestFraction=0.25", *more]
    return (*(part for value in chosen for part in ("--set", value)), "--wait", "--timeout", "180s")


@pytest.fixture(scope="module")
def finished(cluster: TestCluster, release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The status of an example that the installed operator has validated."""
    assert release
    folder = tmp_path_factory.mktemp("manifests")
    build = (sys.executable, "examples/build.py")
    program(cluster, *build, "images", "--only", EXAMPLE)
    program(cluster, *build, "push", "--registry", cluster.registry, "--only", EXAMPLE)
    program(cluster, *build, "manifests", "--registry", cluster.registry, "--out", str(folder), "--only", EXAMPLE)
    (file,) = folder.iterdir()
    name = yaml.safe_load(file.read_text())["metadata"]["name"]
    cluster.kubectl("apply", "--server-side", "-n", RUNS, "-f", str(file))
    program(cluster, "kubectl", "wait", "--for=condition=Complete", f"tv/{name}", "-n", RUNS, "--timeout=180s")
    told: dict[str, Any] = json.loads(cluster.kubectl("get", "tv", name, "-n", RUNS, "-o", "json").stdout)
    return told


def test_the_installed_operator_brings_a_task_to_its_verdict(finished: dict[str, Any]) -> None:
    status = finished["status"]
    assert (status["verdict"], status["reason"]) == ("Invalid", "TargetTestsPassUnpatched")
    assert status["runs"][0]["isolation"]["targets"] > 0
    assert status["runs"][0]["isolation"]["leaks"] == 0


def test_its_events_and_its_logs_can_be_read(cluster: TestCluster, finished: dict[str, Any]) -> None:
    name, run = finished["metadata"]["name"], finished["status"]["runs"][0]
    field = f"involvedObject.name={name}"
    events = cluster.kubectl("get", "events", "-n", RUNS, "--field-selector", field, "-o", "json").stdout
    assert json.loads(events)["items"]
    done = subprocess.run(
        (sys.executable, "-m", "assay", "logs", name, run["name"], *WHERE),
        env=cluster.environment | {"PYTHONPATH": str(ROOT / "operator")},
        capture_output=True,
        check=True,
    )
    assert hashlib.sha256(done.stdout).hexdigest() == run["log"]["sha256"]


def assay(cluster: TestCluster, *words: str) -> str:
    """Run ``assay`` as a user of the cluster would."""
    return program(cluster, sys.executable, "-m", "assay", *words)


def test_the_verdict_is_explained_from_its_evidence(cluster: TestCluster, finished: dict[str, Any]) -> None:
    name, run = finished["metadata"]["name"], finished["status"]["runs"][0]
    said = json.loads(assay(cluster, "explain", name, *WHERE, "-o", "json"))
    assert (said["verdict"], said["reason"]) == ("Invalid", "TargetTestsPassUnpatched")
    assert said["message"] == finished["status"]["message"]
    shown = assay(cluster, "explain", name, *WHERE)
    assert "TargetTestsPassUnpatched" in shown
    assert run["log"]["sha256"][:12] in shown


def test_every_hash_in_status_is_that_of_the_stored_bytes(cluster: TestCluster, finished: dict[str, Any]) -> None:
    status = finished["status"]
    said = json.loads(assay(cluster, "verify", finished["metadata"]["name"], *WHERE, "-o", "json"))
    assert {one["sha256"] for one in said} >= {run["log"]["sha256"] for run in status["runs"]}
    assert [one["wrong"] for one in said] == [""] * (2 * len(status["runs"]) + 1)


def test_a_run_does_not_differ_from_itself(cluster: TestCluster, finished: dict[str, Any]) -> None:
    run = finished["status"]["runs"][0]["name"]
    assert "no test differs" in assay(cluster, "diff", finished["metadata"]["name"], run, run, *WHERE)


def test_stored_evidence_judged_by_its_own_profile_gives_its_own_verdict(
    cluster: TestCluster, finished: dict[str, Any]
) -> None:
    (same,) = json.loads(assay(cluster, "regrade", finished["metadata"]["name"], *WHERE, "-o", "json"))
    assert not same["changed"]
    assert "unknown 'none'" in _refused(cluster, "regrade", "--profile", "none", *WHERE)


def test_the_batch_is_counted_and_reported(cluster: TestCluster, finished: dict[str, Any], tmp_path: Path) -> None:
    (row,) = json.loads(assay(cluster, "status", "-n", RUNS, "-o", "json"))
    assert row == {"phase": "Complete", "verdict": "Invalid", "reason": "TargetTestsPassUnpatched", "tasks": 1}
    page = tmp_path / "report.html"
    assay(cluster, "report", "-n", RUNS, "--out", str(page))
    assert f'id="tv-{finished["metadata"]["name"]}"' in page.read_text()
    assert "must end in one of" in _refused(cluster, "report", "--out", "report.doc")


def _refused(cluster: TestCluster, *words: str) -> str:
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(
        (sys.executable, "-m", "assay", *words), env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 2
    return done.stderr


def test_helm_test_finds_it_ready(cluster: TestCluster, release: str) -> None:
    assert "Succeeded" in program(cluster, "helm", "test", "assay", "-n", SYSTEM, "--timeout", "60s"), release


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
def test_the_operator_may_not(cluster: TestCluster, release: str, verb: str, resource: str, namespace: str) -> None:
    place = ("-n", namespace) if namespace else ("--all-namespaces",)
    done = cluster.kubectl("auth", "can-i", verb, *resource.split(), *place, "--as", OPERATOR, check=False)
    assert done.stdout.strip() == "no", release


def test_people_get_access_by_the_clusters_own_roles(cluster: TestCluster, release: str) -> None:
    for role, verb, answer in (("view", "get", "yes"), ("view", "create", "no"), ("edit", "create", "yes")):
        user = f"someone-who-may-{role}"
        cluster.kubectl(
            "create", "rolebinding", f"{user}-{verb}", "-n", RUNS, f"--clusterrole={role}", f"--user={user}"
        )
        done = cluster.kubectl("auth", "can-i", verb, "tv", "-n", RUNS, "--as", user, check=False)
        assert done.stdout.strip() == answer, (role, verb, release)


def test_upgrade_and_uninstall_leave_verdicts_and_nothing_that_hangs(
    cluster: TestCluster, release: str, finished: dict[str, Any]
) -> None:
    changed = _values(release, "operator.maxPods=7")
    program(cluster, "helm", "upgrade", "assay", "charts/assay", "-n", SYSTEM, *changed)
    path = "jsonpath={.data.config\\.yaml}"
    assert "maxPods: 7" in cluster.kubectl("get", "configmap", "assay-operator", "-n", SYSTEM, "-o", path).stdout
    program(cluster, "helm", "uninstall", "assay", "-n", SYSTEM, "--wait", "--timeout", "60s")
    kept = cluster.kubectl("get", "tv", "-n", RUNS, "-o", "jsonpath={.items[*].status.verdict}").stdout
    assert kept == finished["status"]["verdict"]
    cluster.kubectl("wait", "--for=delete", "pod", "--all", "-n", SYSTEM, "--timeout=20s")
    assert "assay" not in cluster.kubectl("get", "deploy,service", "-n", SYSTEM, "-o", "name").stdout
    cluster.kubectl("delete", "namespace", SYSTEM, RUNS, "--timeout=60s")
