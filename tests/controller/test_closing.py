"""An episode that is over has its use of the module gateway counted once more, when nothing can be added to it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from assay.controller.cache import Cache
from assay.controller.episodes import EpisodeLine
from assay.controller.reconcile import Reconciler
from assay.controller.sandbox_pods import SandboxPods, SandboxSettings, Templates
from assay.controller.sandboxes import SandboxDriver
from assay.domain.status import rfc3339
from assay.kube.client import ENDPOINT_SLICES, PODS, Kind
from assay.store.artifacts import Store
from reconciling import make_reconciler

UID = "uid-e"
DEAD = 9
"""The discard port, where nobody listens."""


def episode(*, ended: float = 0.0, **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": "runs", "name": "e", "uid": UID, "generation": 1, "resourceVersion": "5"}
    status = {
        "phase": "Finished",
        "completedAt": rfc3339(ended or time.time()),
        "sandbox": {"pod": "p", "podUID": "uid-p", "podIPs": ["10.0.0.9"]},
        "egress": {"requests": 3, "denied": 1, "bytes": 10, "modules": 1},
        "observedGeneration": 1,
        "conditions": [
            {"type": "Complete", "status": "True", "reason": "Finished", "lastTransitionTime": rfc3339(ended)}
        ],
    }
    return {"kind": "AgentEpisode", "metadata": metadata, "spec": {"network": "GoProxy", **spec}, "status": status}


class World:
    """An API server with one episode, its pods, and the module gateway's replicas; each says what the test chose."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.pods: list[dict[str, Any]] = []
        self.usage: dict[str, Any] = {"requests": 5, "denied": 2, "bytes": 40, "modules": ["a.dev/x"], "active": 0}
        self.ports: list[int] = []
        self.asked = 0
        self.patches: list[Mapping[str, Any]] = []

    async def get(self, _kind: Kind, _namespace: str, _name: str) -> dict[str, Any]:
        return self.raw

    async def pages(self, kind: Kind, _namespace: str, *, selector: str = "") -> AsyncIterator[list[Any]]:
        if kind is PODS:
            assert selector == f"assay.dev/object={UID}"
            yield self.pods
        else:
            assert kind is ENDPOINT_SLICES
            for port in self.ports:
                yield [{"ports": [{"port": port}], "endpoints": [{"addresses": ["127.0.0.1"]}]}]

    async def patch_status(
        self, _kind: Kind, _namespace: str, _name: str, patch: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        self.patches.append(patch["status"])
        version = str(int(self.raw["metadata"]["resourceVersion"]) + 1)
        self.raw = self.raw | {
            "status": patch["status"],
            "metadata": self.raw["metadata"] | {"resourceVersion": version},
        }
        return self.raw

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        assert await request.json() == {"runs": ["runs/e"]}
        return web.json_response({"runs/e": self.usage})

    @property
    def told(self) -> tuple[Any, Any, Any]:
        """Requests, and status and reason of condition EgressCounted."""
        status = self.raw["status"]
        said = next((each for each in status["conditions"] if each["type"] == "EgressCounted"), {})
        return status["egress"]["requests"], said.get("status"), said.get("reason")


Made = Callable[..., tuple[World, Reconciler]]


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Made]:
    """Makes a world and the reconciler that works on it."""
    servers: list[TestServer] = []
    drivers: list[SandboxDriver] = []
    world: World | None = None

    async def answer(request: web.Request) -> web.Response:
        assert world is not None
        return await world.answer(request)

    app = web.Application()
    app.router.add_post("/usage", answer)
    replica = TestServer(app)
    await replica.start_server()
    servers.append(replica)

    def make(raw: dict[str, Any]) -> tuple[World, Reconciler]:
        nonlocal world
        world = World(raw)
        world.ports = [int(replica.port or 0)]
        cache, store = Cache(), Store(f"file://{tmp_path}")
        cache.see_object(raw)
        settings = SandboxSettings(master=b"key", namespace="assay", gateway_service="g", most=1, infra_retries=1)
        driver = SandboxDriver(
            client=world,  # type: ignore[arg-type]
            cache=cache,
            store=store,
            settings=settings,
            pods=SandboxPods(
                world,  # type: ignore[arg-type]
                cache,
                settings,
                run_settings=lambda: None,
                templates=Templates(sandbox={}, scripts={}, agent={}),
            ),
        )
        drivers.append(driver)
        reconciler = make_reconciler(
            world,
            {"AgentEpisode": EpisodeLine(world, store, driver)},  # type: ignore[arg-type]
            cache=cache,
            store=store,
        )
        return world, reconciler

    yield make
    for driver in drivers:
        await driver.close()
    for server in servers:
        await server.close()


async def test_what_a_sandbox_asked_for_until_its_end_is_in_the_last_count(made: Made) -> None:
    world, reconciler = made(episode())
    world.pods = [{"metadata": {"name": "p"}}]
    await reconciler.reconcile(UID)
    assert world.told == (3, None, None)
    world.pods, world.usage = [], world.usage | {"requests": 8, "modules": ["a.dev/x", "a.dev/y"]}
    await reconciler.reconcile(UID)
    assert world.told == (8, "True", "Counted")
    assert world.raw["status"]["egress"] == {"requests": 8, "denied": 2, "bytes": 40, "modules": 2}
    assert {each["type"] for each in world.raw["status"]["conditions"]} == {"Complete", "EgressCounted"}


async def test_a_request_that_is_still_being_answered_is_waited_for(made: Made) -> None:
    world, reconciler = made(episode())
    world.usage["active"] = 1
    await reconciler.reconcile(UID)
    assert not world.patches
    world.usage |= {"active": 0, "bytes": 90}
    await reconciler.reconcile(UID)
    assert world.told == (5, "True", "Counted")
    assert world.raw["status"]["egress"]["bytes"] == 90


async def test_an_episode_is_counted_once(made: Made) -> None:
    world, reconciler = made(episode())
    await reconciler.reconcile(UID)
    asked = world.asked
    await reconciler.reconcile(UID)
    assert (world.asked, len(world.patches)) == (asked, 1)


async def test_a_silent_replica_is_waited_for_and_in_the_end_told_of(made: Made) -> None:
    world, reconciler = made(episode())
    world.ports.append(DEAD)
    await reconciler.reconcile(UID)
    assert not world.patches
    world.raw = episode(ended=time.time() - 100)
    await reconciler.reconcile(UID)
    assert world.told == (5, "False", "CountUncertain")


@pytest.mark.parametrize(("spec", "sandbox"), [({"network": "Offline"}, {"podUID": "u"}), ({}, {})])
async def test_an_episode_that_had_no_way_to_the_gateway_is_not_counted(
    made: Made, spec: dict[str, Any], sandbox: dict[str, Any]
) -> None:
    raw = episode(**spec)
    raw["status"]["sandbox"] = sandbox
    world, reconciler = made(raw)
    await reconciler.reconcile(UID)
    assert (world.asked, world.patches) == (0, [])
