"""The client against real hands."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from assay.kube.hands import Hands, HandsError
from witness.hands.sandbox import KEY, Sandbox, sandbox_in


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_an_episode_goes_through_the_client(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    with sandbox_in(tmp_path / "s") as sandbox:
        await asyncio.to_thread(sandbox.up)
        hands = client(session, sandbox)
        assert (await hands.state())["ready"] is True
        await hands.touch()
        started = await hands.start("one", {"script": "seq 1 5; exit 3"})
        assert started["id"] == "one"
        done = await hands.wait("one", 60)
        assert (done["state"], done["exitCode"]) == ("done", 3)
        assert await hands.output("one", offset=2, limit=4) == (b"2\n3\n", 2, 10)
        await hands.start("two", {"script": "sleep 1000"})
        assert (await hands.wait("two", 0))["state"] in {"queued", "running"}
        await hands.cancel("two")
        assert (await hands.wait("two", 60))["cancelled"] is True
        assert await hands.submission(1, seconds=60) == b""
        with pytest.raises(HandsError) as locked:
            await hands.start("three", {"script": "true"})
        assert (locked.value.status, locked.value.reason) == (423, "Locked")
        await hands.release(1)
        await hands.start("three", {"script": "rm -rf .git"})
        with pytest.raises(HandsError) as nothing:
            await hands.submission(2, seconds=60)
        assert (nothing.value.status, nothing.value.reason) == (409, "NothingCaptured")


async def test_a_short_call_is_one_request_and_a_longer_one_goes_on(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    with sandbox_in(tmp_path / "s") as sandbox:
        await asyncio.to_thread(sandbox.up)
        hands = client(session, sandbox)
        done = await hands.start("short", {"script": "printf 'a\\0b'; exit 3"}, seconds=15, output=100)
        assert (done["state"], done["exitCode"], base64.b64decode(done["output"])) == ("done", 3, b"a\0b")
        silent = await hands.start("silent", {"script": "true"}, seconds=15, output=100)
        assert (silent["state"], silent["output"]) == ("done", "")
        long = await hands.start("long", {"script": "seq 1000"}, seconds=15, output=100)
        assert (long["state"], long["outputBytes"], "output" in long) == ("done", 3893, False)
        unasked = await hands.wait("short", 0)
        assert "output" not in unasked
        going = await hands.start("going", {"script": "sleep 0.5; echo end"}, seconds=0.01, output=100)
        assert going["state"] in {"queued", "running"}
        assert base64.b64decode((await hands.wait("going", 60, output=100))["output"]) == b"end\n"
        huge = {"script": "# " + "x" * 300_000 + "\nsleep 1000"}
        assert (await hands.start("huge", huge, seconds=15))["state"] in {"queued", "running"}


async def test_a_submission_that_was_given_up_is_the_same_one_when_it_is_asked_for_again(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    with sandbox_in(tmp_path / "s") as sandbox:
        await asyncio.to_thread(sandbox.up)
        hands = client(session, sandbox)
        await hands.start("long", {"script": "sleep 1; echo more >> a.txt"})
        with pytest.raises(HandsError) as early:
            await hands.submission(1, seconds=0.1)
        assert early.value.status == 504
        assert b"+more" in await hands.submission(1, seconds=60)


async def test_concurrent_clients_each_get_their_own(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    with sandbox_in(tmp_path / "s") as sandbox:
        await asyncio.to_thread(sandbox.up)
        hands = client(session, sandbox)

        async def one(number: int) -> bytes:
            await hands.start(f"call-{number}", {"script": f"echo {number}"})
            assert (await hands.wait(f"call-{number}", 120))["exitCode"] == 0
            return (await hands.output(f"call-{number}"))[0]

        assert await asyncio.gather(*map(one, range(30))) == [f"{number}\n".encode() for number in range(30)]


async def test_hands_that_are_gone_raise_a_connection_error(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    with sandbox_in(tmp_path / "s") as sandbox, pytest.raises(aiohttp.ClientError):
        await client(session, sandbox).state()


async def test_a_wrong_key_is_an_error_of_its_own(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    with sandbox_in(tmp_path / "s") as sandbox:
        await asyncio.to_thread(sandbox.up)
        with pytest.raises(HandsError) as refused:
            await Hands(session, f"127.0.0.1:{sandbox.port}", "wrong").state()
        assert refused.value.status == 401


@pytest.mark.parametrize("body", [b"{", b"[]"])
async def test_an_answer_that_is_none_of_the_hands_is_a_connection_error(
    session: aiohttp.ClientSession, body: bytes
) -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(body=body)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        hands = Hands(session, f"127.0.0.1:{runner.addresses[0][1]}", KEY)
        with pytest.raises(aiohttp.ClientError):
            await hands.state()
        with pytest.raises(aiohttp.ClientError):
            await hands.output("one")
    finally:
        await runner.cleanup()


def client(session: aiohttp.ClientSession, sandbox: Sandbox) -> Hands:
    return Hands(session, f"127.0.0.1:{sandbox.port}", KEY)
