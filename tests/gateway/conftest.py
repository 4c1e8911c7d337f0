"""A stage for each test: a namespace of its own on the session's API server."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from assay.domain.ors.episodes import episode_name
from conftest import TestCluster
from gateway.stage import KEYS, Raw, Stage, staged

_NUMBERS = itertools.count(1)


@pytest.fixture
async def stage(api_cluster: TestCluster, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(api_cluster, f"gateway-{next(_NUMBERS)}", tmp_path) as stage:
        yield stage


@pytest.fixture
async def port(stage: Stage) -> AsyncIterator[int]:
    async with stage.gateway() as gateway:
        yield gateway.port


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def client(session: aiohttp.ClientSession, port: int) -> Callable[..., Raw]:
    """Raw clients: ``client(sid="a", who="bob")``."""

    def make(*, sid: str = "", who: str = "alice") -> Raw:
        return Raw(session, port, key=KEYS.get(who, who), sid=sid)

    return make


@pytest.fixture
async def episode(client: Callable[..., Raw]) -> Raw:
    """Alice's session ``s1`` with an episode of the task ``first``."""
    raw = client(sid="s1")
    await raw.create()
    return raw


NAME = episode_name("alice", "s1")
