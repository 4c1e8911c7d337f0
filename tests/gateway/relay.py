"""A relay between a client and a gateway that breaks the connection of the first call, once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

CALL = b"/call HTTP/1.1\r\n"
TOLD = b"event: task_id"


class Relay:
    """``cut`` is where the first call's connection breaks: before the gateway has it, or after its id was told."""

    def __init__(self, port: int, cut: str) -> None:
        self._port = port
        self._cut = cut
        self.cuts = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        back, forth = await asyncio.open_connection("127.0.0.1", self._port)
        ways = {
            asyncio.create_task(self._carry(reader, forth, CALL, "before")),
            asyncio.create_task(self._carry(back, writer, TOLD, "after")),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for side in (forth, writer):
                side.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, sign: bytes, place: str) -> None:
        """Carry one way until its end, or until the sign where the connection breaks."""
        seen = b""
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                seen = (seen + data)[-(1 << 17) :]
                cut = place == self._cut and not self.cuts and sign in seen
                if cut and place == "before":
                    self.cuts += 1
                    return
                target.write(data)
                await target.drain()
                if cut:
                    self.cuts += 1
                    await asyncio.sleep(0.3)  # an aborted connection loses what its other end has not read yet
                    return


@contextlib.asynccontextmanager
async def relayed(port: int, cut: str) -> AsyncIterator[tuple[int, Relay]]:
    """A relay to ``port``: its own port, and itself."""
    relay = Relay(port, cut)
    async with await asyncio.start_server(relay.converse, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], relay
