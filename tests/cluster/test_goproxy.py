"""Pods of a real node beside two replicas of the module gateway: who reaches it, with which token, and what is counted.

What the go command gets through it, and each way to the task's own module, is tried by an agent in test_go_episode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.gostage import RUNS, SERVER, SYSTEM, USAGE, GoStage, working_gateway
from cluster.goways import RULES, TOML, WORK
from cluster.stage import Outside, listening, load_examples
from conftest import TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

OPERATOR = {"app.kubernetes.io/name": "assay", "app.kubernetes.io/component": "operator"}


@pytest.fixture(scope="module")
def go_stage(cluster: TestCluster, witness_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoStage]:
    example = load_examples(cluster, tmp_path_factory.mktemp("manifests"), ("go-humanize-1-0-1",))
    go_image = example["go-humanize-1-0-1"]["spec"]["task"]["image"]
    with working_gateway(cluster, witness_image, go_image, tmp_path_factory.mktemp("world")) as stage:
        service_account = {"serviceAccountName": "assay-operator", "automountServiceAccountToken": True}
        stage.pod("operator", namespace=SYSTEM, image=witness_image, labels=OPERATOR, **service_account)
        yield stage


@pytest.fixture(scope="module")
def sandbox(go_stage: GoStage) -> str:
    """The pod of an episode with network GoProxy, once the gateway knows it."""
    go_stage.sandbox("sandbox")
    code, said = go_stage.run("sandbox", "until go list -m -versions example.com/lib; do sleep 0.2; done")
    assert code == 0, said
    return "sandbox"


def egress(stage: GoStage, run: str) -> dict[str, Any]:
    """What the operator would write to an episode's status."""
    code, said = stage.run("operator", f"python3 -c '{USAGE}' {SYSTEM} {RUNS}/{run}", namespace=SYSTEM)
    assert code == 0, said
    told = json.loads(said.splitlines()[-1])
    assert told["gateway"] == stage.gateway
    found: dict[str, Any] = told["runs"][f"{RUNS}/{run}"]
    return found


def test_what_was_served_and_refused_is_counted_and_logged_over_all_replicas(go_stage: GoStage) -> None:
    go_stage.sandbox("counted")
    served = f"{WORK} && until go get example.com/lib@v1.1.0 {TOML}; do sleep 0.2; done"
    code, said = go_stage.run("counted", " && ".join([served, *(f"! {command}" for command in RULES.values())]))
    assert code == 0, said
    used = egress(go_stage, "counted")
    log = go_stage.cluster.kubectl(
        "logs", "-n", SYSTEM, "-l", "app.kubernetes.io/component=goproxy", "--tail=-1"
    ).stdout
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    ours = [line for line in lines if line["run"] == f"{RUNS}/counted"]
    assert len(ours) == used["requests"]
    assert sum(line["decision"] == "denied" for line in ours) == used["denied"] >= len(RULES)
    assert set(RULES) <= {line["rule"] for line in ours}
    assert sum(line["bytes"] for line in ours if line["status"] == 200) == used["bytes"]
    modules = {line["module"] for line in ours if line["status"] == 200} - {""}
    assert {"example.com/lib", "github.com/BurntSushi/toml"} <= modules
    assert len(modules) == used["modules"]
    replicas(go_stage)


@pytest.fixture(scope="module")
def outside(cluster: TestCluster) -> Iterator[Outside]:
    with listening(cluster) as outside:
        yield outside


@pytest.fixture(scope="module")
def elsewhere(go_stage: GoStage, outside: Outside) -> dict[str, str]:
    """Everything near that a sandbox must not reach; each answers a pod under no policy."""
    root = {"securityContext": {"runAsUser": 0}, "command": ["python3", "-c", SERVER]}
    bystander = go_stage.pod("bystander", namespace=SYSTEM, image=go_stage.image, **root)
    host, port = outside.address
    api = go_stage.read("service", "kubernetes", "default")["spec"]["clusterIP"]
    targets = {
        "another pod on the gateway's port": f"tcp:{bystander}:8080",
        "a name service": f"udp:{bystander}:53",
        "a name service by TCP": f"tcp:{bystander}:53",
        "the machine": f"tcp:{host}:{port}",
        "the API server": f"tcp:{api}:443",
    }
    go_stage.pod("control", namespace="default")
    try:
        reached = go_stage.reached("control", list(targets.values()), namespace="default")
        assert all(reached.values()), reached
    finally:
        go_stage.cluster.kubectl("delete", "pod", "control", "-n", "default", "--wait=false")
    return targets


def replicas(stage: GoStage) -> list[str]:
    found = stage.cluster.kubectl(
        "get",
        "pods",
        "-n",
        SYSTEM,
        "-l",
        "app.kubernetes.io/component=goproxy",
        "-o",
        "jsonpath={.items[*].status.podIP}",
    ).stdout.split()
    assert len(found) == 2
    return found


def test_a_sandbox_reaches_the_gateways_port_and_nothing_else(
    go_stage: GoStage, sandbox: str, elsewhere: dict[str, str]
) -> None:
    service = go_stage.gateway.removeprefix("http://")
    doors = [f"tcp:{service}", *(f"tcp:{address}:8080" for address in replicas(go_stage))]
    health = [f"tcp:{address}:8081" for address in replicas(go_stage)]
    assert go_stage.reached("operator", health, namespace=SYSTEM) == dict.fromkeys(health, True)
    expected = dict.fromkeys(doors, True) | dict.fromkeys([*health, *elsewhere.values()], False)
    assert go_stage.reached(sandbox, list(expected)) == expected


def test_an_offline_pod_reaches_nothing_with_the_best_of_tokens(go_stage: GoStage, elsewhere: dict[str, str]) -> None:
    go_stage.sandbox("offline", network="offline")
    service = go_stage.gateway.removeprefix("http://")
    targets = [f"tcp:{service}", *(f"tcp:{address}:8080" for address in replicas(go_stage)), *elsewhere.values()]
    assert go_stage.reached("offline", targets) == dict.fromkeys(targets, False)


def test_a_stranger_in_the_cluster_does_not_reach_the_gateway(go_stage: GoStage) -> None:
    go_stage.pod("stranger", namespace=SYSTEM, image=go_stage.image)
    targets = [f"tcp:{address}:{port}" for address in replicas(go_stage) for port in (8080, 8081)]
    assert go_stage.reached("stranger", targets, namespace=SYSTEM) == dict.fromkeys(targets, False)


def test_a_token_opens_nothing_from_another_pod(go_stage: GoStage, sandbox: str) -> None:
    go_stage.sandbox("other")
    code, proxy = go_stage.run(sandbox, "echo $GOPROXY")
    assert code == 0
    code, said = go_stage.run("other", "until go list -m -versions example.com/lib; do sleep 0.2; done")
    assert code == 0, said
    code, said = go_stage.run("other", f"GOPROXY={proxy.strip()} go list -m -versions example.com/lib")
    assert (code != 0, "403 Forbidden" in said) == (True, True), said


def test_an_episode_that_is_over_has_no_route(go_stage: GoStage) -> None:
    go_stage.sandbox("ending")
    until = "until {}; do sleep 0.2; done"
    code, said = go_stage.run("ending", until.format("go list -m -versions example.com/lib"))
    assert code == 0, said
    go_stage.say("ending", phase="Finished")
    code, said = go_stage.run(
        "ending", until.format("go list -m -versions example.com/lib 2>&1 | grep '403 Forbidden'")
    )
    assert code == 0, said
