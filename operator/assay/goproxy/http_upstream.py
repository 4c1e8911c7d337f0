"""Upstream by HTTP: fixed headers, no proxy from the environment, redirects followed by hand from an allow-list."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import Iterable
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from assay.goproxy.settings import Settings
from assay.goproxy.upstream import DirectoryUpstream, Sink, Upstream, UpstreamFaultError, timed_out, too_large

MAX_HOPS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK = 1 << 16


class HttpUpstream:
    """A GOPROXY server. ``base`` and ``sumdb_base`` are URLs, ``redirects`` URL prefixes that end in a slash."""

    def __init__(
        self,
        base: str,
        *,
        sumdb_base: str = "",
        redirects: Iterable[str] = (),
        private: bool = False,
        connect_seconds: float = 5.0,
    ) -> None:
        self._base = base.rstrip("/")
        self._sumdb_base = (sumdb_base or base).rstrip("/")
        self._redirects = tuple(URL(prefix, encoded=True) for prefix in redirects)
        if not all(prefix.raw_path.endswith("/") and prefix.host for prefix in self._redirects):
            raise ValueError("an allowed redirect is a URL that ends in a slash")
        own = {URL(self._base).host, URL(self._sumdb_base).host}
        self._private_hosts = frozenset(host for host in own if host) if private else frozenset()
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, path: str, *, limit: int, seconds: float, sink: Sink) -> int:
        """Ask the server; 404 and 410 pass, everything else but 200 is a fault."""
        base = self._sumdb_base if path.startswith("sumdb/") else self._base
        url = URL(f"{base}/{path}", encoded=True)
        deadline = time.monotonic() + seconds
        try:
            for _ in range(MAX_HOPS + 1):
                answer = await self._ask(url, deadline, limit, sink)
                if isinstance(answer, int):
                    return answer
                url = answer
        except TimeoutError as error:
            raise timed_out() from error
        except (aiohttp.ClientError, ValueError) as error:
            raise UpstreamFaultError(502, "broken", f"upstream's answer broke off: {type(error).__name__}") from error
        raise UpstreamFaultError(502, "redirect", "upstream redirects too often")

    async def _ask(self, url: URL, deadline: float, limit: int, sink: Sink) -> int | URL:
        """Send one request; return the status, or where to go next."""
        self._refuse_private_literal(url)
        left = max(deadline - time.monotonic(), 0.001)
        timeout = aiohttp.ClientTimeout(total=left, sock_connect=min(left, self._connect_seconds))
        async with self._opened().get(url, timeout=timeout, allow_redirects=False) as response:
            if response.status in _REDIRECTS:
                return self._next(url, response.headers.get("Location", ""))
            if response.status in {404, 410}:
                return response.status
            if response.status != 200:
                raise UpstreamFaultError(502, "status", f"upstream answered {response.status}")
            async for chunk in response.content.iter_chunked(_CHUNK):
                limit -= len(chunk)
                if limit < 0:
                    raise too_large(limit)
                sink(chunk)
            return 200

    def _next(self, url: URL, location: str) -> URL:
        target = url.join(URL(location, encoded=True))
        if not any(is_below(target, prefix) for prefix in self._redirects):
            raise UpstreamFaultError(502, "redirect", "upstream redirects to a place that is not allowed")
        return target

    def _refuse_private_literal(self, url: URL) -> None:
        """Refuse an address in place of a name, which no resolver sees, unless it is public or upstream's own."""
        host = url.host or ""
        if host not in self._private_hosts and _is_private_literal(host):
            raise UpstreamFaultError(502, "private-address", "upstream leads to a private address")

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=128, resolver=PublicResolver(self._private_hosts))
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "assay-goproxy", "Accept-Encoding": "identity"},
            )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)


def is_below(target: URL, prefix: URL) -> bool:
    """Say whether the target has the prefix's origin and lies under its path, without a way back up."""
    same = target.scheme == prefix.scheme and target.host == prefix.host and target.port == prefix.port
    path = target.raw_path
    up = any(part.replace("%2e", ".") in {".", ".."} for part in path.lower().replace("%2f", "/").split("/"))
    return same and target.raw_user is None and path.startswith(prefix.raw_path) and not up and "\\" not in path


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses alone; the named hosts may be private (an upstream inside the cluster)."""

    def __init__(self, private_hosts: frozenset[str]) -> None:
        self._private_hosts = private_hosts
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses that may be connected to; OSError where none is left."""
        results = await self._inner.resolve(host, port, family)
        allowed = [result for result in results if host in self._private_hosts or _is_public(result["host"])]
        if not allowed:
            raise OSError(None, f"{host} has no public address")
        return allowed

    async def close(self) -> None:
        """Close the resolver underneath."""
        await self._inner.close()


def _is_public(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_global


def _is_private_literal(host: str) -> bool:
    try:
        return not _is_public(host)
    except ValueError:
        return False


def upstream_of(settings: Settings) -> Upstream:
    """Return the upstream that the settings name: a server for an http(s) URL, else a directory (ValueError if absent)."""
    if not settings.upstream.startswith(("http://", "https://")):
        root = Path(settings.upstream.removeprefix("file://"))
        if not root.is_dir():
            raise ValueError(f"{root} is neither an http(s) URL nor a directory")
        return DirectoryUpstream(root)
    suffix = settings.upstream_suffix.strip("/")
    return HttpUpstream(
        f"{settings.upstream.rstrip('/')}/{suffix}" if suffix else settings.upstream,
        sumdb_base=settings.sumdb_upstream or settings.upstream,
        redirects=settings.redirects,
        private=settings.private_upstream,
        connect_seconds=settings.connect_seconds,
    )
