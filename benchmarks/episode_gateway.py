"""The episode gateway beside what it costs: calls a second, memory of idle episodes, time from create to a first result.

PYTHONPATH=operator:tests python benchmarks/episode_gateway.py [EPISODES [CALLS]]

Starts a simulated cluster of its own; each episode has a sandbox by the contract of the hands, over a local directory
and the real bash, in this process: what is measured is the gateway's way there and back.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import yaml

from conftest import start_cluster, stop_cluster
from gateway.stage import MASTER, Raw, Stage, staged, write_keys

ROOT = Path(__file__).parents[1]


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


async def started(stage: Stage, environment: dict[str, str]) -> tuple[asyncio.subprocess.Process, int]:
    """A gateway in a process of its own, ready."""
    port, health = free_ports(2)
    (stage.directory / "master").write_bytes(MASTER)
    settings = stage.settings(port=port).model_dump(by_alias=True, mode="json")
    settings |= {"healthPort": health, "masterKeyFile": str(stage.directory / "master"), "logLevel": "WARNING"}
    (stage.directory / "config.yaml").write_text(yaml.safe_dump(settings))
    command = (sys.executable, "-m", "assay", "gateway", "--config", str(stage.directory / "config.yaml"))
    process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=ROOT)
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            try:
                async with session.get(f"http://127.0.0.1:{health}/readyz") as response:
                    if response.status == 200:
                        return process, port
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise RuntimeError("the gateway does not become ready")


def resident_mib(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found.group(1)) / 1024


async def opened(raw: Raw) -> float:
    """Seconds from the request of /create to the first tool result."""
    began = time.perf_counter()
    await raw.create()
    await raw.bash("true")
    return time.perf_counter() - began


async def caller(raw: Raw, calls: int, seconds: list[float]) -> None:
    for _ in range(calls):
        began = time.perf_counter()
        await raw.bash("true")
        seconds.append(time.perf_counter() - began)


async def measured(episodes: int, calls: int) -> dict[str, float]:
    cluster = start_cluster(f"bench-gateway-{os.getpid()}", "--profile", "simulated")
    try:
        cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        cluster.kubectl("wait", "--for=condition=Established", "crd/agentepisodes.assay.dev", "--timeout=30s")
        with tempfile.TemporaryDirectory() as directory:
            async with staged(cluster, "bench", Path(directory)) as stage, aiohttp.ClientSession() as session:
                return await figures(stage, session, cluster.environment, episodes=episodes, calls=calls)
    finally:
        stop_cluster(cluster)


async def figures(
    stage: Stage, session: aiohttp.ClientSession, environment: dict[str, str], *, episodes: int, calls: int
) -> dict[str, float]:
    write_keys(stage.directory / "keys.json", alice=episodes + 1)
    process, port = await started(stage, environment | {"PYTHONPATH": "operator"})
    try:
        empty = resident_mib(process.pid)
        raws = [Raw(session, port, sid=f"s{number}") for number in range(episodes)]
        first = [await opened(raw) for raw in raws]
        idle = resident_mib(process.pid)
        bare = [await plain() for _ in range(50)]
        alone: list[float] = []
        await caller(raws[0], 100, alone)
        together: list[float] = []
        began = time.perf_counter()
        await asyncio.gather(*(caller(raw, calls, together) for raw in raws[:100]))
        rate = len(together) / (time.perf_counter() - began)
    finally:
        process.terminate()
        await process.wait()
    return {
        "episodes": episodes,
        "memory empty, MiB": round(empty, 1),
        "memory with idle episodes, MiB": round(idle, 1),
        "create to first result, median s": round(statistics.median(first), 3),
        "bare bash, median ms": round(1000 * statistics.median(bare), 2),
        "one call, median ms": round(1000 * statistics.median(alone), 2),
        f"calls a second, {len(raws[:100])} episodes": round(rate, 1),
        f"call among {len(raws[:100])}, median ms": round(1000 * statistics.median(together), 1),
    }


async def plain() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec("/bin/bash", "-c", "true", stdout=subprocess.DEVNULL)
    await process.wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    print(json.dumps(asyncio.run(measured(*(numbers + [200, 10][len(numbers) :]))), indent=1))
