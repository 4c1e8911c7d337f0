"""``assay push``: a bundle's documents into the artifact store, by way of the operator or by the store's own URI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import typer

from assay.cli.at_once import finished
from assay.cli.progress import progress_bar
from assay.cli.stored import DEFAULT_SERVICE, Service
from assay.datasets.bundles import BundleError, Document, read_bundle, read_index
from assay.kube.client import ApiError, Client
from assay.store.artifacts import Store

BATCH_DOCUMENTS = 200
BATCH_BYTES = 16 * 1024 * 1024
UPLOADS = 8


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("push")(push)


def push(
    bundle: Path = typer.Argument(help="Directory of the bundle, as assay import writes it."),
    to: str = typer.Option(
        "", help="URI of the operator's artifact store (file://, s3://, gs://); the operator if not given."
    ),
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Upload a bundle's tasks, so that manifests can refer to them; what is there already is not sent again.

    Exits 1 when the bundle is broken or the store refuses; run it again to go on.

    Example: assay push tasks/bundle --to file:///tmp/assay-store
    """
    try:
        count = int(read_index(bundle)["tasks"])
        sent = asyncio.run(_push(bundle, count, to, service))
    except (BundleError, ApiError, OSError, ValueError) as error:
        typer.echo(f"assay push: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{count} tasks, {sent} of them sent, {count - sent} there already", err=True)


class Target(Protocol):
    """Where documents go."""

    async def missing(self, digests: list[str]) -> set[str]:
        """Return those of the hashes that are not there."""

    async def put(self, document: Document) -> None:
        """Bring one document."""


class OperatorTarget:
    """The store of a running operator, through the API server's proxy."""

    def __init__(self, client: Client, service: str) -> None:
        self._client = client
        self._namespace, self._service = service.split("/")

    async def missing(self, digests: list[str]) -> set[str]:
        """Ask the operator."""
        return set((await self._send("missing-artifacts", "\n".join(digests).encode())).decode().split())

    async def put(self, document: Document) -> None:
        """Send it to the operator."""
        await self._send(f"artifacts/{document.digest}", document.content)

    async def _send(self, path: str, content: bytes) -> bytes:
        return await self._client.service(self._namespace, self._service, port="http", path=path, put=content)


class StoreTarget:
    """A store by its URI."""

    def __init__(self, uri: str) -> None:
        self._store = Store(uri)

    async def missing(self, digests: list[str]) -> set[str]:
        """Look."""
        return await asyncio.to_thread(lambda: {digest for digest in digests if not self._store.has(digest)})

    async def put(self, document: Document) -> None:
        """Write it."""
        await asyncio.to_thread(self._store.put, document.content)


async def _push(bundle: Path, count: int, to: str, service: str) -> int:
    if to:
        return await _send_all(bundle, count, StoreTarget(to))
    client = await Client.connect(connections=UPLOADS)
    try:
        return await _send_all(bundle, count, OperatorTarget(client, service))
    finally:
        await client.close()


async def _send_all(bundle: Path, count: int, target: Target) -> int:
    sent = 0
    with progress_bar("push", count) as advance:
        for batch in batches(read_bundle(bundle)):
            lost = await target.missing([document.digest for document in batch])
            wanted = [document for document in batch if document.digest in lost]
            async for _ in finished(UPLOADS, target.put, wanted):
                sent += 1
            advance(len(batch))
    return sent


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield documents in lists that are bounded in number and in bytes."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.content)
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
