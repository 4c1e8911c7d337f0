"""A whole Go episode on a real node: the chart's operator and gateways, an agent that uses other people's modules by tool
calls, tries every way to its task's own, and submits; graded offline.  The episode says no policy: its task does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from chart.installing import Release, installed
from cluster.gostage import TASK, write_world
from cluster.goways import COPIES, RULES, TOML, USED, WAYS, WORK
from conftest import ROOT, TestCluster
from goproxy.gotools import TOOLCHAINS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(2400)]

EPISODE = "go-episode"
REPLAY = (ROOT / "examples" / "agents" / "replay.py").read_text().partition('if __name__ == "__main__":')[0]
AGENT = f"""{REPLAY}
session = asked("POST", "/create_session", {{}})["sid"]
task = {{"task": os.environ["ASSAY_TASK"]}}
asked("POST", "/create", {{"env_name": ENVIRONMENT, "task_spec": task}}, session)
for setting, scripts in json.loads(os.environ["COMMANDS"]):
    for name, script in scripts.items():
        output = called(session, "bash", {{"command": f"{{setting}}{{script}}", "description": name}})["output"]
        told = {{"code": output["metadata"]["exit_code"], "said": output["blocks"][0]["text"]}}
        print("SAID " + json.dumps([f"{{setting}}{{name}}", told]), flush=True)
patch = base64.b64encode(os.environ["REPLAY_PATCH"].encode()).decode()
call(session, "bash", command=f"printf %s {{patch}} | base64 -d | git apply -", description="apply the answer")
done = call(session, "submit_answer")
print(f"reward {{done['reward']}}", flush=True)
"""
LACKING = "GOTOOLCHAIN=go1.99.0 go version"
DIRECT = f"{WORK} && GOPROXY=direct GONOSUMDB='*' GOFLAGS=-mod=mod timeout 60 go get github.com/BurntSushi/toml@latest"


COMMANDS = {
    "toolchain": "go version; go env GOTOOLCHAIN",
    "get": f"{WORK} && go get example.com/lib@latest {TOML} && cat go.mod go.sum",
    "test": f"{WORK} && {USED} && go mod tidy && go test ./... && go mod verify",
    "versions": "cd /tmp && go list -m -versions example.com/lib",
    "sums": "cat $(go env GOPATH)/pkg/sumdb/*/latest",
    "own tests": "go test -run TestComma ./...",
    **{f"way: {name}": f"{WORK} && {way}" for name, way in WAYS.items()},
}
OTHERS = {"lacking": LACKING, "direct": DIRECT, "copies": COPIES}


def under(version: str) -> str:
    """Make the go command one of a toolchain that comes through the gateway."""
    return f"export PATH=$(GOTOOLCHAIN=go{version} go env GOROOT)/bin:$PATH; "


@dataclass(frozen=True)
class Played:
    """The episode when it was over: its status, what the agent's calls said, what the module gateway logged of it."""

    status: dict[str, Any]
    said: Mapping[str, dict[str, Any]]
    decisions: Sequence[dict[str, Any]]

    def call(self, name: str, version: str = "") -> tuple[int, str]:
        """Exit code and output of a call, under a toolchain where one is named."""
        told = self.said[(under(version) if version else "") + name]
        return told["code"], told["said"]


@pytest.fixture(scope="module")
def release(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    folder = tmp_path_factory.mktemp("world")
    sumdb = write_world(folder, TOOLCHAINS)
    modules = folder / "modules"
    for path in (modules, *modules.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    chosen = (
        "goproxy.enabled=true",
        f"goproxy.upstreamVolume.hostPath.path={modules}",
        f"goproxy.sumdb={sumdb}",
        "goproxy.resources.requests.cpu=50m",
        "gateway.replicas=1",
        f"gateway.environments.{EPISODE}.language=go",
    )
    with installed(cluster, EPISODE, *chosen) as release:
        yield release


@pytest.fixture(scope="module")
def played(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Played:
    task = release.apply_example(tmp_path_factory.mktemp("manifests"), "go-humanize-1-0-1")
    name = task["metadata"]["name"]
    found = release.wait(f"tv/{name}", 900)
    assert found["status"]["verdict"] == "Valid", found["status"]
    commands = [*((under(version), COMMANDS) for version in TOOLCHAINS), ("", OTHERS)]
    given = {"COMMANDS": json.dumps(commands), "REPLAY_PATCH": task["spec"]["task"]["patch"]}
    release.apply(
        {
            "apiVersion": "assay.dev/v1alpha1",
            "kind": "AgentEpisode",
            "metadata": {"name": EPISODE},
            "spec": {
                "validation": name,
                "network": "GoProxy",
                "agent": {
                    "image": release.image,
                    "command": ["python3", "-I", "-c", AGENT],
                    "env": [{"name": key, "value": value} for key, value in given.items()],
                },
            },
        }
    )
    told = agents_log(release)
    status = release.wait(f"ae/{EPISODE}", 900)["status"]
    until = ("kubectl", "wait", "--for=condition=EgressCounted", f"ae/{EPISODE}", "-n", release.runs)
    release.program(*until, "--timeout=90s")
    status = release.wait(f"ae/{EPISODE}")["status"]
    said = dict(json.loads(line[5:]) for line in told.splitlines() if line.startswith("SAID "))
    assert set(said) == {f"{setting}{name}" for setting, scripts in commands for name in scripts}, told[-3000:]
    return Played(status=status, said=said, decisions=decisions(release))


def agents_log(release: Release) -> str:
    """Follow the agent's log to its end: its pod goes with the episode's end."""
    kubectl = release.cluster.kubectl
    uid = kubectl("get", "ae", EPISODE, "-n", release.runs, "-o", "jsonpath={.metadata.uid}").stdout
    mine = ("-n", release.runs, "-l", f"assay.dev/object={uid},assay.dev/run=agent")
    end = time.monotonic() + 600
    while not kubectl("get", "pod", *mine, "-o", "name").stdout:
        assert time.monotonic() < end, release.log("deploy/assay-operator")
        time.sleep(0.5)
    release.program("kubectl", "wait", "pod", *mine, "--for=condition=Ready", "--timeout=300s")
    return kubectl("logs", "-f", "--tail=-1", *mine, check=False).stdout


def decisions(release: Release) -> list[dict[str, Any]]:
    """What the replicas of the module gateway logged of the episode."""
    selector = ("-l", "app.kubernetes.io/component=goproxy", "--tail=-1")
    log = release.cluster.kubectl("logs", "-n", release.system, *selector).stdout
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["run"] == f"{release.runs}/{EPISODE}"]


def test_the_episode_is_graded_offline_and_earns_its_reward(played: Played) -> None:
    status = played.status
    assert (status["phase"], status.get("reward"), status.get("resolved")) == ("Finished", 1.0, True), status
    (submission,) = status["submissions"]
    assert submission["outcome"] == "Graded"
    assert submission["run"]["isolation"]["leaks"] == 0


def test_what_is_refused_is_what_the_tasks_validation_says(played: Played) -> None:
    policy = played.status["sandbox"]["goPolicy"]
    assert (policy["owned"], policy["forkNames"]) == ([TASK], ["go-humanize"])


def test_the_witness_saw_the_gateway_answer_and_all_else_refuse(played: Played) -> None:
    said = {each["type"]: each for each in played.status["conditions"]}["NetworkIsolationVerified"]
    assert (said["status"], said["reason"]) == ("True", "Proven")
    assert said["message"].endswith("out of the sandbox's reach, the module gateway answers it")


@pytest.mark.parametrize("version", TOOLCHAINS)
def test_other_peoples_modules_are_had_by_a_toolchain_from_the_gateway(played: Played, version: str) -> None:
    assert f"go{version} " in played.call("toolchain", version)[1]
    assert "\nlocal" in played.call("toolchain", version)[1]
    code, said = played.call("get", version)
    assert (code, "example.com/lib v1.1.0" in said) == (0, True), said
    assert "github.com/BurntSushi/toml v1.3.2 h1:" in said
    code, said = played.call("test", version)
    assert (code, "all modules verified" in said) == (0, True), said
    code, said = played.call("versions", version)
    assert (code, "v1.0.0 v1.1.0" in said) == (0, True), said
    code, said = played.call("sums", version)
    assert (code, "go.sum database tree" in said) == (0, True), said
    code, said = played.call("own tests", version)
    assert code == 0, said


@pytest.mark.parametrize("version", TOOLCHAINS)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_the_tasks_own_module_is_refused_in_one_sentence(played: Played, version: str, way: str) -> None:
    code, said = played.call(f"way: {way}", version)
    assert code != 0
    assert "403 Forbidden" in said
    assert "the task's own" in said


def test_what_upstream_lacks_and_what_lies_outside_is_not_had(played: Played) -> None:
    code, said = played.call("lacking")
    assert (code != 0, "toolchain not available" in said) == (True, True), said
    assert played.call("direct")[0] not in (0, 124), played.call("direct")
    assert played.call("copies")[0] == 1, played.call("copies")


def test_status_has_counted_exactly_what_the_gateway_has_logged(played: Played) -> None:
    used, lines = played.status["egress"], played.decisions
    served = [line for line in lines if line["status"] == 200]
    assert used["requests"] == len(lines)
    assert used["denied"] == sum(line["decision"] == "denied" for line in lines) >= len(WAYS) * len(TOOLCHAINS)
    assert used["bytes"] == sum(line["bytes"] for line in served)
    assert used["modules"] == len({line["module"] for line in served} - {""})
    assert set(RULES) <= {line["rule"] for line in lines}
