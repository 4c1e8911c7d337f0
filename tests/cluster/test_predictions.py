"""Predictions graded on a real node: what each deserves, cheats and their honest counterparts beside each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.predicted import BASE, CASES, RIGHT, TARGETS, dialling, honest
from cluster.stage import NAMESPACE, Outside, Stage, listening, load_examples, program
from job_templates.repositories import patch_between

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500)]

OFFLINE = "honest-call-outside"
"""A right prediction whose code tries to reach a machine outside: its address is known only when the cluster is."""


@pytest.fixture(scope="module")
def ledger(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A stage with the validation ``ledger`` of the example ``valid``, and its verdict."""
    manifest = load_examples(stage.cluster, tmp_path_factory.mktemp("ledger"), ("valid",))["valid"]
    manifest["metadata"]["labels"] = {"part-of": "ledger"}
    stage.apply(manifest, "ledger")
    assert stage.finished("ledger")["verdict"] == "Valid"
    return stage


def found(stage: Stage, name: str) -> dict[str, Any]:
    text = stage.cluster.kubectl("get", "agentepisode", name, "-n", NAMESPACE, "-o", "json").stdout
    status: dict[str, Any] = json.loads(text).get("status", {})
    return status


def predict(stage: Stage, name: str, patch: bytes, **spec: Any) -> None:
    task = {} if {"task", "validation"} & spec.keys() else {"validation": "ledger"}
    manifest = {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "AgentEpisode",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {**task, "submission": {"patch": patch.decode()}, **spec},
    }
    stage.apply(manifest)


@pytest.fixture(scope="module")
def outside(ledger: Stage) -> Iterator[Outside]:
    """A machine that predictions may try to reach."""
    with listening(ledger.cluster) as outside:
        yield outside


@pytest.fixture(scope="module")
def graded(ledger: Stage, outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """The stage, once every prediction has its grade: their pods run beside each other."""
    folder = tmp_path_factory.mktemp("trees")
    task = ledger.read("ledger")["spec"]["task"]
    cases = CASES | {OFFLINE: honest(dialling(*outside.address) + RIGHT)}
    for name, case in cases.items():
        diff = patch_between(folder / name, BASE, case.tree) if case.diff is None else case.diff.encode()
        inline = {"task": task | {"tests": case.tests}} if case.tests else {}
        predict(ledger, name, diff, **case.spec, **inline)
    ledger.complete([f"ae/{name}" for name in cases], 900)
    return ledger


@pytest.mark.parametrize("name", CASES)
def test_a_prediction_gets_what_it_deserves(graded: Stage, name: str) -> None:
    status, case = found(graded, name), CASES[name]
    (submission,) = status["submissions"]
    assert submission.get("reward") == status.get("reward")
    said = (status.get("reward"), status["reason"], submission["ignored"]["count"])
    assert said == (case.reward, case.reason, case.ignored), status["message"]


def test_a_prediction_reaches_nothing_outside(graded: Stage, outside: Outside) -> None:
    assert found(graded, OFFLINE)["reward"] == 1.0
    assert outside.heard == []


def section(path: str, *lines: str) -> str:
    """A diff that makes a file; of a path that is left out it does not matter whether it is there."""
    added = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{added}"


BENT = "".join(
    (
        section("go.mod", "module github.com/gorilla/mux", "replace testing => ./testing", "toolchain go9.99"),
        section("go.work", "go 1.16", "use ./testing"),
        section("go.sum", "nothing"),
        section("vendor/modules.txt", "# nothing"),
        section("main_test.go", "package mux", "func TestMain(m *testing.M) { os.Exit(0) }"),
    )
)


def test_go_modules_that_are_bent_earn_nothing_and_cost_an_honest_one_nothing(stage: Stage, tmp_path: Path) -> None:
    example = load_examples(stage.cluster, tmp_path, ("mux-1-8-0",))["mux-1-8-0"]
    name, gold = example["metadata"]["name"], example["spec"]["task"]["patch"]
    stage.apply(example)
    assert stage.finished(name)["verdict"] == "Valid"
    predict(stage, "bent", (BENT + section("nothing.go", "package mux")).encode(), validation=name)
    predict(stage, "bent-and-right", (BENT + gold).encode(), validation=name)
    stage.complete(["ae/bent", "ae/bent-and-right"])
    said = {one: found(stage, one) for one in ("bent", "bent-and-right")}
    assert {one: (status["reward"], status["reason"]) for one, status in said.items()} == {
        "bent": (0.0, "TestsFail"),
        "bent-and-right": (1.0, "Resolved"),
    }
    assert [status["submissions"][0]["ignored"]["count"] for status in said.values()] == [5, 5]


def test_a_cancelled_prediction_ends_without_a_reward_and_leaves_no_pod(ledger: Stage, tmp_path: Path) -> None:
    endless = patch_between(tmp_path, BASE, CASES["endless"].tree)
    predict(ledger, "cancelled", endless, limits={"test": "8m"})
    pods = ("get", "pods", "-n", NAMESPACE, "-l", f"assay.dev/object={uid_of(ledger, 'cancelled')}", "-o", "name")
    ledger.until(lambda: bool(ledger.cluster.kubectl(*pods).stdout.strip()), 60)
    cancel = json.dumps({"spec": {"cancel": True}})
    ledger.cluster.kubectl("patch", "ae", "cancelled", "-n", NAMESPACE, "--type=merge", "-p", cancel)
    ledger.until(lambda: found(ledger, "cancelled").get("phase") == "Cancelled", 60)
    status = found(ledger, "cancelled")
    assert "reward" not in status
    assert (status["submissions"][0]["outcome"], status["reason"]) == ("NotGraded", "Cancelled")
    ledger.until(lambda: not ledger.cluster.kubectl(*pods).stdout.strip(), 60)


def uid_of(stage: Stage, name: str) -> str:
    return stage.cluster.kubectl("get", "agentepisode", name, "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}").stdout


def test_a_grades_evidence_is_stored_and_its_status_names_no_held_out_test(graded: Stage) -> None:
    status = found(graded, "wrong")
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == {
        "Accepted": "True",
        "ImageResolved": "True",
        "NetworkIsolationVerified": "True",
        "Complete": "True",
        "Resolved": "False",
    }
    submission = status["submissions"][0]
    assert (submission["failToPass"], submission["passToPass"]) == (
        {"passed": 1, "total": 2},
        {"passed": 14, "total": 14},
    )
    store = graded.operator.store
    report = json.loads(store.get(submission["report"]["sha256"]))
    assert {test["name"] for test in report["failToPass"]} == set(TARGETS)
    assert store.get(submission["diff"]["sha256"]).startswith(b"diff --git")
    assert b"test_transfer" in store.get(submission["run"]["log"]["sha256"])
    assert "test_transfer" not in json.dumps(status)


def test_a_timeout_is_no_reward_and_no_pod_is_left(graded: Stage) -> None:
    status = found(graded, "endless")
    assert status["phase"] == "Failed"
    assert "reward" not in status
    assert status["submissions"][0]["outcome"] == "NotGraded"
    graded.until(
        lambda: (
            not graded.cluster.kubectl(
                "get", "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/managed-by=assay", "-o", "name"
            ).stdout.strip()
        ),
        60,
    )


def test_what_cannot_be_graded_says_so(ledger: Stage) -> None:
    predict(ledger, "no-validation", b"x", validation="nowhere")
    predict(ledger, "bad-profile", b"x", profile="nowhere")
    ledger.complete(["ae/bad-profile"], 60)
    assert "spec.profile" in found(ledger, "bad-profile")["message"]
    ledger.until(lambda: bool(found(ledger, "no-validation").get("conditions")), 60)
    conditions = found(ledger, "no-validation")["conditions"]
    assert {condition["type"]: condition["reason"] for condition in conditions}["Accepted"] == "ValidationMissing"


def test_gold_over_a_validated_set_scores_one_and_empty_scores_nothing(ledger: Stage, tmp_path: Path) -> None:
    for given, score in (("gold", 1.0), ("empty", 0.0)):
        command = ("-m", "assay", "evaluate", given, "--out", str(tmp_path), "--run-id", given, "-n", NAMESPACE)
        command += ("--selector", "part-of=ledger")  # the node's other tests leave valid tasks, too
        for _ in range(2):  # the second call finds the first one's episodes
            program(ledger.cluster, *command)
        own = json.loads((tmp_path / given / "assay.json").read_text())
        assert (own["predictions"], own["resolved"], own["score"]) == (1, round(score), score)
        report = json.loads((tmp_path / given / f"{given}.{given}.json").read_text())
        assert report["resolved_instances"] == round(score)
        assert report["empty_patch_instances"] == 1 - round(score)
    assert "resolved -> " in program(
        ledger.cluster, "-m", "assay", "compare", str(tmp_path / "gold"), str(tmp_path / "empty")
    )
