"""The operator's HTTP port: probes, metrics, and stored artifacts, all read-only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from assay.store.artifacts import ArtifactLostError, Store

SHA256 = re.compile(r"[0-9a-f]{64}")
Probe = Callable[[], str]
"""Returns why the operator is not well; empty when it is."""


def application(store: Store, *, healthy: Probe, ready: Probe, measure: Callable[[], None]) -> web.Application:
    """Return the application; ``measure`` refreshes the gauges before they are read."""

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
        headers = {"ETag": f'"{digest}"', "X-Content-Type-Options": "nosniff"}
        return web.Response(body=content, content_type="application/octet-stream", headers=headers)

    app = web.Application()
    app.router.add_get("/healthz", probe(healthy))  # type: ignore[arg-type]
    app.router.add_get("/readyz", probe(ready))  # type: ignore[arg-type]
    app.router.add_get("/metrics", show_metrics)
    app.router.add_get("/artifacts/{digest}", artifact)
    return app
