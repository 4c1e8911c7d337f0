"""A resync finds deletions that no watch reported, and takes nothing for deleted that is only new."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client as kubernetes_client

from assay.controller.operator import Operator
from assay.controller.settings import Settings
from assay.kube.client import Client
from assay.store.artifacts import Store

Lists = dict[str, list[dict[str, Any]]]


def raw_object(uid: str, version: int = 1) -> dict[str, Any]:
    metadata = {"namespace": "n", "name": uid, "uid": uid, "resourceVersion": str(version)}
    return {"kind": "TaskValidation", "metadata": metadata}


def raw_pod(uid: str, owner: str, run: str = "unpatched-1") -> dict[str, Any]:
    labels = {"assay.dev/object": owner, "assay.dev/run": run}
    return {"metadata": {"namespace": "n", "name": uid, "uid": uid, "resourceVersion": "1", "labels": labels}}


class World:
    """An API server's lists, and what happens while they are sent."""

    def __init__(self) -> None:
        self.lists: Lists = {"taskvalidations": [], "agentepisodes": [], "pods": []}
        self.meanwhile: Callable[[], None] = lambda: None

    async def answer(self, request: web.Request) -> web.Response:
        items = list(self.lists.get(request.path.rpartition("/")[2], []))
        self.meanwhile()
        return web.json_response({"metadata": {}, "items": items})


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def operator(world: World, tmp_path: Path) -> AsyncIterator[Operator]:
    """An operator that sees that world; it is not started."""
    app = web.Application()
    app.router.add_get("/{path:.*}", world.answer)
    server = TestServer(app)
    await server.start_server()
    configuration = kubernetes_client.Configuration()
    configuration.host = str(server.make_url("")).rstrip("/")
    client = Client(configuration)
    yield Operator(Settings(namespace="n"), client, Store(f"file://{tmp_path}"))
    await client.close()
    await server.close()


def known(operator: Operator) -> tuple[set[str], set[str]]:
    cache = operator._cache
    return {view.uid for view in cache.objects()}, {pod.uid for pod in cache.pods()}


async def test_everything_that_is_there_is_known_and_looked_at(operator: Operator, world: World) -> None:
    world.lists = {"taskvalidations": [raw_object("a"), raw_object("b")], "pods": [raw_pod("p", "a")]}
    await operator._resync()
    assert known(operator) == ({"a", "b"}, {"p"})
    assert len(operator._queue) == 2


async def test_deletions_that_no_watch_reported_are_found(operator: Operator, world: World) -> None:
    world.lists = {
        "taskvalidations": [raw_object("a"), raw_object("b")],
        "pods": [raw_pod("p", "a"), raw_pod("q", "b")],
    }
    await operator._resync()
    world.lists = {"taskvalidations": [raw_object("a")], "pods": [raw_pod("q", "b")]}
    await operator._resync()
    assert known(operator) == ({"a"}, {"q"})


async def test_what_a_watch_tells_while_the_list_is_sent_is_not_taken_for_deleted(
    operator: Operator, world: World
) -> None:
    def meanwhile() -> None:
        operator._object_seen("ADDED", raw_object("new", 9))
        operator._pod_seen("ADDED", raw_pod("fresh", "new"))

    world.meanwhile = meanwhile
    await operator._resync()
    assert known(operator) == ({"new"}, {"fresh"})


async def test_a_pod_that_is_gone_gives_its_place_back(operator: Operator, world: World) -> None:
    world.lists["pods"] = [raw_pod("p", "a")]
    await operator._resync()
    operator._slots.hold("a", "p")
    world.lists["pods"] = []
    await operator._resync()
    assert operator._slots.held == 0


async def test_the_pods_of_runs_that_are_there_at_the_start_have_their_places_before_any_object_is_looked_at(
    operator: Operator, world: World
) -> None:
    ended = raw_pod("ended", "a") | {"status": {"phase": "Failed"}}
    others = [raw_pod("sandbox", "e", "sandbox-1"), raw_pod("agent", "e", "agent")]
    world.lists["pods"] = [raw_pod("p", "a"), raw_pod("graded", "e", "graded-1"), ended, *others]
    await operator._resync()
    assert operator._slots.held == 2
