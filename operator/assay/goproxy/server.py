"""The gateway's sockets: one port that speaks the GOPROXY protocol, one for health, metrics and usage.

The protocol port has no router and no middleware: aiohttp's parser hands over method and raw target, the Decider
decides, and this module sends exactly status, a fixed few headers and the body.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

from aiohttp import HttpVersion10, HttpVersion11, http_parser, web
from aiohttp.http_exceptions import HttpProcessingError

from assay.domain.goproxy.records import normal_address
from assay.domain.goproxy.targets import Kind
from assay.goproxy.decider import Decider
from assay.goproxy.decisions import Decision, log_decision
from assay.goproxy.library import FOR_EVER, Library, seconds_good
from assay.goproxy.metrics import Metrics
from assay.goproxy.policies import PolicySource
from assay.goproxy.runs import Ledger
from assay.goproxy.settings import Settings
from assay.goproxy.upstream import Upstream

logger = logging.getLogger(__name__)
_CHUNK = 1 << 18
_GRACE_SECONDS = 10.0
_SERVER = "assay-goproxy"


class Gateway:
    """Answers requests of sandboxes."""

    def __init__(self, settings: Settings, policies: PolicySource, upstream: Upstream) -> None:
        self.metrics = Metrics()
        self.ledger = Ledger(settings)
        self.policies = policies
        self.library = Library(settings, upstream, self.metrics)
        self._decider = Decider(settings, policies, self.library, self.ledger, self.metrics)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Decide on one request, answer it, count it and log it."""
        peer = _peer_of(request)
        with self.metrics.in_flight.track_inprogress():
            async with AsyncExitStack() as stack:
                if request.method in {"GET", "HEAD"} and _is_doubtful(request):
                    decision = Decision(status=400, why="a request is HTTP/1.x and has no body here", close=True)
                else:
                    decision = await self._decider.decide(request.method, request.raw_path, peer, stack)
                response, sent = await self._send(request, decision)
                self._count(decision, sent)  # while the run's place is held: who sees it free sees all counted
        log_decision(decision, method=request.method, sent=sent, peer=peer)
        return response

    async def _send(self, request: web.BaseRequest, decision: Decision) -> tuple[web.StreamResponse, int]:
        """Send the answer; return it with the bytes of its body that went out."""
        head_only = request.method == "HEAD"
        stored = decision.stored
        if stored is None or stored.body is not None:
            body = stored.body if stored is not None else decision.body
            response = web.Response(
                status=decision.status, headers=_headers(decision), body=_sentence(decision) if body is None else body
            )
            _close_if(response, request, decision)
            with suppress(ConnectionError):
                await response.prepare(request)
                await response.write_eof()
            return response, 0 if head_only else int(response.content_length or 0)
        return await self._send_file(request, decision, head_only=head_only)

    async def _send_file(
        self, request: web.BaseRequest, decision: Decision, *, head_only: bool
    ) -> tuple[web.StreamResponse, int]:
        """Stream a large file from disk; its size is the judged file's, and it cannot change under its name."""
        file = await self._opened(decision)
        if file is None:
            return await self._send(request, Decision(status=502, why="the file was given up; try again"))
        with file:
            response = web.StreamResponse(status=200, headers=_headers(decision))
            response.content_length = decision.stored.size if decision.stored else 0
            _close_if(response, request, decision)
            sent = 0
            with suppress(ConnectionError):  # the client has gone; what it took is counted all the same
                await response.prepare(request)
                while not head_only and (chunk := await asyncio.to_thread(file.read, _CHUNK)):
                    sent += len(chunk)
                    await response.write(chunk)
                await response.write_eof()
            return response, sent

    async def _opened(self, decision: Decision) -> BinaryIO | None:
        """Open the decided file, fetching and judging it again where the cache has given it up meanwhile."""
        stored = decision.stored
        for _ in range(3):
            if stored is None or stored.path is None or decision.record is None or decision.request is None:
                return None
            try:
                return stored.path.open("rb")
            except FileNotFoundError:
                stored = await self._decider.again(decision.record, decision.request)
        return None

    def _count(self, decision: Decision, sent: int) -> None:
        status = f"{decision.status // 100}xx"
        self.metrics.requests.labels(decision.kind, decision.rule, status).inc()
        self.metrics.sent_bytes.labels(decision.kind).inc(sent)
        if decision.rule:
            self.metrics.denials.labels(decision.rule).inc()
        if decision.record is not None and decision.status == 200:
            module = decision.request.module if decision.request is not None else ""
            self.ledger.account(decision.record.run).serve(module, sent)


def _peer_of(request: web.BaseRequest) -> str:
    """Return the address at the other end of the socket; no header has a say."""
    name = request.transport.get_extra_info("peername") if request.transport is not None else None
    return normal_address(str(name[0])) if name else ""


def _is_doubtful(request: web.BaseRequest) -> bool:
    """Say whether the request has a body or is of a version that frames messages in another way."""
    headers = request.headers
    framed = "Transfer-Encoding" in headers or headers.get("Content-Length", "0").strip() != "0"
    return framed or request.version not in {HttpVersion10, HttpVersion11}


def _close_if(response: web.StreamResponse, request: web.BaseRequest, decision: Decision) -> None:
    """End the connection where what follows on it cannot be trusted to begin a new request."""
    if decision.close or "Upgrade" in request.headers:
        response.force_close()


def _headers(decision: Decision) -> dict[str, str]:
    request = decision.request
    lasting = decision.status == 200 and request is not None and seconds_good(request) == FOR_EVER
    headers = {
        "Content-Type": decision.content_type,
        "Cache-Control": "private, max-age=86400" if lasting else "no-store",
        "Server": _SERVER,
        "X-Content-Type-Options": "nosniff",
    }
    if request is not None and request.kind is Kind.ZIP:
        headers["Accept-Ranges"] = "none"
    return headers


def _sentence(decision: Decision) -> bytes:
    return f"{decision.why}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A gateway that listens: the ports it got."""

    gateway: Gateway
    port: int
    health_port: int


@asynccontextmanager
async def running(settings: Settings, policies: PolicySource, upstream: Upstream) -> AsyncIterator[Running]:
    """Listen until the context ends; then finish what is being sent (at most 10 seconds) and close."""
    assert_c_parser()
    gateway = Gateway(settings, policies, upstream)
    server = web.Server(gateway.handle, access_log=None, keepalive_timeout=75.0, logger=_http_logger())
    protocol = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_GRACE_SECONDS)
    health = web.AppRunner(health_app(gateway), access_log=None, handle_signals=False)
    try:
        port = await _listen(protocol, settings.host, settings.port)
        health_port = await _listen(health, settings.host, settings.health_port)
        logger.info("listening on port %d, health on port %d", port, health_port)
        yield Running(gateway=gateway, port=port, health_port=health_port)
    finally:
        await protocol.cleanup()
        await health.cleanup()
        await gateway.library.close()


def _http_logger() -> logging.Logger:
    """Return the logger of aiohttp's server side, which would otherwise write request lines, tokens and all."""
    http_logger = logging.getLogger(f"{__name__}.http")
    http_logger.addFilter(_without_client_bytes)
    return http_logger


def _without_client_bytes(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        record.msg, record.args, record.exc_info = "malformed HTTP was refused: %s", (type(error).__name__,), None
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True


async def _listen(runner: web.AppRunner | web.ServerRunner, host: str, port: int) -> int:
    await runner.setup()
    site = web.TCPSite(runner, host, port, backlog=1024)
    await site.start()
    return int(runner.addresses[0][1])


def assert_c_parser() -> None:
    """Refuse to start on aiohttp's pure Python parser, which has been lenient where requests can be smuggled."""
    if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
        raise RuntimeError("aiohttp's C extension is missing: its Python parser must not face sandboxes")


def health_app(gateway: Gateway) -> web.Application:
    """Return the application of the health port: /healthz, /readyz, /metrics, /usage (of all runs, or by POST of some)."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        known = gateway.policies.count()
        if known is None:
            return web.Response(status=503, text="no policy records have been read yet\n")
        return web.Response(text=f"{known} policy records\n")

    async def metrics(_: web.Request) -> web.Response:
        gateway.metrics.policies.set(gateway.policies.count() or 0)
        return web.Response(body=gateway.metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def usage(_: web.Request) -> web.Response:
        return web.json_response(gateway.ledger.usage())

    async def usage_of(request: web.Request) -> web.Response:
        asked = await request.json()
        runs = asked.get("runs") if isinstance(asked, dict) else None
        if not isinstance(runs, list) or not all(isinstance(run, str) for run in runs):
            return web.Response(status=400, text='expected {"runs": ["namespace/name"]}\n')
        return web.json_response(gateway.ledger.usage(runs))

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/usage", usage)
    app.router.add_post("/usage", usage_of)
    return app
