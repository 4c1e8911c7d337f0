"""A stage for gateways: tasks and episodes on a real API server, a sandbox for each episode, and whoever grades.

``Cast`` stands in for the operator: it alone writes status, by the contract of AgentEpisode.  An answer is right when
the file ``answer`` of the sandbox holds ``right``.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import load_kube_config

from assay.domain.keys import sandbox_key
from assay.gateway.server import Running, running
from assay.gateway.settings import Settings
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, ApiError, Client
from builders import make_manifest
from conftest import TestCluster
from gateway.sandbox import Sandbox

MASTER = b"a master key of the tests"
KEYS = {"alice": "alice-key", "bob": "bob-key"}


def write_keys(file: Path, **most: int) -> None:
    """Write the file of API keys; ``alice`` and ``bob`` with their most open episodes (50)."""
    entries = [
        {"name": name, "sha256": hashlib.sha256(key.encode()).hexdigest(), "maxEpisodes": most.get(name, 50)}
        for name, key in KEYS.items()
    ]
    file.write_text(json.dumps({"keys": entries}))


class Cast:
    """The operator's part, in a namespace."""

    def __init__(self, client: Client, namespace: str, directory: Path) -> None:
        self.client, self.namespace, self.directory = client, namespace, directory
        self.sandboxes: dict[str, Sandbox] = {}
        self.hold_start = asyncio.Event()
        self.hold_start.set()
        self.hold_grading = asyncio.Event()
        self.hold_grading.set()
        self.outcomes: list[dict[str, Any]] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def play(self) -> None:
        """Watch episodes for ever."""
        _, version = [page async for page in self.client.versioned_pages(AGENT_EPISODES, self.namespace)][-1]
        async for event, raw in self.client.watch(AGENT_EPISODES, self.namespace, version=version, seconds=3000):
            uid = raw["metadata"].get("uid", "")
            if event == "ADDED":
                self._tasks[uid] = asyncio.create_task(self._episode(raw))
            elif event == "DELETED":
                await self._remove(uid)

    async def end(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for uid in list(self.sandboxes):
            await self._remove(uid)

    def sandbox_of(self, name: str) -> Sandbox:
        """The sandbox of an episode by name."""
        (found,) = [sandbox for sandbox in self.sandboxes.values() if sandbox.tree.parent.name == name]
        return found

    async def status(self, name: str, **fields: Any) -> None:
        """Write status."""
        await self.client.patch_status(AGENT_EPISODES, self.namespace, name, {"status": fields})

    async def _remove(self, uid: str) -> None:
        task = self._tasks.pop(uid, None)
        if task:
            task.cancel()
        sandbox = self.sandboxes.pop(uid, None)
        if sandbox:
            await sandbox.stop()

    async def _episode(self, raw: Mapping[str, Any]) -> None:
        name, uid = raw["metadata"]["name"], raw["metadata"]["uid"]
        await self.hold_start.wait()
        place = self.directory / name
        for folder in ("tree", "spool"):
            (place / folder).mkdir(parents=True)
        sandbox = self.sandboxes[uid] = Sandbox(place / "tree", place / "spool", sandbox_key(MASTER, uid))
        await self.status(name, phase="Ready", endpoint=await sandbox.start())
        done: list[dict[str, Any]] = []
        while True:
            seen = await self.client.get(AGENT_EPISODES, self.namespace, name)
            if seen["spec"].get("cancel"):
                await self.status(name, phase="Cancelled", message="the episode was cancelled")
                return
            if seen["spec"].get("submit", 0) > len(done) and await self._graded(name, sandbox, done):
                return
            await asyncio.sleep(0.1)

    async def _graded(self, name: str, sandbox: Sandbox, done: list[dict[str, Any]]) -> bool:
        """Grade a submission; True when that finished the episode."""
        entry: dict[str, Any] = {"number": len(done) + 1, "time": "2026-01-01T00:00:00Z"}
        sandbox.locked = entry["number"]
        await self.status(name, phase="Grading", submissions=[*done, entry | {"outcome": "Pending"}])
        await self.hold_grading.wait()
        answer = sandbox.tree / "answer"
        right = answer.exists() and answer.read_text().strip() == "right"
        rates = {"failToPass": {"passed": int(right), "total": 1}, "passToPass": {"passed": 3, "total": 3}}
        graded = {"outcome": "Graded", "reason": "Resolved" if right else "TestsFail", "reward": float(right)} | rates
        entry |= self.outcomes.pop(0) if self.outcomes else graded
        done.append(entry)
        if entry["outcome"] == "Graded":
            await self.status(name, phase="Finished", reward=entry["reward"], submissions=done)
            return True
        sandbox.locked = None
        await self.status(name, phase="Ready", submissions=done)
        return False


async def add_task(client: Client, namespace: str, name: str, **given: Any) -> None:
    """Make a TaskValidation; Valid unless another ``verdict`` is given."""
    manifest = make_manifest(
        name,
        namespace=namespace,
        f2p=["tests/test_m.py::test_hidden"],
        split=given.get("split"),
        task={"statement": "Make f return 2.", "language": "python", **given.get("task", {})},
    )
    manifest["metadata"]["labels"] = given.get("labels", {"assay.dev/dataset": "Lanterns"})
    manifest["metadata"]["annotations"] = given.get("annotations", {})
    manifest["spec"] |= {"goPolicy": given["goPolicy"]} if "goPolicy" in given else {}
    if manifest["spec"].get("split") is None:
        manifest["spec"].pop("split", None)
    await client.create(TASK_VALIDATIONS, namespace, manifest)
    status = {"status": {"phase": "Complete", "verdict": given.get("verdict", "Valid")}}
    await client.patch_status(TASK_VALIDATIONS, namespace, name, status)


class Stage:
    """A namespace with tasks, a cast, and gateways that come and go."""

    def __init__(self, client: Client, namespace: str, directory: Path, cast: Cast) -> None:
        self.client, self.namespace, self.directory, self.cast = client, namespace, directory, cast

    def settings(self, **given: Any) -> Settings:
        return Settings(
            namespace=self.namespace,
            keys_file=str(self.directory / "keys.json"),
            host="127.0.0.1",
            port=given.pop("port", 0),
            health_port=0,
            default_environment="lanterns",
            **given,
        )

    @contextlib.asynccontextmanager
    async def gateway(self, **given: Any) -> AsyncIterator[Running]:
        """A gateway that knows all that there is."""
        async with running(self.settings(**given), self.client, MASTER) as gateway:
            while not (gateway.world.episodes.synced and gateway.world.tasks.synced):  # noqa: ASYNC110 - a test's wait
                await asyncio.sleep(0.02)
            yield gateway


@contextlib.asynccontextmanager
async def staged(cluster: TestCluster, namespace: str, directory: Path) -> AsyncIterator[Stage]:
    """A fresh namespace with three tasks in ``lanterns`` (two train, one test), played until the context ends."""
    cluster.kubectl("create", "namespace", namespace)
    configuration = Configuration()
    await load_kube_config(config_file=str(cluster.kubeconfig), client_configuration=configuration)
    client = Client(configuration)
    try:
        await add_task(client, namespace, "second", annotations={"assay.dev/row": "10"})
        await add_task(client, namespace, "first", annotations={"assay.dev/row": "9"}, split="train")
        await add_task(client, namespace, "exam", split="eval")
        await add_task(client, namespace, "dropped", verdict="Invalid")
        write_keys(directory / "keys.json")
        cast = Cast(client, namespace, directory)
        playing = asyncio.create_task(cast.play())
        try:
            yield Stage(client, namespace, directory, cast)
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
            await cast.end()
    finally:
        await client.close()
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")


class Raw:
    """A client that speaks the protocol by hand."""

    def __init__(self, session: aiohttp.ClientSession, port: int, *, key: str = KEYS["alice"], sid: str = "") -> None:
        self.session, self.url, self.sid = session, f"http://127.0.0.1:{port}", sid
        self.headers = {"X-API-Key": key} | ({"X-Session-ID": sid} if sid else {})

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.session.get(self.url + path, headers=self.headers) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        async with self.session.post(self.url + path, data=data, headers=self.headers | headers) as response:
            return response.status, await response.json()

    async def create(self, task: str = "first") -> None:
        status, answer = await self.post("/create", {"task_spec": {"task": task}})
        assert (status, answer) == (200, {"sid": self.sid})

    async def stream(self, body: Mapping[str, Any], path: str = "/call") -> list[tuple[str, str]]:
        """The events of a call: name and data; comments come as ``("", text)``."""
        async with self.session.post(
            self.url + path, data=io.BytesIO(json.dumps(body).encode()), headers=self.headers
        ) as response:
            text = (await response.read()).decode()
            assert response.status == 200, text
            assert response.headers["Content-Type"].startswith("text/event-stream")
        return events_of(text)

    async def call(self, name: str, **given: Any) -> dict[str, Any]:
        """The result of a call."""
        task_id = given.pop("task_id", None)
        body = {"name": name, "input": given} | ({"task_id": task_id} if task_id else {})
        result: dict[str, Any] = result_of(await self.stream(body))
        return result

    async def bash(self, command: str) -> str:
        result = await self.call("bash", command=command, description="a test")
        return str(result["output"]["blocks"][0]["text"])


def events_of(text: str) -> list[tuple[str, str]]:
    events = []
    for frame in text.split("\n\n"):
        if frame.startswith(":"):
            events.append(("", frame))
        elif frame:
            lines = [line.split(": ", 1) if ": " in line else [line.rstrip(":"), ""] for line in frame.split("\n")]
            name = next(value for field, value in lines if field == "event")
            events.append((name, "\n".join(value.lstrip() for field, value in lines if field == "data")))
    return events


def result_of(events: list[tuple[str, str]]) -> Any:
    """The result that a client joins; it strips what each piece begins with."""
    assert events[0][0] == "task_id"
    assert [name for name, _ in events if name][-1] == "end", events
    return json.loads("".join(data for name, data in events if name in ("chunk", "end")))


async def gone(client: Client, namespace: str, name: str) -> bool:
    try:
        await client.get(AGENT_EPISODES, namespace, name)
    except ApiError as error:
        return error.status == 404
    return False
