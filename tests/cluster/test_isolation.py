"""No run reaches anything, from its first moment on; where policies are not enforced, no run begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.stage import (
    NAMESPACE,
    RESULTS,
    Manifest,
    Outside,
    Stage,
    listening,
    load_examples,
    load_image,
    plain_pod,
    task_like,
    working_operator,
)
from conftest import TestCluster, install_crds, start_cluster, stop_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

KNOCK_SECONDS = 1.5
GATE_SECONDS = 3
RETRIES = 1


@pytest.fixture
def outside(cluster: TestCluster) -> Iterator[Outside]:
    with listening(cluster) as outside:
        yield outside


@pytest.fixture(scope="module")
def open_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A cluster that accepts NetworkPolicies and enforces none, with an operator that does not know."""
    cluster = start_cluster(f"test-open-{os.getpid()}", "--profile", "node", "--no-policy")
    install_crds(cluster)
    folder = tmp_path_factory.mktemp("open")
    settings = {"infraRetries": RETRIES, "isolation": {"gateSeconds": GATE_SECONDS}}
    with working_operator(cluster, folder, load_image(cluster), **settings) as stage:
        yield stage
    stop_cluster(cluster)


def test_a_run_that_connects_at_once_reaches_nothing_and_the_same_pod_without_a_policy_does(
    stage: Stage, examples: dict[str, Manifest], outside: Outside
) -> None:
    task = task_like(examples["valid"], outside.knock("run", KNOCK_SECONDS), RESULTS)
    stage.apply(task, "knocks")
    image = task["spec"]["task"]["image"]
    said = plain_pod(stage.cluster, "default", image, outside.knock("control", 60))
    status = stage.finished("knocks")

    assert said.endswith("reached\n")
    assert outside.heard == ["control"]
    assert status["verdict"] == "Valid", status["message"]
    for run in status["runs"]:
        *tries, _, _ = stage.log("knocks", run["name"]).decode().splitlines()
        assert tries
        assert all(line.startswith("refused ") for line in tries)
        assert (run["isolation"]["leaks"], run["attempt"]) == (0, 1)
        assert run["isolation"]["targets"] > 0


def test_a_cluster_that_does_not_enforce_policies_is_told_apart_before_a_byte_of_the_task_runs(
    open_stage: Stage, tmp_path: Path
) -> None:
    example = load_examples(open_stage.cluster, tmp_path, ("valid",))["valid"]
    with listening(open_stage.cluster) as outside:
        task = task_like(example, outside.knock("run", KNOCK_SECONDS), RESULTS)
        open_stage.apply(task, "knocks")
        image = task["spec"]["task"]["image"]
        said = plain_pod(open_stage.cluster, NAMESPACE, image, outside.knock("control", 60))
        status = open_stage.finished("knocks")
        heard = list(outside.heard)

    assert said == "reached\n", "a pod under the policies of the runs gets out: nobody enforces them"
    assert heard == ["control"], "no byte of the task ran"
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "InfrastructureFault")
    conditions = {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}
    assert conditions["NetworkIsolationVerified"] == ("False", "PolicyNotEnforced")
    assert conditions["Valid"][0] == "Unknown"
    (run,) = status["runs"]
    assert [fault["reason"] for fault in run["faults"]] == ["IsolationUnavailable"] * (RETRIES + 1)
    assert run["outcome"] == "Pending"
    assert "log" not in run
    open_stage.until(lambda: not open_stage.pods("knocks"))
