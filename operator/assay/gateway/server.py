"""A gateway that listens: its ports, its watches, and an end that clients survive."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from assay.gateway.app import application, health_application
from assay.gateway.callers import Keyring, KeysUnreadableError
from assay.gateway.settings import Settings
from assay.gateway.world import World
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, Client
from assay.kube.follow import follow

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0
"""How long requests may go on at the end; streams are cut, and clients ask another gateway for their answers."""
SANDBOX_CONNECTIONS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A gateway that listens: the ports it got.  ``watching`` ends only by an error: the gateway sees nothing more."""

    world: World
    port: int
    health_port: int
    watching: asyncio.Future[list[None]]


@contextlib.asynccontextmanager
async def running(settings: Settings, client: Client, master: bytes) -> AsyncIterator[Running]:
    """Listen until the context ends; ``master`` is the key that sandboxes', agents' and calls' keys are derived from."""
    keyring = Keyring(Path(settings.keys_file))
    with contextlib.suppress(KeysUnreadableError):  # said at the first request; agents come without
        keyring.refresh()
    connector = aiohttp.TCPConnector(limit=SANDBOX_CONNECTIONS, keepalive_timeout=60)
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        world = World(settings, client, session, keyring, master)
        port = await _listening(stack, application(world), settings.host, settings.port)
        health_port = await _listening(stack, health_application(world), settings.host, settings.health_port)
        watches = [
            asyncio.create_task(follow(client, AGENT_EPISODES, settings.namespace, world.episodes)),
            asyncio.create_task(follow(client, TASK_VALIDATIONS, settings.namespace, world.tasks, page=50)),
        ]
        watching = asyncio.gather(*watches)
        try:
            log.info("listening on port %d, health on port %d", port, health_port)
            yield Running(world=world, port=port, health_port=health_port, watching=watching)
        finally:
            watching.cancel()
            for watch in watches:
                watch.cancel()
            await asyncio.gather(watching, *watches, return_exceptions=True)


async def until_stopped(gateway: Running, stop: asyncio.Event) -> None:
    """Return once ``stop`` is set; raise what ended a watch before that."""
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((stopped, gateway.watching), return_when=asyncio.FIRST_COMPLETED)
        if gateway.watching.done():
            gateway.watching.result()
    finally:
        stopped.cancel()


async def _listening(stack: contextlib.AsyncExitStack, app: web.Application, host: str, port: int) -> int:
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, keepalive_timeout=75.0, shutdown_timeout=GRACE_SECONDS
    )
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, host, port, backlog=1024).start()
    return int(runner.addresses[0][1])
