"""What goes wrong while episodes are under way: killed gateways and operators, sandboxes whose connections are cut."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from chart.installing import Release
from conftest import ROOT

AGENT = (ROOT / "examples" / "agents" / "replay.py").read_text()
KINDS = ("gateway", "operator", "connection")
HANDS = 7070
CUTS = ("DROP", "REJECT --reject-with tcp-reset")
"""Packets that vanish, and connections that are broken and refused."""


def agent(release: Release, patch: str = "", calls: int = 0) -> dict[str, Any]:
    """``spec.agent`` that makes so many calls, then applies a patch and submits it; none: it submits nothing."""
    return {
        "image": release.image,
        "command": ["python3", "-I", "-c", AGENT],
        "env": [{"name": "REPLAY_PATCH", "value": patch}, {"name": "REPLAY_CALLS", "value": str(calls)}],
    }


def disturb(release: Release, kind: str, chance: random.Random) -> str:
    """Make one disturbance of a kind; return what was done."""
    if kind == "connection":
        return cut_one(release, chance)
    return kill_one(release, kind, chance)


def kill_one(release: Release, component: str, chance: random.Random) -> str:
    """Kill the processes of one pod of a component by SIGKILL."""
    selector = f"app.kubernetes.io/component={component}"
    uids = _uids(release, release.system, selector)
    assert uids
    uid = chance.choice(uids)
    killed = 0
    for process in _processes_of(uid):
        try:
            if b"assay" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
                killed += 1
        except (FileNotFoundError, ProcessLookupError):
            continue
    return f"{component}: {killed} processes killed"


def cut_one(release: Release, chance: random.Random) -> str:
    """Cut one sandbox off from gateways and operator for some seconds, by a rule in its own network namespace."""
    uids = _uids(release, release.runs, "assay.dev/network=sandbox", phase="Running")
    seconds, verdict = chance.uniform(1, 8), chance.choice(CUTS)
    if not uids:
        return "connection: no sandbox is there"
    network = _network_of(chance.choice(uids))
    if network is None:
        return "connection: the sandbox has just gone"
    rule = ("INPUT", "-p", "tcp", "--dport", str(HANDS), "-j", *verdict.split())
    with network:
        enter = ("nsenter", f"--net=/proc/self/fd/{network.fileno()}", "iptables", "--wait")
        for action, pause in (("-I", seconds), ("-D", 0.0)):
            subprocess.run((*enter, action, *rule), capture_output=True, check=True, pass_fds=(network.fileno(),))
            time.sleep(pause)
    return f"connection: cut for {seconds:.1f} s by {verdict}"


def _network_of(uid: str) -> IO[bytes] | None:
    """The network namespace of a pod, held open: it outlives the process that it is found by, and even the pod."""
    for process in _processes_of(uid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return (process / "ns" / "net").open("rb")
    return None


def _uids(release: Release, namespace: str, selector: str, phase: str = "") -> list[str]:
    field = f'{{range .items[?(@.status.phase=="{phase}")]}}' if phase else "{range .items[*]}"
    path = f"jsonpath={field}{{.metadata.uid}} {{end}}"
    return release.cluster.kubectl("get", "pod", "-n", namespace, "-l", selector, "-o", path).stdout.split()


def _processes_of(uid: str) -> Iterator[Path]:
    """The processes of a pod, found by its UID in their control groups."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if uid in (process / "cgroup").read_text():
                yield process
        except (FileNotFoundError, ProcessLookupError):
            continue


def verify(status: dict[str, Any], reward: float, reason: str, calls: int) -> str:
    """Return what is not as it should be: the reward, the number of submissions, of calls; empty when all is.

    The agent itself reads its traces, in the order of its calls, and submits nothing if one is missing or there twice.
    """
    said = (status.get("phase"), status.get("reward"), status.get("reason"))
    if said != ("Finished", reward, reason):
        return f"{said} where ('Finished', {reward}, {reason!r}) is deserved: {json.dumps(status)}"
    if len(status.get("submissions", ())) > 1:
        return f"{len(status['submissions'])} submissions"
    if not status.get("submissions") and status["agent"].get("exitCode") != 0:
        return f"the agent ended with {status['agent']}"
    made = status["toolCalls"]["count"]
    return "" if made == calls else f"{made} calls ran where {calls} were made"
