"""A stream that has begun is ended as one, whatever becomes of the call."""

from __future__ import annotations

import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from assay.domain.ors.results import Output, Result
from assay.gateway.streams import stream_result


async def streamed(error: Exception | None) -> str:
    """Return the whole stream of a call that raises, or answers."""

    async def work() -> Result:
        if error:
            raise error
        return Output(text="done")

    async def handler(request: web.Request) -> web.StreamResponse:
        return await stream_result(request, identifier="call-1", work=work, heartbeat=1)

    app = web.Application()
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/", timeout=5)  # type: ignore[arg-type]
        return (await response.read()).decode()


async def test_a_result_is_the_streams_end() -> None:
    said = await streamed(None)
    assert said.startswith("event: task_id\ndata: call-1\n\nevent: end\n")


@pytest.mark.parametrize("error", [RuntimeError("secret"), ConnectionResetError("secret")])
async def test_a_call_that_fails_after_its_stream_began_ends_it_with_an_error(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="assay.gateway.streams"):
        said = await streamed(error)
    first, second, rest = said.split("\n\n")
    assert (first, rest) == ("event: task_id\ndata: call-1", "")
    assert second.startswith("event: error\ndata: internal error ")
    assert "secret" not in said
    assert second.rpartition(" ")[2] in caplog.text, "the log tells more under the mark that the client was told"
