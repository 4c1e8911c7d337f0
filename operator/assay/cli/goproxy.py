"""``assay goproxy``: the module gateway, the only host that a Go episode's sandbox can reach."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from assay.goproxy.episodes import followed
from assay.goproxy.http_upstream import upstream_of
from assay.goproxy.policies import FilePolicies, PolicySource
from assay.goproxy.server import running
from assay.goproxy.settings import Settings
from assay.kube.client import Client

_MIB = 1 << 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("goproxy")(goproxy)


def goproxy(
    *,
    upstream: Annotated[str, typer.Option(help="GOPROXY server (http, https) or a directory of module files.")],
    cache_dir: Annotated[Path, typer.Option(help="Directory of the module cache.")],
    policies: Annotated[
        Path | None, typer.Option(help="JSON file of policy records; read again when it is replaced.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Namespace whose AgentEpisodes are the policy records; repeatable.")
    ] = None,
    upstream_suffix: Annotated[
        str, typer.Option(help="Path put behind the upstream's URL; empty for a proxy that knows no such path.")
    ] = "cached-only",
    sumdb_upstream: Annotated[str, typer.Option(help="Where checksum databases are asked; default: upstream.")] = "",
    sumdb: Annotated[list[str] | None, typer.Option(help="Name of a checksum database to serve; repeatable.")] = None,
    redirect: Annotated[
        list[str] | None, typer.Option(help="URL prefix, ending in a slash, that upstream may redirect to; repeatable.")
    ] = None,
    private_upstream: Annotated[bool, typer.Option(help="Upstream's own host may have a private address.")] = False,
    require_peer_match: Annotated[
        bool, typer.Option(help="The peer's address must be the pod's; only off where the network hides addresses.")
    ] = True,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",  # noqa: S104 - pods reach it there
    port: Annotated[int, typer.Option(help="Port for sandboxes.")] = 8080,
    health_port: Annotated[int, typer.Option(help="Port for health, metrics and usage; closed to sandboxes.")] = 8081,
    cache_mib: Annotated[int, typer.Option(help="Bound of the cache on disk in MiB.", min=1)] = 10 * 1024,
    memory_mib: Annotated[int, typer.Option(help="Bound of the cache in memory in MiB.", min=1)] = 64,
    run_bytes_mib: Annotated[int, typer.Option(help="What one run may fetch in MiB.", min=1)] = 2048,
    run_requests: Annotated[int, typer.Option(help="How often one run may ask.", min=1)] = 20_000,
    total_seconds: Annotated[float, typer.Option(help="Longest wait for upstream's small files.", min=0.1)] = 60.0,
    zip_seconds: Annotated[float, typer.Option(help="Longest wait for upstream's zips.", min=0.1)] = 600.0,
) -> None:
    """Serve Go modules to sandboxes, except each task's own code.

    Example: assay goproxy --upstream https://goproxy.example --cache-dir /var/cache/assay --policies policies.json
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    settings = Settings(
        upstream=upstream,
        upstream_suffix=upstream_suffix,
        sumdb_upstream=sumdb_upstream,
        databases=frozenset(sumdb or ()),
        redirects=tuple(redirect or ()),
        private_upstream=private_upstream,
        require_peer_match=require_peer_match,
        cache_dir=cache_dir,
        host=host,
        port=port,
        health_port=health_port,
        cache_bytes=cache_mib * _MIB,
        memory_bytes=memory_mib * _MIB,
        run_bytes=run_bytes_mib * _MIB,
        run_requests=run_requests,
        total_seconds=total_seconds,
        zip_seconds=zip_seconds,
    )
    if (policies is None) == (not namespace):
        raise typer.BadParameter("give --policies or --namespace: where the policy records come from")
    asyncio.run(_serve(settings, FilePolicies(policies) if policies else tuple(namespace or ())))


async def _serve(settings: Settings, source: FilePolicies | Sequence[str]) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        upstream = upstream_of(settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    async with _policies(source) as policies, running(settings, policies, upstream):
        await stop.wait()


@asynccontextmanager
async def _policies(source: FilePolicies | Sequence[str]) -> AsyncIterator[PolicySource]:
    """Records of a file, or of the episodes of namespaces."""
    if isinstance(source, FilePolicies):
        yield source
        return
    client = await Client.connect()
    try:
        async with followed(client, source) as policies:
            yield policies
    finally:
        await client.close()
