"""Episodes while everything around them breaks: gateways and the operator killed, sandboxes cut off, at random points.

    PYTHONPATH=operator:tests python benchmarks/chaos.py [--seed N] [--episodes 20] [--points 10] [--calls 12]

A cluster of its own with the chart installed.  Each episode has an agent's pod that makes calls which leave a trace,
reads the traces, and submits the right patch, a wrong one or nothing.  Exits with 1 unless every episode ends with the
reward that it deserves, and every call ran once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chart.disturbing import KINDS, agent, disturb, verify
from chart.installing import Release, installed
from conftest import install_crds, start_cluster, stop_cluster

WRONG = "diff --git a/wrong.txt b/wrong.txt\nnew file mode 100644\n--- /dev/null\n+++ b/wrong.txt\n@@ -0,0 +1 @@\n+x\n"
AT_ONCE = 3
"""Sandboxes at a time, beside their agents and gradings, on a node of two processors."""
PATIENCE = 3600


def scripts(patch: str, count: int) -> dict[str, tuple[str, float, str, int]]:
    """Names of the episodes -> patch, reward, reason, and calls beside those that leave a trace."""
    kinds = [(patch, 1.0, "Resolved", 3), (WRONG, 0.0, "TestsFail", 3), (patch, 1.0, "Resolved", 3)]
    kinds.append(("", 0.0, "NothingSubmitted", 2))
    return {f"chaos-{number:02}": kinds[number % len(kinds)] for number in range(count)}


def statuses(release: Release) -> dict[str, dict[str, Any]]:
    said = release.cluster.kubectl("get", "agentepisodes", "-n", release.runs, "-o", "json").stdout
    return {item["metadata"]["name"]: item.get("status", {}) for item in json.loads(said)["items"]}


def final(status: dict[str, Any]) -> bool:
    return status.get("phase") in {"Finished", "Failed", "Expired", "Cancelled"}


def ready(release: Release) -> int:
    return sum(status.get("phase") in {"Ready", "Grading"} for status in statuses(release).values())


def await_work(release: Release) -> None:
    """Wait until an episode is under way, so that no disturbance meets an idle cluster."""
    while not ready(release) and not all(map(final, statuses(release).values())):
        time.sleep(0.5)


def run(release: Release, folder: Path, options: argparse.Namespace) -> list[str]:
    """Play the episodes; return what was not as it should be."""
    task = release.apply_example(folder, "valid")
    name = task["metadata"]["name"]
    assert release.wait(f"tv/{name}", 600)["status"]["verdict"] == "Valid"
    played = scripts(task["spec"]["task"]["patch"], options.episodes)
    for episode, (patch, _, _, _) in played.items():
        spec = {"validation": name, "agent": agent(release, patch, options.calls)}
        metadata = {"name": episode}
        made = {"apiVersion": "assay.dev/v1alpha1", "kind": "AgentEpisode", "metadata": metadata, "spec": spec}
        release.apply(made)
    chance = random.Random(options.seed)
    kinds = [KINDS[number % len(KINDS)] for number in range(options.points)]
    chance.shuffle(kinds)
    for kind in kinds:
        await_work(release)
        time.sleep(chance.uniform(0.5, 15))
        done = sum(map(final, statuses(release).values()))
        print(f"{done} of {len(played)} episodes ended; {disturb(release, kind, chance)}", flush=True)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(map(final, statuses(release).values())):
        time.sleep(2)
    found = statuses(release)
    wrong = [
        f"{episode}: {fault}"
        for episode, (_, reward, reason, more) in played.items()
        if (fault := verify(found[episode], reward, reason, options.calls + more))
    ]
    rewards = [found[episode].get("reward") for episode in played]
    print(f"{len(played)} episodes, {len(kinds)} disturbances, rewards {rewards}, {len(wrong)} wrong", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--calls", type=int, default=12)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    cluster = start_cluster(f"chaos-{os.getpid()}", "--profile", "node")
    try:
        install_crds(cluster)
        more = ("gateway.replicas=2", f"operator.maxSandboxes={AT_ONCE}")
        with tempfile.TemporaryDirectory() as folder, installed(cluster, "chaos", *more) as release:
            wrong = run(release, Path(folder), options)
    finally:
        stop_cluster(cluster)
    for fault in wrong:
        print(fault, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
