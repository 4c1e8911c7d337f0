"""The library: every file that can be served, fetched at most once at a time and checked before it is kept.

``Library.fetch`` answers from memory, disk or upstream.  What comes out has been read whole and is the file that was
asked for; whether a run may have it is judged by the caller, each time.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from assay.domain.goproxy.answers import MAX_BYTES, BadAnswer, Facts, facts_of, zip_facts
from assay.domain.goproxy.paths import is_canonical_version
from assay.domain.goproxy.targets import FULL_TILE, Kind, ModuleRequest, Request, SumdbRequest, render
from assay.goproxy.cache import DiskCache, MemoryCache, Missing, Stored
from assay.goproxy.metrics import Metrics
from assay.goproxy.settings import Settings
from assay.goproxy.upstream import Upstream, UpstreamFaultError
from assay.goproxy.zips import zip_listing

FOR_EVER = float("inf")
_SMALL = 256 << 10
_ABSENT_SECONDS = 10.0
_SHORT_SECONDS = 60.0
_TREE_SECONDS = 120.0
_DAY_SECONDS = 86_400.0
_CHUNK = 1 << 20


def seconds_good(request: Request) -> float:
    """Return how long an answer stays right: for ever for what is immutable."""
    match request.kind:
        case Kind.MOD | Kind.ZIP:
            return FOR_EVER
        case Kind.INFO if is_canonical_version(request.version):
            return FOR_EVER
        case Kind.SUMDB_TILE if isinstance(request, SumdbRequest) and request.width == FULL_TILE:
            return FOR_EVER
        case Kind.SUMDB_TILE | Kind.SUMDB_LOOKUP:
            return _DAY_SECONDS
        case Kind.SUMDB_LATEST:
            return _TREE_SECONDS
        case _:
            return _SHORT_SECONDS


class Library:
    """Module files by request, over an upstream and two caches."""

    def __init__(
        self, settings: Settings, upstream: Upstream, metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._upstream, self._metrics = settings, upstream, metrics
        self._memory = MemoryCache(settings.memory_bytes, clock)
        self._disk = DiskCache(settings.cache_dir, settings.cache_bytes)
        self._pending: dict[str, asyncio.Task[Stored | Missing]] = {}
        self._zip_fetches = asyncio.Semaphore(settings.zip_fetches)

    async def fetch(self, request: Request) -> Stored | Missing:
        """Return the file or its absence; raises UpstreamFaultError."""
        key = render(request)
        found = self._memory.get(key)
        if found is not None:
            self._metrics.cache.labels("memory").inc()
            return found
        # Shielded: a client that goes away must not break the answer of the others who wait for it.
        task = self._pending.get(key)
        if task is None:
            task = asyncio.create_task(self._fill(key, request))
            self._pending[key] = task
            task.add_done_callback(lambda done: self._settle(key, done))
        return await asyncio.shield(task)

    def _settle(self, key: str, task: asyncio.Task[Stored | Missing]) -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # marks it as seen, also where every client has gone

    def forget(self, request: Request) -> None:
        """Drop the file from memory, because its place on disk is gone."""
        self._memory.drop(render(request))

    async def _fill(self, key: str, request: Request) -> Stored | Missing:
        kept = await self._from_disk(key, request) if seconds_good(request) == FOR_EVER else None
        found = kept or await self._from_upstream(key, request)
        self._memory.put(key, found, _ABSENT_SECONDS if isinstance(found, Missing) else seconds_good(request))
        self._metrics.cache_bytes.set(self._disk.size)
        return found

    async def _from_disk(self, key: str, request: Request) -> Stored | None:
        """Read a cached file again; one whose bytes no longer have their hash is dropped."""
        found = self._disk.find(key)
        if found is None:
            return None
        path, digest = found
        try:
            stored = await asyncio.to_thread(_read, request, path)
        except OSError:
            stored = BadAnswer(why="unreadable")
        if isinstance(stored, BadAnswer) or stored.sha256 != digest:
            self._disk.drop(key)
            return None
        self._metrics.cache.labels("disk").inc()
        return stored

    async def _from_upstream(self, key: str, request: Request) -> Stored | Missing:
        self._metrics.cache.labels("miss").inc()
        start = time.monotonic()
        try:
            async with self._zip_fetches if request.kind is Kind.ZIP else nullcontext():
                return await self._download(key, request)
        except UpstreamFaultError as fault:
            self._metrics.upstream_faults.labels(fault.word).inc()
            raise
        except OSError as error:
            self._metrics.upstream_faults.labels("disk").inc()
            self._disk.shed_half()
            raise UpstreamFaultError(502, "disk", "the gateway's disk is full; try again") from error
        finally:
            self._metrics.upstream_seconds.labels(request.kind).observe(time.monotonic() - start)

    async def _download(self, key: str, request: Request) -> Stored | Missing:
        """Spool the answer, check it, keep it."""
        spooled = self._disk.spool()
        try:
            with spooled.open("wb") as file:
                status = await self._upstream.fetch(
                    key,
                    limit=MAX_BYTES[request.kind],
                    seconds=self._settings.zip_seconds if request.kind is Kind.ZIP else self._settings.total_seconds,
                    sink=file.write,
                )
            if status != 200:
                return Missing(status=status)
            stored = await asyncio.to_thread(_read, request, spooled)
            if isinstance(stored, BadAnswer):
                raise UpstreamFaultError(502, "lie", f"upstream's answer is {stored.why}")
            if seconds_good(request) != FOR_EVER:
                return stored
            path = self._disk.adopt(key, spooled, stored.sha256)
            return Stored(facts=stored.facts, size=stored.size, sha256=stored.sha256, body=stored.body, path=path)
        finally:
            spooled.unlink(missing_ok=True)

    async def close(self) -> None:
        """End all fetches and give back upstream's connections."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._upstream.close()


def _read(request: Request, path: Path) -> Stored | BadAnswer:
    """Read a file whole: facts, size and hash, and the body of a small one."""
    facts: Facts | BadAnswer
    if request.kind is Kind.ZIP and isinstance(request, ModuleRequest):
        listing = zip_listing(path, f"{request.module}@{request.version}/")
        facts = listing if isinstance(listing, BadAnswer) else zip_facts(request, listing)
        body = path.read_bytes() if path.stat().st_size <= _SMALL else None
    else:
        body = path.read_bytes()
        facts = facts_of(request, body)
    if isinstance(facts, BadAnswer):
        return facts
    digest, size = _digest(path)
    return Stored(facts=facts, size=size, sha256=digest, body=body, path=path)


def _digest(path: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size
