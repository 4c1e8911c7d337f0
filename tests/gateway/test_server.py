"""A gateway that no longer sees the cluster ends, so that it is started again; one that is stopped ends in peace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assay.gateway.server import Running, running, until_stopped
from assay.gateway.settings import Settings


class Server:
    """An API server whose lists wait after their first page, and break in a way that nobody expects once they are let go."""

    def __init__(self) -> None:
        self.broken = asyncio.Event()

    async def versioned_pages(self, *_: Any, **__: Any) -> AsyncIterator[tuple[list[Any], str]]:
        yield [], "1"
        await self.broken.wait()
        raise OSError("no token file")


def settings(folder: Path) -> Settings:
    return Settings(host="127.0.0.1", port=0, health_port=0, keys_file=str(folder / "keys.json"))


async def served(folder: Path, server: Server, stop: asyncio.Event) -> Running:
    """Serve until the end, which must come soon."""
    async with asyncio.timeout(10), running(settings(folder), server, b"master") as gateway:  # type: ignore[arg-type]
        await until_stopped(gateway, stop)
    return gateway


async def test_a_watch_that_ends_unexpectedly_ends_the_gateway(tmp_path: Path) -> None:
    server = Server()
    server.broken.set()
    with pytest.raises(OSError, match="no token file"):
        await served(tmp_path, server, asyncio.Event())


async def test_a_gateway_that_is_stopped_ends_without_an_error(tmp_path: Path) -> None:
    stop = asyncio.Event()
    stop.set()
    assert (await served(tmp_path, Server(), stop)).watching.done()
