"""Whole episodes on a real node: sandbox, gateway, agent pods by ``kubectl apply`` alone, grading in a fresh pod."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay.api.bundles import BundledTask
from assay.datasets.bundles import BundleWriter, Document
from assay.domain.datasets.digests import digest_of, document_of
from chart.disturbing import agent, disturb, verify
from chart.installing import Release

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500)]


def episode(release: Release, name: str, task: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "AgentEpisode",
        "metadata": {"name": name},
        "spec": {"validation": task["metadata"]["name"], **spec},
    }


def ended(release: Release, name: str) -> dict[str, Any]:
    status: dict[str, Any] = release.wait(f"ae/{name}", 420)["status"]
    return status


def test_an_agents_pod_earns_its_reward_by_kubectl_apply_alone(release: Release, task: dict[str, Any]) -> None:
    release.apply(episode(release, "replayed", task, agent=agent(release, task["spec"]["task"]["patch"])))
    status = ended(release, "replayed")
    told = release.log("deploy/assay-gateway") + json.dumps(status, indent=1)
    assert (status["phase"], status.get("reward"), status.get("resolved")) == ("Finished", 1.0, True), told
    (submission,) = status["submissions"]
    assert submission["outcome"] == "Graded"
    assert submission["failToPass"]["passed"] == submission["failToPass"]["total"] > 0
    assert submission["run"]["isolation"]["leaks"] == 0
    assert status["toolCalls"]["count"] >= 2
    for hidden in task["spec"]["task"]["tests"].get("failToPass", ["test_"]):
        assert hidden not in json.dumps(status)


def test_an_agent_works_on_a_task_that_only_the_artifact_store_holds(
    release: Release, task: dict[str, Any], tmp_path: Path
) -> None:
    content = document_of(BundledTask.model_validate(task["spec"]["task"]))
    document = Document(id=task["spec"]["task"]["id"], repo="a/b", digest=digest_of(content), content=content)
    with BundleWriter(tmp_path / "bundle", dataset="acorn/tasks", revision="r1") as bundle:
        bundle.add(document)
    assay, service = (sys.executable, "-m", "assay"), ("--service", f"{release.system}/assay-operator")
    release.program(*assay, "push", str(tmp_path / "bundle"), *service)
    reference = {"dataset": "acorn/tasks", "id": document.id, "digest": document.digest}
    runs = {"unpatched": 1, "patched": 1}
    bundled = task | {"metadata": {"name": "bundled"}, "spec": task["spec"] | {"taskFrom": reference, "runs": runs}}
    del bundled["spec"]["task"]
    release.apply(bundled)
    assert release.wait("tv/bundled")["status"]["verdict"] == "Valid"
    release.apply(episode(release, "on-bundled", bundled, agent=agent(release, task["spec"]["task"]["patch"])))
    status = ended(release, "on-bundled")
    assert (status["phase"], status.get("reward")) == ("Finished", 1.0), release.log("deploy/assay-gateway")
    manifest, reports = tmp_path / "bundled.json", tmp_path / "reports"
    manifest.write_text(json.dumps(bundled))
    options = ("--dataset", str(manifest), "--namespace", release.runs, *service, "--out", str(reports))
    release.program(*assay, "evaluate", "gold", *options)
    resolved = [json.loads(file.read_text()).get("resolved_ids") for file in reports.rglob("*.json")]
    assert [document.id] in resolved


def test_an_agent_that_fails_before_its_first_call_earns_neither_one_nor_zero(
    release: Release, task: dict[str, Any]
) -> None:
    broken = {"image": release.image, "command": ["python3", "-c", "raise SystemExit(3)"]}
    release.apply(episode(release, "broken-agent", task, agent=broken))
    status = ended(release, "broken-agent")
    assert (status["phase"], status.get("reward"), status["reason"]) == ("Failed", None, "AgentFailed")
    assert status["agent"]["exitCode"] == 3


def test_an_agent_that_gives_up_while_no_gateway_is_there_earns_neither_one_nor_zero(
    release: Release, task: dict[str, Any]
) -> None:
    impatient = agent(release, calls=600)
    impatient["command"][-1] = impatient["command"][-1].replace("TRIES = 60", "TRIES = 2")
    release.apply(episode(release, "left-alone", task, agent=impatient))
    calls = ("get", "ae", "left-alone", "-n", release.runs, "-o", "jsonpath={.status.toolCalls.count}")
    end = time.monotonic() + 240
    while not int(release.cluster.kubectl(*calls).stdout or 0):
        assert time.monotonic() < end, release.log("deploy/assay-gateway")
        time.sleep(1)
    gateways = ("scale", "deploy/assay-gateway", "-n", release.system)
    release.cluster.kubectl(*gateways, "--replicas=0")
    try:
        status = ended(release, "left-alone")
    finally:
        release.cluster.kubectl(*gateways, "--replicas=2")
        release.program("kubectl", "rollout", "status", "deploy/assay-gateway", "-n", release.system, "--timeout=120s")
    assert (status["phase"], status.get("reward"), status["reason"]) == ("Failed", None, "AgentFailed"), status
    assert "while no gateway was there" in status["message"]
    assert status["toolCalls"]["count"] >= 1


def test_an_agent_that_does_nothing_earns_nothing(release: Release, task: dict[str, Any]) -> None:
    release.apply(episode(release, "idle", task, agent=agent(release)))
    status = ended(release, "idle")
    assert (status["phase"], status["reward"], status["reason"]) == ("Finished", 0.0, "NothingSubmitted")
    assert status["agent"]["exitCode"] == 0


def test_gold_empty_and_wrong_predictions_get_what_they_deserve(release: Release, task: dict[str, Any]) -> None:
    wrong = "diff --git a/unrelated.txt b/unrelated.txt\nnew file mode 100644\n--- /dev/null\n+++ b/unrelated.txt\n@@ -0,0 +1 @@\n+x\n"
    predictions = {"gold": (task["spec"]["task"]["patch"], 1.0), "empty": ("", 0.0), "wrong": (wrong, 0.0)}
    for name, (patch, _) in predictions.items():
        release.apply(episode(release, name, task, submission={"patch": patch}))
    for name, (_, reward) in predictions.items():
        status = ended(release, name)
        assert (status["phase"], status["reward"]) == ("Finished", reward), status


def test_a_cancelled_episode_leaves_no_pod(release: Release, task: dict[str, Any]) -> None:
    release.apply(episode(release, "cancelled", task))
    release.program(
        "kubectl", "wait", "--for=condition=SandboxReady", "ae/cancelled", "-n", release.runs, "--timeout=240s"
    )
    release.cluster.kubectl(
        "patch", "ae", "cancelled", "-n", release.runs, "--type=merge", "-p", '{"spec": {"cancel": true}}'
    )
    assert ended(release, "cancelled")["phase"] == "Cancelled"
    uid = release.cluster.kubectl("get", "ae", "cancelled", "-n", release.runs, "-o", "jsonpath={.metadata.uid}").stdout
    release.program(
        "kubectl", "wait", "--for=delete", "pod", "-l", f"assay.dev/object={uid}", "-n", release.runs, "--timeout=60s"
    )


def test_a_sandboxs_tree_is_graded_when_submit_is_raised_by_hand(release: Release, task: dict[str, Any]) -> None:
    release.apply(episode(release, "by-hand", task))
    release.program(
        "kubectl", "wait", "--for=condition=SandboxReady", "ae/by-hand", "-n", release.runs, "--timeout=240s"
    )
    release.cluster.kubectl(
        "patch", "ae", "by-hand", "-n", release.runs, "--type=merge", "-p", '{"spec": {"submit": 1}}'
    )
    status = ended(release, "by-hand")
    assert (status["phase"], status["reward"]) == ("Finished", 0.0)
    assert status["submissions"][0]["reason"] == "NothingSubmitted"


def test_gateways_operator_and_connections_that_break_at_random_points_lose_and_repeat_no_call(
    release: Release, task: dict[str, Any]
) -> None:
    patch, calls, names = task["spec"]["task"]["patch"], 12, [f"disturbed-{number}" for number in range(3)]
    for name in names:
        release.apply(episode(release, name, task, agent=agent(release, patch, calls)))
    release.program(
        "kubectl", "wait", "--for=condition=SandboxReady", f"ae/{names[0]}", "-n", release.runs, "--timeout=240s"
    )
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for kind in ("gateway", "connection", "operator", "gateway", "connection"):
        time.sleep(chance.uniform(0.5, 4))
        print(disturb(release, kind, chance))
    wrong = {name: verify(ended(release, name), 1.0, "Resolved", calls + 3) for name in names}
    assert wrong == dict.fromkeys(names, ""), seed
