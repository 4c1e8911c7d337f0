"""``assay logs``: a run's complete log, checked against the hash in status."""

from __future__ import annotations

import asyncio
import sys

import typer

from assay.api import v1alpha1 as api
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Service, reader, told


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs")(logs)


def logs(
    name: str = typer.Argument(help="Name of the TaskValidation."),
    run: str = typer.Argument("", help="Run, for example unpatched-1; the last finished one if not given."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    results: bool = typer.Option(False, "--results", help="Print the run's results document in place of its log."),
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Print a run's complete log.

    Example: assay logs demo-valid patched-1
    """
    with told("logs"):
        content = asyncio.run(_fetched(name, run, results, namespace, service))
    sys.stdout.buffer.write(content)


async def _fetched(name: str, run: str, results: bool, namespace: str, service: str) -> bytes:
    async with reader(namespace, service) as source:
        status = (await source.validation(name)).status
        return await source.artifact(_artifact(status, run, results))


def _artifact(status: api.TaskValidationStatus, run: str, results: bool) -> api.Artifact:
    entries = [entry for entry in status.runs if (entry.results if results else entry.log)]
    named = [entry for entry in entries if entry.name == run] if run else entries
    if not named:
        known = ", ".join(entry.name for entry in entries) or "none"
        raise LookupError(f"no stored run {run or 'at all'}; stored: {known}")
    found = named[-1].results if results else named[-1].log
    assert found is not None
    return found
