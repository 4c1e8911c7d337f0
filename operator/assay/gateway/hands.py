"""The hands of a sandbox, as far as the gateway needs them, over HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

PORT = 7070
POLL_SECONDS = 20
CONNECT_SECONDS = 5
ANSWER_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """How far a call has come; ``error`` says why it could not be carried out."""

    done: bool
    exit_code: int | None
    timed_out: bool
    seconds: float
    output_bytes: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an output; it begins later than asked where bytes between were not kept."""

    content: bytes
    offset: int


class HandsError(Exception):
    """The hands refused a request, with an HTTP status; the call was not begun by it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Hands(Protocol):
    """The hands of one sandbox.  Broken connections are ``OSError`` or ``aiohttp.ClientError``, refusals ``HandsError``."""

    async def start(self, identifier: str, body: Mapping[str, Any]) -> CallState:
        """Begin a call, or find the one with this id and body."""

    async def wait(self, identifier: str) -> CallState:
        """Wait up to 20 seconds for a call's end."""

    async def output(self, identifier: str, *, offset: int, limit: int) -> Part:
        """Return a part of a call's output."""

    async def touch(self) -> None:
        """Tell that the episode is in use."""

    async def state(self) -> Mapping[str, Any]:
        """Return what the sandbox says of itself."""

    async def cancel(self, identifier: str) -> None:
        """End a call."""


class HttpHands:
    """The hands at ``address`` (host:port or URL), opened by ``key``."""

    def __init__(self, session: aiohttp.ClientSession, address: str, key: str) -> None:
        self._session = session
        self._url = address.rstrip("/") if "://" in address else f"http://{_with_port(address)}"
        self._headers = {"Authorization": f"Bearer {key}"}

    async def start(self, identifier: str, body: Mapping[str, Any]) -> CallState:
        """Begin a call, or find the one with this id and body."""
        return _state_of(await self._request("PUT", f"/v1/calls/{identifier}", body=body))

    async def wait(self, identifier: str) -> CallState:
        """Wait up to 20 seconds for a call's end."""
        return _state_of(await self._request("GET", f"/v1/calls/{identifier}?wait={POLL_SECONDS}"))

    async def output(self, identifier: str, *, offset: int, limit: int) -> Part:
        """Return a part of a call's output."""
        path = f"/v1/calls/{identifier}/output?offset={offset}&limit={limit}"
        content, headers = await self._exchange("GET", path)
        return Part(content=content, offset=int(headers.get("X-Offset", offset)))

    async def touch(self) -> None:
        """Tell that the episode is in use."""
        await self._request("POST", "/v1/touch")

    async def state(self) -> Mapping[str, Any]:
        """Return what the sandbox says of itself."""
        return _json_of(await self._request("GET", "/v1/state"))

    async def cancel(self, identifier: str) -> None:
        """End a call."""
        await self._request("POST", f"/v1/calls/{identifier}/cancel")

    async def _request(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        return (await self._exchange(verb, path, body))[0]

    async def _exchange(
        self, verb: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=POLL_SECONDS + ANSWER_SECONDS
        )
        data = None if body is None else io.BytesIO(json.dumps(body, separators=(",", ":")).encode())
        headers = self._headers | ({} if data is None else {"Content-Type": "application/json"})
        async with self._session.request(
            verb, self._url + path, data=data, headers=headers, timeout=timeout
        ) as response:
            content = await response.read()
        if response.status >= 400:
            raise HandsError(response.status, _words_of(content))
        return content, response.headers


def _with_port(address: str) -> str:
    if address.count(":") > 1 and not address.startswith("["):
        return f"[{address}]:{PORT}"
    return address if ":" in address.rpartition("]")[2] else f"{address}:{PORT}"


def _words_of(content: bytes) -> str:
    try:
        return str(json.loads(content)["error"])[:500]
    except (ValueError, KeyError, TypeError):
        return content[:500].decode("utf-8", "replace")


def _json_of(content: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError as error:
        raise HandsError(502, "the answer is not JSON") from error
    if not isinstance(answer, dict):
        raise HandsError(502, "the answer is not a JSON object")
    return answer


def _state_of(content: bytes) -> CallState:
    answer = _json_of(content)
    return CallState(
        done=answer.get("state") == "done",
        exit_code=answer.get("exitCode"),
        timed_out=bool(answer.get("timedOut")),
        seconds=float(answer.get("seconds") or 0),
        output_bytes=int(answer.get("outputBytes") or 0),
        error=str(answer.get("error") or ""),
    )
