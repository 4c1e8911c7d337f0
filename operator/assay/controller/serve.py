"""The operator's HTTP port: probes, metrics, stored artifacts, and a way in for those that bundles bring.

An artifact goes in under the hash of its bytes alone, so that nobody can change what is there; the API server's proxy,
which people come through, asks for ``update`` on the Service.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from assay.domain.datasets.digests import digest_of
from assay.store.artifacts import ArtifactLostError, Store

SHA256 = re.compile(r"[0-9a-f]{64}")
UPLOADS = 4
"""Artifacts that are taken at a time; each is held in memory once."""
MISSING_DIGESTS = 1000
MISSING_BYTES = 1024 * 1024
Handler = Callable[[web.Request], Awaitable[web.Response]]
Probe = Callable[[], str]
"""Returns why the operator is not well; empty when it is."""


def application(
    store: Store, *, healthy: Probe, ready: Probe, measure: Callable[[], None], upload_bytes: int
) -> web.Application:
    """Return the application; ``measure`` refreshes the gauges before they are read.

    Artifacts of up to ``upload_bytes`` are taken, none when it is 0.
    """

    def probe(check: Probe) -> Callable[[web.Request], web.Response]:
        async def answer(_request: web.Request) -> web.Response:
            wrong = check()
            return web.Response(status=503 if wrong else 200, text=(wrong or "ok") + "\n")

        return answer  # type: ignore[return-value]

    async def show_metrics(_request: web.Request) -> web.Response:
        measure()
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def artifact(request: web.Request) -> web.Response:
        digest = request.match_info["digest"]
        if not SHA256.fullmatch(digest):
            raise web.HTTPBadRequest(text="an artifact is named by 64 hexadecimal digits\n")
        try:
            content = await asyncio.to_thread(store.get, digest)
        except ArtifactLostError as lost:
            raise web.HTTPNotFound(text=f"{lost}\n") from lost
        except OSError as error:
            raise web.HTTPServiceUnavailable(text=f"the store cannot be asked: {error}\n") from error
        headers = {"ETag": f'"{digest}"', "X-Content-Type-Options": "nosniff"}
        return web.Response(body=content, content_type="application/octet-stream", headers=headers)

    app = web.Application(client_max_size=max(upload_bytes, MISSING_BYTES))
    app.router.add_get("/healthz", probe(healthy))  # type: ignore[arg-type]
    app.router.add_get("/readyz", probe(ready))  # type: ignore[arg-type]
    app.router.add_get("/metrics", show_metrics)
    app.router.add_get("/artifacts/{digest}", artifact)
    if upload_bytes:
        app.router.add_put("/artifacts/{digest}", receiver(store, upload_bytes))
        app.router.add_put("/missing-artifacts", missing(store))
    return app


def receiver(store: Store, upload_bytes: int) -> Handler:
    """Return the handler that stores an artifact: 413 when it is too large, 422 when its hash is another one."""
    at_once = asyncio.Semaphore(UPLOADS)

    async def receive(request: web.Request) -> web.Response:
        digest = request.match_info["digest"]
        if not SHA256.fullmatch(digest):
            raise web.HTTPBadRequest(text="an artifact is named by 64 hexadecimal digits\n")
        if (request.content_length or 0) > upload_bytes:
            raise web.HTTPRequestEntityTooLarge(upload_bytes, request.content_length or 0)
        async with at_once:
            content = await request.read()
            if await asyncio.to_thread(digest_of, content) != digest:
                raise web.HTTPUnprocessableEntity(text="the bytes have another SHA-256\n")
            try:
                await asyncio.to_thread(store.put, content)
            except OSError as error:
                raise web.HTTPServiceUnavailable(text=f"the store refuses: {error}\n") from error
        return web.Response(status=201, text=f"{digest}\n")

    return receive


def missing(store: Store) -> Handler:
    """Return the handler that says which of up to ``MISSING_DIGESTS`` hashes the store does not have, one a line."""

    async def answer(request: web.Request) -> web.Response:
        asked = (await request.text()).split()
        if len(asked) > MISSING_DIGESTS or not all(SHA256.fullmatch(digest) for digest in asked):
            raise web.HTTPBadRequest(text=f"give at most {MISSING_DIGESTS} hashes of 64 hexadecimal digits\n")
        try:
            lost = await asyncio.to_thread(lambda: [digest for digest in asked if not store.has(digest)])
        except OSError as error:
            raise web.HTTPServiceUnavailable(text=f"the store cannot be asked: {error}\n") from error
        return web.Response(text="".join(f"{digest}\n" for digest in lost))

    return answer
