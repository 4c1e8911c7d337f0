"""Client of a sandbox's hands: calls and submissions, each safe to ask for again after any failure."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import aiohttp

PORT = 7070
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
LONG_POLL_SECONDS = 15.0
WAITING_BYTES = 256 * 1024
"""A larger request does not wait for its call: the hands hold its bytes, and take few such requests at once."""


class HandsError(Exception):
    """The hands refused; ``status`` as in HTTP, ``reason`` a word where they gave one.  Nothing was begun."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.reason = reason


class Hands:
    """The hands at ``address`` (``ip`` or ``ip:port``, IPv6 in brackets when with a port).

    A connection that fails raises ``OSError`` or ``aiohttp.ClientError``: ask again, nothing runs twice.
    """

    def __init__(self, session: aiohttp.ClientSession, address: str, key: str) -> None:
        self._session = session
        self._base = f"http://{_with_port(address)}"
        self._headers = {"Authorization": f"Bearer {key}"}

    async def state(self) -> dict[str, Any]:
        """Return the sandbox's state."""
        return await self._json("GET", "/v1/state")

    async def touch(self) -> None:
        """Begin the idle time anew."""
        await self._json("POST", "/v1/touch")

    async def start(
        self, identifier: str, body: Mapping[str, Any], *, seconds: float = 0.0, output: int = 0
    ) -> dict[str, Any]:
        """Take up a call, or find it; return its state as :meth:`wait` does after at most ``seconds`` (up to 15)."""
        content = json.dumps(body, separators=(",", ":")).encode()
        step = min(seconds, LONG_POLL_SECONDS) if len(content) <= WAITING_BYTES else 0.0
        params = {"wait": f"{step:.3f}", "output": str(output)}
        data = io.BytesIO(content)  # a stream: it may have megabytes
        return await self._json("PUT", f"/v1/calls/{identifier}", data=data, params=params)

    async def wait(self, identifier: str, seconds: float, *, output: int = 0) -> dict[str, Any]:
        """Return the call's state once it is done, or as it is after ``seconds``.

        That of a call that is done holds its whole ``output`` in base64, if it has at most so many bytes.
        """
        until = asyncio.get_running_loop().time() + seconds
        while True:
            left = max(0.0, until - asyncio.get_running_loop().time())
            step = min(left, LONG_POLL_SECONDS)
            params = {"wait": f"{step:.3f}", "output": str(output)}
            state = await self._json("GET", f"/v1/calls/{identifier}", params=params)
            if state.get("state") == "done" or left <= step:
                return state

    async def output(self, identifier: str, *, offset: int = 0, limit: int = 1 << 20) -> tuple[bytes, int, int]:
        """Return bytes of the output, where they begin (past a gap: later than asked), and the output's whole size."""
        params = {"offset": str(offset), "limit": str(limit)}
        async with self._ask("GET", f"/v1/calls/{identifier}/output", params=params) as response:
            await _raise_for(response)
            data = await response.read()
            return data, _number(response, "X-Offset"), _number(response, "X-Output-Bytes")

    async def cancel(self, identifier: str) -> dict[str, Any]:
        """Kill the call; return its state."""
        return await self._json("POST", f"/v1/calls/{identifier}/cancel")

    async def submission(self, number: int, *, seconds: float) -> bytes:
        """Lock the sandbox and return the diff; the same bytes each time.

        Raises :class:`HandsError` 409 ``NothingCaptured``, 413 ``SubmissionTooLarge``, or 504 after ``seconds``; the
        sandbox stays locked and goes on taking the diff.
        """
        until = asyncio.get_running_loop().time() + seconds
        while (left := until - asyncio.get_running_loop().time()) > 0:
            step = min(left, LONG_POLL_SECONDS)
            async with self._ask("POST", f"/v1/submissions/{number}", params={"wait": f"{step:.3f}"}) as response:
                await _raise_for(response)
                data: bytes = await response.read()
                if response.status == 202:
                    continue
                if hashlib.sha256(data).hexdigest() != response.headers["X-Sha256"]:
                    raise aiohttp.ClientPayloadError("the diff arrived damaged")
                return data
        raise HandsError(504, "the diff was not taken in time", "Timeout")

    async def release(self, number: int) -> None:
        """Let the agent go on."""
        await self._json("POST", f"/v1/submissions/{number}/release")

    async def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        async with self._ask(method, path, **options) as response:
            await _raise_for(response)
            content = await response.read()
        try:
            found = json.loads(content)
        except ValueError as error:
            raise aiohttp.ClientPayloadError("the answer is not JSON") from error
        if not isinstance(found, dict):
            raise aiohttp.ClientPayloadError("the answer is not a JSON object")
        return found

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        fixed: dict[str, Any] = {"headers": self._headers, "timeout": timeout, "allow_redirects": False}
        return self._session.request(method, self._base + path, **fixed, **options)


def _number(response: aiohttp.ClientResponse, header: str) -> int:
    value = response.headers.get(header, "")
    if not (value.isascii() and value.isdecimal()):
        raise aiohttp.ClientPayloadError(f"the answer has no {header}")
    return int(value)


async def _raise_for(response: aiohttp.ClientResponse) -> None:
    if response.status < 300:
        return
    try:
        said = await response.json()
    except (aiohttp.ContentTypeError, ValueError):
        said = {}
    said = said if isinstance(said, dict) else {}
    raise HandsError(response.status, str(said.get("error", response.reason)), str(said.get("reason", "")))


def _with_port(address: str) -> str:
    if address.startswith("["):
        return address if "]:" in address else f"{address}:{PORT}"
    if address.count(":") > 1:
        return f"[{address}]:{PORT}"
    return address if ":" in address else f"{address}:{PORT}"
