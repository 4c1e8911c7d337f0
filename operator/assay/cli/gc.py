"""``assay gc``: what of the artifact store nothing refers to any more."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from assay.cli.stored import told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.datasets.bundles import BundleError, read_bundle
from assay.domain.retention import LEAST_AGE, StoredFile, garbage_of, references_of
from assay.domain.task import seconds_of
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, Client
from assay.store.artifacts import Store


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gc")(gc)


def gc(
    store: str = typer.Option(help="URI of the operator's artifact store (file://, s3://, gs://)."),
    older_than: str = typer.Option(
        "7d", help=f"Grace for what nothing refers to, for example 7d or 60h; at least {LEAST_AGE.days}d."
    ),
    bundle: list[Path] = typer.Option([], help="Directory of a bundle whose tasks are kept too. May be repeated."),
    delete: bool = typer.Option(False, "--delete", help="Delete what is listed. Without it nothing is changed."),
    unreferenced_store: bool = typer.Option(
        False, help="Delete even when no object refers to anything in the store, as when all were deleted."
    ),
    output: OutputOption = Output.TABLE,
) -> None:
    """List what no object of the cluster refers to and is older than the grace; with --delete, delete it.

    Objects of all namespaces count. A store that several clusters share must not be cleaned from one of them.

    Example: assay gc --store file:///var/lib/assay/store --older-than 30d
    """
    grace = _grace(older_than)
    with told("gc"):
        try:
            place = Store(store, make=False)
            files = list(place.listed())
            kept = frozenset(document.digest for folder in bundle for document in read_bundle(folder))
        except (BundleError, ValueError) as error:
            raise LookupError(error) from error
        referenced = asyncio.run(_referenced()) | kept
        found = garbage_of(files, referenced, now=datetime.now(UTC), older_than=grace)
        if delete:
            _check_meant(files, referenced, unreferenced_store)
            found = tuple(file for file in found if place.delete(file))
    _tell(found, len(files), delete, output)


def _grace(text: str) -> timedelta:
    days = text.removesuffix("d")
    grace = (
        timedelta(days=int(days)) if text.endswith("d") and days.isdecimal() else timedelta(seconds=seconds_of(text))
    )
    if grace < LEAST_AGE:
        why = f"must be a duration of at least {LEAST_AGE.days}d: evidence is stored before a status names it"
        raise typer.BadParameter(why, param_hint="--older-than")
    return grace


def _check_meant(files: list[StoredFile], referenced: frozenset[str], unreferenced_store: bool) -> None:
    if files and not unreferenced_store and not any(file.digest in referenced for file in files):
        raise LookupError(
            "no object of this cluster refers to anything in the store, so it may be another cluster's;"
            " nothing was deleted (--unreferenced-store if it is meant)"
        )


async def _referenced() -> frozenset[str]:
    client = await Client.connect()
    found: set[str] = set()
    try:
        for kind in (TASK_VALIDATIONS, AGENT_EPISODES):
            async for page in client.pages(kind, ""):
                for raw in page:
                    found.update(references_of(raw))
    finally:
        await client.close()
    return frozenset(found)


def _tell(found: tuple[StoredFile, ...], count: int, deleted: bool, output: Output) -> None:
    if output is Output.TABLE:
        if found:
            rows = [(f"{file.modified:%Y-%m-%d %H:%M}", file.bytes, file.path) for file in found]
            typer.echo(aligned(("WRITTEN (UTC)", "BYTES", "FILE"), rows))
    else:
        said = [{"path": file.path, "bytes": file.bytes, "written": file.modified.isoformat()} for file in found]
        typer.echo(printed(said, output))
    size = sum(file.bytes for file in found)
    what = "deleted" if deleted else "could be deleted"
    typer.echo(f"{len(found)} of {count} files, {size} bytes, {what}", err=True)
