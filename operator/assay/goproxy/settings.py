"""Settings of the module gateway: one frozen record, made by the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator of the gateway chooses. Times are seconds, sizes bytes.

    ``upstream`` is a base URL or a directory of module files (the layout of a module cache's ``cache/download``);
    ``upstream_suffix`` is put behind a URL for module files: under ``cached-only`` a public proxy serves what it has and
    never fetches from a host that a sandbox names.  Checksum databases are asked at ``sumdb_upstream``, by default at the
    plain ``upstream``.  ``databases`` are the names of those that are served.  ``redirects`` are URL prefixes, each ending in a slash, that upstream may redirect to.
    """

    upstream: str
    upstream_suffix: str = "cached-only"
    sumdb_upstream: str = ""
    cache_dir: Path
    host: str = "0.0.0.0"  # noqa: S104 - pods reach the gateway on its pod address
    port: int = 8080
    health_port: int = 8081
    databases: frozenset[str] = frozenset()
    redirects: tuple[str, ...] = ()
    private_upstream: bool = False
    require_peer_match: bool = True
    cache_bytes: int = 10 << 30
    memory_bytes: int = 64 << 20
    connect_seconds: float = 5.0
    total_seconds: float = 60.0
    zip_seconds: float = 600.0
    zip_fetches: int = 8
    run_concurrency: int = 16
    run_queue: int = 256
    run_queue_seconds: float = 60.0
    run_bytes: int = 2 << 30
    run_requests: int = 20_000
