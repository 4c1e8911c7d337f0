"""The published clients, unmodified, drive whole episodes: installed once from the registry, each on its own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.kube.client import AGENT_EPISODES
from gateway.relay import relayed
from gateway.stage import KEYS, Stage

pytestmark = [pytest.mark.runners, pytest.mark.timeout(900)]  # the first time, the clients are installed

CLIENTS = Path(__file__).parent / "clients"
NAMES = ("ors-sdk", "openreward")
SILENCE_SECONDS = 30
"""How long both clients wait for the next byte of a stream."""
TOOLS = ["bash", "create_file", "str_replace", "submit_answer", "view"]


def installed(name: str) -> Path:
    """The interpreter of a client's virtual environment, made once for its pinned packages."""
    pins = CLIENTS / f"{name}.txt"
    named, home = os.environ.get("ASSAY_CACHE"), os.environ.get("XDG_CACHE_HOME")
    cache = Path(named) if named else (Path(home) if home else Path.home() / ".cache") / "assay"
    place = cache / "runners" / f"{name}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:16]}"
    complete = place / ".complete"
    if not complete.exists():
        subprocess.run((sys.executable, "-m", "venv", "--clear", str(place)), check=True)
        pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile")
        subprocess.run((*pip, "--requirement", str(pins)), check=True)
        complete.touch()
    return place / "bin" / "python"


@pytest.fixture(scope="module")
def pythons() -> dict[str, Path]:
    return {name: installed(name) for name in NAMES}


class Driven:
    """A client at work."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")

    async def seen(self) -> dict[str, Any]:
        """What the scenario saw."""
        out, err = await self._process.communicate()
        assert self._process.returncode == 0, err.decode()[-3000:]
        found: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
        return found


async def drive(python: Path, name: str, port: int, scenario: str, *, key: str = KEYS["alice"]) -> Driven:
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling a client takes longer than most tests
    process = await asyncio.create_subprocess_exec(
        *(str(python), str(CLIENTS / "drive.py"), name, f"http://127.0.0.1:{port}", key, scenario),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    return Driven(process)


async def names(stage: Stage) -> list[str]:
    pages = [items async for items in stage.client.pages(AGENT_EPISODES, stage.namespace)]
    return [raw["metadata"]["name"] for items in pages for raw in items]


@pytest.mark.parametrize("name", NAMES)
async def test_a_whole_episode(stage: Stage, port: int, pythons: dict[str, Path], name: str) -> None:
    seen = await (await drive(pythons[name], name, port, "whole")).seen()
    assert seen["splits"] == ["train", "test"]
    assert seen["count"] == 2
    assert seen["tasks"] == [{"task": "first"}, {"task": "second"}]
    assert seen["task"] == {"task": "second"}
    assert seen["range"] == [{"task": "first"}]
    assert seen["tools"] == seen["task_tools"] == TOOLS
    assert seen["openai"] == seen["anthropic"] == 5
    assert seen["google"]
    assert "Make f return 2." in seen["prompt"]
    assert seen.get("messages", 1) == 1
    assert seen["made"] == ["f.py: wrote 22 bytes.\nExit code: 0", None, False]
    assert seen["edited"] == ["f.py: replaced the text at line 2.\nExit code: 0", None, False]
    assert seen["viewed"] == ["     1\tdef f():\n     2\t    return 2\nExit code: 0", None, False]
    lines = [" " * (n % 130) + f"line {n}" for n in range(500)]
    assert seen["spaced"] == "\n".join([*lines, " " * 9000 + "end", "Exit code: 0"])
    assert "command: must be a string" in seen["invalid"][1]
    assert "is not a valid tool" in seen["unknown"][1]
    assert seen["invalid"][0] == seen["unknown"][0] == "ToolCallError"
    assert seen["after_faults"] == "on\nExit code: 0"
    assert seen["submitted"][1:] == [1.0, True]
    assert [error for error, _ in seen["after_end"]] == ["ToolCallError"] * 2
    assert await names(stage) == []


@pytest.mark.parametrize("name", NAMES)
async def test_an_episode_by_task(stage: Stage, port: int, pythons: dict[str, Path], name: str) -> None:
    seen = await (await drive(pythons[name], name, port, "by_task")).seen()
    assert seen["first"] == "(no output)\nExit code: 0"
    assert seen["submitted"][1:] == [0.0, True]


async def test_a_start_and_a_call_longer_than_the_clients_wait_for_silence(
    stage: Stage, port: int, pythons: dict[str, Path]
) -> None:
    calling = [await drive(pythons[name], name, port, "slow_call") for name in NAMES]
    assert [await each.line() for each in calling] == ["ready\n"] * 2
    stage.cast.hold_start.clear()
    starting = [await drive(pythons[name], name, port, "slow_start") for name in NAMES]
    assert [await each.line() for each in starting] == ["ready\n"] * 2
    for each in (*calling, *starting):
        each.go_on()
    await asyncio.sleep(SILENCE_SECONDS + 3)
    stage.cast.hold_start.set()
    for seen in [await each.seen() for each in (*calling, *starting)]:
        assert "Make f return 2." in seen["prompt"]
        assert seen["text"] == seen["next"] == "ran\nExit code: 0"


async def test_a_gateway_that_is_replaced_during_a_call(stage: Stage, pythons: dict[str, Path]) -> None:
    async with stage.gateway() as first:
        driven = [await drive(pythons[name], name, first.port, "restart") for name in NAMES]
        assert [await each.line() for each in driven] == ["ready\n"] * 2
        for each in driven:
            each.go_on()
        async with asyncio.timeout(60):
            while sum(bool(sandbox.running) for sandbox in stage.cast.sandboxes.values()) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    async with stage.gateway(port=first.port):
        for seen in [await each.seen() for each in driven]:
            assert seen["text"] == seen["next"] == "ran\nExit code: 0"


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_connection_that_breaks_before_the_gateway_has_the_call_or_after_its_id_was_told(
    stage: Stage, port: int, pythons: dict[str, Path], cut: str
) -> None:
    for name in NAMES:
        async with relayed(port, cut) as (door, relay):
            seen = await (await drive(pythons[name], name, door, "cut")).seen()
        assert relay.cuts == 1
        assert seen == {"first": "ran\nExit code: 0", "next": "ran\nExit code: 0"}


@pytest.mark.parametrize(("name", "error"), [("ors-sdk", "RuntimeError"), ("openreward", "SessionTerminatedError")])
async def test_an_expired_episode(stage: Stage, port: int, pythons: dict[str, Path], name: str, error: str) -> None:
    driven = await drive(pythons[name], name, port, "expired")
    assert await driven.line() == "ready\n"
    (made,) = await names(stage)
    await stage.cast.status(made, phase="Expired", message="the episode's time is over")
    await asyncio.sleep(0.5)
    driven.go_on()
    fault = (await driven.seen())["fault"]
    assert fault[0] == error
    assert "time is over" in fault[1]


@pytest.mark.parametrize("name", NAMES)
async def test_a_wrong_key(stage: Stage, port: int, pythons: dict[str, Path], name: str) -> None:
    seen = await (await drive(pythons[name], name, port, "wrong_key", key="wrong")).seen()
    assert seen["fault"][0] == "AuthenticationError"


async def test_a_toolset_that_there_is_not(stage: Stage, port: int, pythons: dict[str, Path]) -> None:
    seen = await (await drive(pythons["openreward"], "openreward", port, "toolset")).seen()
    assert "toolset" in seen["fault"][1]
