"""Event streams: the call's id at once, a sign of life at least every ten seconds, then the result in pieces."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator

from aiohttp import web

from assay.domain.ors.results import HEARTBEAT, Result, frame_of, frames_of

log = logging.getLogger(__name__)

_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}


async def stream_result(
    request: web.Request, *, identifier: str, work: Callable[[], Awaitable[Result]], heartbeat: float
) -> web.StreamResponse:
    """Answer with the stream of a call.  ``work`` begins once the client has been told the id."""
    response = await _begun(request)
    with contextlib.suppress(ConnectionError):
        await response.write(frame_of("task_id", identifier))
        task = asyncio.ensure_future(work())
        try:
            while not (await asyncio.wait((task,), timeout=heartbeat))[0]:
                await response.write(HEARTBEAT)
            for frame in _frames_of(task):
                await response.write(frame)
            await response.write_eof()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return response


def _frames_of(done: asyncio.Future[Result]) -> Iterator[bytes]:
    """Yield what ends the stream: a second response would never be read on a connection that a stream has begun on."""
    error = done.exception()
    if error is None:
        yield from frames_of(done.result())
        return
    mark = secrets.token_hex(4)
    log.error("a call failed in its stream; the client was told %s", mark, exc_info=error)
    yield frame_of("error", f"internal error {mark}")


async def stream_events(request: web.Request, *events: tuple[str, str]) -> web.StreamResponse:
    """Answer with a few events that are there already."""
    response = await _begun(request)
    with contextlib.suppress(ConnectionError):
        await response.write(b"".join(frame_of(event, data) for event, data in events))
        await response.write_eof()
    return response


async def _begun(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers=_HEADERS)
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
    return response
