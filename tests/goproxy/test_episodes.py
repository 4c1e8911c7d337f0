"""Policy records from AgentEpisodes: who has a route follows the objects, and nobody else has one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes_client

from assay.api.v1alpha1 import EpisodePhase
from assay.domain.keys import sha256_of
from assay.goproxy.episodes import EpisodePolicies, followed
from assay.kube.client import Client
from assay.kube.egress import usage_of_runs
from goproxy.stage import T1, Stage, make_stage, until

LIBRARY = "/example.com/lib/@v/v1.0.0.mod"


def episode(
    name: str = "one", *, token: str = T1, phase: str = "Ready", version: int = 1, **spec: Any
) -> dict[str, Any]:
    policy = spec.pop("goPolicy", {"owned": ["github.com/acme/widget"], "forkNames": ["widget"]})
    return {
        "metadata": {"namespace": "runs", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)},
        "spec": {"network": "GoProxy", **spec},
        "status": {
            "phase": phase,
            "sandbox": {
                "podUID": f"pod-{name}",
                "podIPs": ["127.0.0.1"],
                "tokenSHA256": sha256_of(token),
                "goPolicy": policy,
            },
        },
    }


class FakeApi:
    """An API server with one collection of episodes, whose watches say what the test says."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self.lists = 0
        self.refuse_lists = False
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.slices: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/endpointslices"):
            assert request.query["labelSelector"] == "kubernetes.io/service-name=assay-goproxy-health"
            return web.json_response({"items": self.slices})
        assert request.path == "/apis/assay.dev/v1alpha1/namespaces/runs/agentepisodes"
        if "watch" not in request.query:
            if self.refuse_lists:
                return web.json_response({"reason": "Forbidden", "message": "no"}, status=403)
            self.lists += 1
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.listed})
        stream = web.StreamResponse()
        await stream.prepare(request)
        while (event := await self.events.get()) is not None:
            await stream.write(json.dumps(event).encode() + b"\n")
        return stream

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        configuration = kubernetes_client.Configuration()
        configuration.host = f"http://127.0.0.1:{runner.addresses[0][1]}"
        client = Client(configuration)
        try:
            yield client
        finally:
            self.events.put_nowait(None)
            await client.close()
            await runner.cleanup()


@pytest.fixture
async def api() -> FakeApi:
    return FakeApi()


@asynccontextmanager
async def gateway(api: FakeApi, cache: Path) -> AsyncIterator[tuple[Stage, EpisodePolicies]]:
    """A gateway that follows the episodes of the fake API server."""
    async with (
        api.client() as client,
        followed(client, ["runs"]) as policies,
        make_stage(cache, generous=True, policies=policies) as stage,
    ):
        yield stage, policies


async def test_an_episode_has_its_route_while_it_lasts_and_no_longer(api: FakeApi, tmp_path: Path) -> None:
    async with gateway(api, tmp_path) as (stage, policies):
        await until(lambda: policies.count() == 0)
        assert (await stage.ask(LIBRARY)).status == 403
        api.events.put_nowait({"type": "ADDED", "object": episode(version=2)})
        await until(lambda: policies.count() == 1)
        assert (await stage.ask(LIBRARY)).status == 200
        refused = await stage.ask("/github.com/acme/widget/@v/list")
        assert (refused.status, "the task's own" in refused.text) == (403, True)
        api.events.put_nowait({"type": "MODIFIED", "object": episode(version=3, phase=EpisodePhase.FINISHED)})
        await until(lambda: policies.count() == 0)
        assert (await stage.ask(LIBRARY)).status == 403


async def test_a_deleted_episode_loses_its_route(api: FakeApi, tmp_path: Path) -> None:
    api.listed = [episode()]
    async with gateway(api, tmp_path) as (stage, policies):
        await until(lambda: policies.count() == 1)
        api.events.put_nowait({"type": "DELETED", "object": episode(version=2)})
        await until(lambda: policies.count() == 0)
        assert (await stage.ask(LIBRARY)).status == 403


async def test_what_a_new_list_does_not_hold_is_forgotten(api: FakeApi, tmp_path: Path) -> None:
    api.listed = [episode("one"), episode("two", token="token-of-the-second")]
    async with gateway(api, tmp_path) as (stage, policies):
        await until(lambda: policies.count() == 2)
        api.listed = [episode("two", token="token-of-the-second")]
        api.events.put_nowait({"type": "ERROR", "object": {"code": 410, "reason": "Expired"}})
        await until(lambda: policies.count() == 1)
        assert (await stage.ask(LIBRARY)).status == 403
        assert (await stage.ask(LIBRARY, token="token-of-the-second")).status == 200


async def test_a_watch_that_ends_goes_on_where_it_was(api: FakeApi, tmp_path: Path) -> None:
    async with gateway(api, tmp_path) as (_, policies):
        await until(lambda: policies.count() == 0)
        api.events.put_nowait(None)
        api.events.put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}})
        api.events.put_nowait({"type": "ADDED", "object": episode(version=9)})
        await until(lambda: policies.count() == 1)
        assert api.lists == 1


async def test_an_episode_that_cannot_be_read_whole_has_no_route(
    api: FakeApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api.listed = [episode(goPolicy={"owned": []})]
    async with gateway(api, tmp_path) as (stage, policies):
        await until(lambda: policies.count() == 0)
        assert (await stage.ask(LIBRARY)).status == 403
    assert "runs/one has no route: owned" in caplog.text


async def test_a_policy_that_turned_unreadable_takes_the_route_away(api: FakeApi, tmp_path: Path) -> None:
    api.listed = [episode()]
    async with gateway(api, tmp_path) as (stage, policies):
        await until(lambda: policies.count() == 1)
        api.events.put_nowait({"type": "MODIFIED", "object": episode(version=2, goPolicy={"owned": []})})
        await until(lambda: policies.count() == 0)
        assert (await stage.ask(LIBRARY)).status == 403


async def test_the_gateway_is_not_ready_before_it_knows_the_episodes(api: FakeApi, tmp_path: Path) -> None:
    api.refuse_lists = True
    async with gateway(api, tmp_path) as (stage, policies):
        assert policies.count() is None
        assert (await stage.health("/readyz")).status == 503
        assert (await stage.ask(LIBRARY)).status == 403


async def test_every_replica_is_asked_for_the_runs_counts_and_a_dead_one_is_left_out(
    api: FakeApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api.listed = [episode("one"), episode("two", token="token-of-the-second")]
    async with (
        gateway(api, tmp_path / "a") as (first, policies),
        make_stage(tmp_path / "b", generous=True, policies=policies) as second,
        api.client() as client,
        aiohttp.ClientSession() as session,
    ):
        await until(lambda: policies.count() == 2)
        for stage in (first, second):
            await stage.ask(LIBRARY)
            await stage.ask("/github.com/acme/widget/@v/list")
        await second.ask(LIBRARY, token="token-of-the-second")
        dead = 9  # the discard port, where nobody listens
        api.slices = [
            {"ports": [{"port": port}], "endpoints": [{"addresses": ["127.0.0.1"]}]}
            for port in (first.health_port, second.health_port, dead)
        ]
        found = await usage_of_runs(client, session, "assay", ["runs/one", "runs/none"])
    assert [(usage.requests, usage.denied, usage.modules) for usage in found.by_run["runs/one"]] == [
        (2, 1, {"example.com/lib"})
    ] * 2
    assert found.by_run["runs/none"] == ()
    assert set(found.by_run) == {"runs/one", "runs/none"}
    assert found.silent == ("127.0.0.1:9",)
    assert "127.0.0.1:9 did not say" in caplog.text
