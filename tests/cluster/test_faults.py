"""Pods that are taken away, an operator that is killed, objects that are deleted: the verdict is the same, or nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.stage import NAMESPACE, RESULTS, Manifest, Stage, task_like

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

KILLS = 10
KILLED = ("valid", "valid-odd-patches", "targets-pass-unpatched", "regression", "test-patch-does-not-apply")
"""Examples that are applied before every second kill, so that there is always something under way."""
WAITING = "sleep 4"
"""A test command that is still at work when the test has seen it begin."""


@contextmanager
def watched_pods(stage: Stage) -> Iterator[dict[tuple[str, str], set[str]]]:
    """The UIDs of all pods that are ever there, by object's UID and run, seen by an own watch."""
    seen: dict[tuple[str, str], set[str]] = {}
    labels = "assay\\.dev/object", "assay\\.dev/run"
    fields = ("{.metadata.uid}", *(f"{{.metadata.labels.{label}}}" for label in labels))
    line = " ".join(fields) + '{"\\n"}'
    command = ("kubectl", "get", "pods", "-n", NAMESPACE, "--watch", "-o", f"jsonpath={line}")
    with subprocess.Popen(command, env=stage.cluster.environment, stdout=subprocess.PIPE, text=True) as watch:

        def read() -> None:
            assert watch.stdout
            for entry in watch.stdout:
                uid, *key = entry.split()
                seen.setdefault((key[0], key[1]), set()).add(uid)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield seen
        finally:
            watch.terminate()
            reader.join()


def test_a_pod_deleted_or_evicted_under_a_run_costs_an_attempt_and_no_verdict(
    stage: Stage, examples: dict[str, Manifest]
) -> None:
    stage.apply(task_like(examples["valid"], WAITING, RESULTS), "disturbed")
    pod = stage.running_pod("disturbed", "unpatched-1")
    stage.cluster.kubectl("delete", "pod", pod, "-n", NAMESPACE, "--wait=false")
    pod = stage.running_pod("disturbed", "patched-1")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": NAMESPACE}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction"
    stage.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))

    status = stage.finished("disturbed")
    assert status["verdict"] == "Valid", status["message"]
    assert [(run["name"], run["attempt"], run["outcome"]) for run in status["runs"]] == [
        ("unpatched-1", 2, "Finished"),
        ("patched-1", 2, "Finished"),
    ]
    faults = [[(fault["attempt"], fault["reason"]) for fault in run["faults"]] for run in status["runs"]]
    assert faults == [[(1, "PodVanished")], [(1, "Disrupted")]]


def test_an_operator_killed_at_ten_random_points_comes_to_the_same_verdicts_with_one_pod_a_run(
    stage: Stage, examples: dict[str, Manifest]
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed of the kills: {seed}")
    chance = random.Random(seed)
    for name in KILLED:
        stage.apply(examples[name])
    before = {name: stage.finished(name) for name in KILLED}
    with watched_pods(stage) as pods:
        for number in range(KILLS):
            for name in KILLED[number // 2 : number // 2 + 1] if number % 2 == 0 else ():
                stage.apply(examples[name], f"killed-{name}")
            time.sleep(chance.uniform(0.0, 2.5))
            stage.operator.end()
            stage.operator.start()
            stage.until(stage.operator.is_ready)
        after = {name: stage.finished(f"killed-{name}") for name in KILLED}

    for name in KILLED:
        assert told(after[name]) == told(before[name]), (name, seed)
        assert [run["attempt"] for run in after[name]["runs"]] == [1] * len(after[name]["runs"]), (name, seed)
        uid = stage.read(f"killed-{name}")["metadata"]["uid"]
        for run in after[name]["runs"]:
            assert len(pods[uid, run["name"]]) == 1, (name, run["name"], seed)


def told(status: Manifest) -> tuple[object, ...]:
    """What a status says of the task, without times and places."""
    runs = [(run["name"], run["outcome"], run.get("exitCode"), run.get("counts")) for run in status["runs"]]
    return status["verdict"], status["reason"], status["tests"], status["image"], runs


def test_an_operator_asked_to_stop_in_the_middle_of_a_run_stops_at_once_and_well_and_goes_on_later(
    stage: Stage, examples: dict[str, Manifest]
) -> None:
    stage.apply(task_like(examples["valid"], WAITING, RESULTS), "stopped")
    stage.running_pod("stopped", "unpatched-1")
    asked = time.monotonic()
    assert stage.operator.end(signal.SIGTERM) == 0, stage.operator.said()
    assert time.monotonic() - asked < 30, "a pod's grace"
    stage.operator.start()
    status = stage.finished("stopped")
    assert (status["verdict"], [run["attempt"] for run in status["runs"]]) == ("Valid", [1, 1])


@pytest.mark.parametrize("operator_is", ["up", "down"])
def test_deleting_an_object_in_the_middle_of_a_run_leaves_nothing(
    stage: Stage, examples: dict[str, Manifest], operator_is: str
) -> None:
    name = f"deleted-{operator_is}"
    stage.apply(task_like(examples["valid"], WAITING, RESULTS, runs={"unpatched": 2, "patched": 2}), name)
    stage.running_pod(name, "unpatched-1")
    owned = ("get", "pods,secrets,configmaps", *stage.selector(name), "-o", "name")
    kinds = {line.partition("/")[0] for line in stage.cluster.kubectl(*owned).stdout.split()}
    assert kinds == {"pod", "secret"}

    if operator_is == "down":
        stage.operator.end()
    stage.cluster.kubectl("delete", "tv", name, "-n", NAMESPACE, "--timeout=30s")
    stage.until(lambda: not stage.cluster.kubectl(*owned).stdout.strip(), 90)
    if operator_is == "down":
        stage.operator.start()
        stage.apply(task_like(examples["valid"], RESULTS), "after-deletion")
        assert stage.finished("after-deletion")["verdict"] == "Valid"
        assert not stage.cluster.kubectl(*owned).stdout.strip()
