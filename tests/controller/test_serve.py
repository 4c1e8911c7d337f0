"""The operator's port takes artifacts under the hash of their bytes, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from assay.controller.serve import application
from assay.store.artifacts import ArtifactLostError, Store

Caller = TestClient[Request, Application]
LIMIT = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}/store")


async def caller_of(store: Store, upload_bytes: int) -> Caller:
    app = application(store, healthy=str, ready=str, measure=lambda: None, upload_bytes=upload_bytes)
    caller: Caller = TestClient(TestServer(app))
    await caller.start_server()
    return caller


@pytest.fixture
async def caller(store: Store) -> AsyncIterator[Caller]:
    found = await caller_of(store, LIMIT)
    yield found
    await found.close()


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_an_artifact_goes_in_under_its_hash_and_comes_back(caller: Caller, store: Store) -> None:
    content = b"task" * 100_000
    for _ in range(2):
        answer = await caller.put(f"/artifacts/{digest_of(content)}", data=content)
        assert answer.status == 201
    assert store.get(digest_of(content)) == content
    assert await (await caller.get(f"/artifacts/{digest_of(content)}")).read() == content


@pytest.mark.parametrize(
    ("digest", "size", "status"),
    [("0" * 64, 10, 422), (digest_of(b"x" * (LIMIT + 1)), LIMIT + 1, 413), ("short", 10, 400), ("A" * 64, 10, 400)],
)
async def test_what_is_not_an_artifact_is_refused_and_not_stored(
    caller: Caller, store: Store, digest: str, size: int, status: int
) -> None:
    answer = await caller.put(f"/artifacts/{digest}", data=b"x" * size)
    assert answer.status == status
    with pytest.raises(ArtifactLostError):
        store.get(digest)


async def test_more_than_the_limit_is_refused_when_its_size_is_not_told(caller: Caller, store: Store) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 100_000

    digest = digest_of(b"x" * 3_000_000)
    async with ClientSession() as session:
        answer = await session.put(caller.make_url(f"/artifacts/{digest}"), data=endless())
        assert answer.status == 413
    assert not store.has(digest)


async def test_missing_hashes_are_told(caller: Caller, store: Store) -> None:
    there, lost = store.put(b"there").sha256, digest_of(b"lost")
    answer = await caller.put("/missing-artifacts", data=f"{there}\n{lost}\n")
    assert (await answer.text()).split() == [lost]
    assert (await caller.put("/missing-artifacts", data="nonsense")).status == 400


async def test_a_store_that_refuses_is_a_fault_of_the_store(caller: Caller, store: Store, tmp_path: Path) -> None:
    (tmp_path / "store" / digest_of(b"new")[:2]).write_text("a file where a directory must be")
    assert (await caller.put(f"/artifacts/{digest_of(b'new')}", data=b"new")).status == 503


async def test_an_operator_that_takes_nothing_has_no_way_in(store: Store) -> None:
    caller = await caller_of(store, 0)
    assert (await caller.put(f"/artifacts/{digest_of(b'a')}", data=b"a")).status == 405
    await caller.close()
