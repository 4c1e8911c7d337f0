"""A tool call's cost in a sandbox: the round trip through hands and serve.sh over the bare command, and calls a second.

    PYTHONPATH=operator:tests python benchmarks/hands.py [--calls 300] [--shell bash]

A call is one request, as the gateway makes it: it waits for the end and brings the output along. Needs root (process namespace).
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import aiohttp

from assay.kube.hands import Hands
from witness.hands.sandbox import KEY, Sandbox, sandbox_in

COMMAND = "echo hello"


def processor_seconds(pid: int) -> float:
    """Processor time of a process and the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def bare(calls: int, shell: str) -> list[float]:
    seconds = []
    for _ in range(calls):
        begun = time.perf_counter()
        subprocess.run([shell, "-c", COMMAND], stdout=subprocess.PIPE, check=True)
        seconds.append(time.perf_counter() - begun)
    return seconds


async def through_the_hands(sandbox: Sandbox, calls: int) -> tuple[list[float], float, tuple[float, float]]:
    async with aiohttp.ClientSession() as session:
        hands = Hands(session, f"127.0.0.1:{sandbox.port}", KEY)
        seconds = []
        before = time.process_time(), processor_seconds(sandbox.hands.pid)
        for number in range(calls):
            begun = time.perf_counter()
            await one(hands, f"alone-{number}")
            seconds.append(time.perf_counter() - begun)
        after = time.process_time(), processor_seconds(sandbox.hands.pid)
        processor = (after[0] - before[0]) / calls, (after[1] - before[1]) / calls
        begun = time.perf_counter()
        await asyncio.gather(*(one(hands, f"many-{number}") for number in range(calls)))
        return seconds, calls / (time.perf_counter() - begun), processor


async def one(hands: Hands, identifier: str) -> None:
    state = await hands.start(identifier, {"script": COMMAND}, seconds=60, output=50_000)
    while state["state"] != "done":
        state = await hands.wait(identifier, 60, output=50_000)
    assert (state["exitCode"], base64.b64decode(state["output"])) == (0, b"hello\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--calls", type=int, default=300)
    options.add_argument("--shell", choices=("bash", "dash", "busybox"), default="bash")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, sandbox_in(Path(folder) / "s") as sandbox:
        begun = time.perf_counter()
        sandbox.up(asked.shell)
        ready = time.perf_counter() - begun
        command = statistics.median(bare(asked.calls, "bash"))
        seconds, rate, processor = asyncio.run(through_the_hands(sandbox, asked.calls))
        memory = Path(f"/proc/{sandbox.hands.pid}/status").read_text().split("VmHWM:")[1].split()[0]
    median, slow = statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]
    print(f"ready after          {ready * 1000:8.0f} ms")
    print(f"bare command         {command * 1000:8.2f} ms median")
    print(f"call                 {median * 1000:8.2f} ms median, {slow * 1000:.2f} ms at 99 %")
    print(f"over the command     {(median - command) * 1000:8.2f} ms median")
    print(
        f"processor a call     {processor[0] * 1000:8.2f} ms in the client, {processor[1] * 1000:.2f} ms in the hands"
    )
    print(f"calls a second       {rate:8.0f} (queued, one sandbox)")
    print(f"memory of the hands  {int(memory) / 1024:8.1f} MiB")


if __name__ == "__main__":
    main()
