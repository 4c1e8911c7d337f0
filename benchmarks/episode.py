"""An episode on a real node: create to first tool result, a call over the bare command, submission to reward.

    PYTHONPATH=operator:tests python benchmarks/episode.py [--episodes 3] [--calls 100]

A cluster of its own with the chart installed.  A pod inside of it plays the episodes, one after the other, through the
gateway; each call is a connection of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from chart.disturbing import AGENT
from chart.installing import Release, installed
from conftest import install_crds, start_cluster, stop_cluster
from gateway.stage import KEYS, write_keys

GOAL_MS = 15.0
PLAY = """
import base64, json, os, statistics, time, types
replay = types.ModuleType("replay")
exec(os.environ["REPLAY"], replay.__dict__)
bare = ("import subprocess, time; seconds = []\\n"
        "for _ in range(50):\\n"
        "    begun = time.perf_counter(); subprocess.run(['bash', '-c', 'true']); seconds.append(time.perf_counter() - begun)\\n"
        "print(sorted(seconds)[25])")

def bash(sid, command):
    return replay.called(sid, "bash", {"command": command, "description": "measured"})["output"]["blocks"][0]["text"]

def timed(act):
    begun = time.perf_counter()
    return act(), time.perf_counter() - begun

patch = base64.b64encode(os.environ["PATCH"].encode()).decode()
for number in range(int(os.environ["EPISODES"])):
    sid = f"measured-{number}"
    create = lambda: replay.asked("POST", "/create", {"task_spec": {"task": os.environ["TASK"]}}, sid)
    _, first = timed(lambda: (create(), bash(sid, "true")))
    alone = float(bash(sid, f"python3 -c \\"{bare}\\"").split()[0])
    calls = [timed(lambda: bash(sid, "true"))[1] for _ in range(int(os.environ["CALLS"]))]
    bash(sid, f"printf %s {patch} | base64 -d | git apply -")
    done, graded = timed(lambda: replay.called(sid, "submit_answer", {}))
    print(json.dumps({"first": first, "bare": alone, "call": statistics.median(calls), "graded": graded,
                      "reward": done["output"]["reward"]}), flush=True)
"""


def player(release: Release, task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The pod that plays."""
    environment = {
        "ASSAY_URL": "http://" + _address(release),
        "ASSAY_API_KEY": KEYS["alice"],
        "ASSAY_ENVIRONMENT": "assay",
        "REPLAY": AGENT,
        "PATCH": task["spec"]["task"]["patch"],
        "TASK": task["metadata"]["name"],
        "EPISODES": str(options.episodes),
        "CALLS": str(options.calls),
    }
    container = {
        "name": "player",
        "image": release.image,
        "command": ["python3", "-I", "-c", PLAY],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
    }
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "player"}, "spec": spec}


def _address(release: Release) -> str:
    path = "jsonpath={.spec.clusterIP}:{.spec.ports[0].port}"
    return release.cluster.kubectl("get", "svc", "assay-gateway", "-n", release.system, "-o", path).stdout


def run(release: Release, folder: Path, options: argparse.Namespace) -> bool:
    """Play and print; return whether the goal is met."""
    task = release.apply_example(folder, "valid")
    assert release.wait(f"tv/{task['metadata']['name']}", 600)["status"]["verdict"] == "Valid"
    kubectl = release.cluster.kubectl
    kubectl("apply", "-n", release.system, "-f", "-", stdin=json.dumps(player(release, task, options)))
    ended = "--for=jsonpath={.status.phase}=Succeeded"
    kubectl("wait", "-n", release.system, ended, "pod/player", "--timeout=3000s")
    seen = [
        json.loads(line)
        for line in kubectl("logs", "-n", release.system, "player").stdout.splitlines()
        if line[0] == "{"
    ]
    assert [one["reward"] for one in seen] == [1.0] * options.episodes
    listed = json.loads(kubectl("get", "agentepisodes", "-n", release.runs, "-o", "json").stdout)["items"]
    tests = [item["status"]["submissions"][0]["run"]["durationSeconds"] for item in listed]
    median = {name: statistics.median(one[name] for one in seen) for name in ("first", "bare", "call", "graded")}
    over = 1000 * (median["call"] - median["bare"])
    print(f"create to first result      {median['first']:8.2f} s")
    print(f"bare command                {1000 * median['bare']:8.2f} ms median")
    print(f"call by way of the gateway  {1000 * median['call']:8.2f} ms median")
    print(f"over the command            {over:8.2f} ms, goal {GOAL_MS:g}")
    print(f"submission to reward        {median['graded']:8.2f} s")
    print(f"of these the grading's run  {statistics.median(tests):8.2f} s")
    return over <= GOAL_MS


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    cluster = start_cluster(f"bench-episode-{os.getpid()}", "--profile", "node")
    try:
        install_crds(cluster)
        with tempfile.TemporaryDirectory() as folder:
            keys = Path(folder) / "keys.json"
            write_keys(keys)
            cluster.kubectl("create", "namespace", "measured-system")
            secret = ("create", "secret", "generic", "assay-gateway-keys", "-n", "measured-system")
            cluster.kubectl(*secret, f"--from-file={keys}")
            manifests = Path(folder) / "manifests"
            with installed(cluster, "measured") as release:
                return not run(release, manifests, options)
    finally:
        stop_cluster(cluster)


if __name__ == "__main__":
    sys.exit(main())
