"""What every request passes: who calls, how large the body is, what an error looks like, one line of log."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from assay.domain.ors.requests import MAX_BODY_BYTES, Problem, object_of
from assay.gateway.callers import Caller, KeysUnreadableError
from assay.gateway.world import World
from assay.kube.client import ApiError

T = TypeVar("T")
log = logging.getLogger(__name__)

CALLER: web.RequestKey[Caller] = web.RequestKey("caller", Caller)
OPEN_ROUTES = frozenset({"/health", "/version"})
QUIET_ROUTES = frozenset({"/health", "/ping"})
MAX_DRAINED_BYTES = 64 << 20


class Refusal(Exception):  # noqa: N818 - a refusal on its way to the client
    """Ends a request with a status and a ``detail``."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers or {}


class TooLargeError(Exception):
    """The body is larger than what is read; all of it, up to a bound, was taken from the connection."""


def granted(value: T | Problem) -> T:
    """Return a value, or end the request with the problem that it is."""
    if isinstance(value, Problem):
        raise Refusal(value)
    return value


def refused(status: int, detail: str, **headers: str) -> Refusal:
    """Return the refusal to raise."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(Problem(status=status, detail=detail), named)


def door(world: World) -> Middleware:
    """Return the middleware: it lets callers in, and turns what handlers raise into answers."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.monotonic()
        route = _route_of(request)
        response = await _answered(world, request, handler, route)
        world.metrics.requests.labels(route, str(response.status)).inc()
        level = logging.DEBUG if route in QUIET_ROUTES else logging.INFO
        log.log(level, "%s %s %s %.3f s", request.method, route, response.status, time.monotonic() - started)
        return response

    return guard


async def _answered(world: World, request: web.Request, handler: Handler, route: str) -> web.StreamResponse:
    try:
        if route not in OPEN_ROUTES:
            request[CALLER] = await _caller_of(world, request)
        return await handler(request)
    except Refusal as refusal:
        return _detail(refusal.problem.status, refusal.problem.detail, refusal.headers)
    except TooLargeError:
        return _detail(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
    except web.HTTPException as error:
        return _detail(error.status, error.reason)
    except ApiError as error:
        log.warning("%s: %s", route, error)
        return _detail(503, "the cluster's API server is out of reach; try again", {"Retry-After": "2"})
    except (ConnectionError, web.RequestPayloadError):
        raise
    except Exception:
        mark = secrets.token_hex(4)
        log.exception("%s failed; the client was told %s", route, mark)
        return _detail(500, f"internal error {mark}")


async def _caller_of(world: World, request: web.Request) -> Caller:
    try:
        caller = await world.caller_of(request.headers.get("X-API-Key", ""))
    except KeysUnreadableError as error:
        log.error("%s", error)  # noqa: TRY400 - the message says it all
        raise refused(503, "the API keys cannot be read; try again", Retry_After="5") from error
    if caller is None:
        raise refused(401, "the header X-API-Key has no valid key")
    return caller


async def body_of(request: web.Request) -> dict[str, Any]:
    """Return the JSON object of a request's body.  ``TooLargeError`` when it is larger than what is read."""
    parts: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            parts.append(chunk)
        else:
            parts = []
        if size > MAX_DRAINED_BYTES:
            raise TooLargeError
    if size > MAX_BODY_BYTES:
        raise TooLargeError
    return granted(object_of(b"".join(parts)))


def _detail(status: int, detail: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"detail": detail}, status=status, headers=headers)


def _route_of(request: web.Request) -> str:
    """Return the route's pattern: nothing that a client has chosen gets into logs or metrics."""
    resource = request.match_info.route.resource
    return resource.canonical.replace("/{environment}", "") if resource else "unknown"
