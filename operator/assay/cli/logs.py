"""``assay logs``: a run's complete log, checked against the hash in status."""

from __future__ import annotations

import asyncio
import hashlib
import sys

import typer

from assay.api import v1alpha1 as api
from assay.kube.client import TASK_VALIDATIONS, ApiError, Client


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs")(logs)


def logs(
    name: str = typer.Argument(help="Name of the TaskValidation."),
    run: str = typer.Argument("", help="Run, for example unpatched-1; the last finished one if not given."),
    namespace: str = typer.Option("assay-runs", "--namespace", "-n", help="Namespace of the object."),
    results: bool = typer.Option(False, "--results", help="Print the run's results document in place of its log."),
    operator_namespace: str = typer.Option("assay-system", help="Namespace of the operator's Service."),
    service: str = typer.Option("assay-operator", help="Name of the operator's Service."),
) -> None:
    """Print a run's complete log.

    Example: assay logs demo-valid patched-1
    """
    try:
        content = asyncio.run(_fetch(name, run, namespace, results, f"{operator_namespace}/{service}"))
    except (ApiError, LookupError) as error:
        typer.echo(f"assay logs: {error}", err=True)
        raise typer.Exit(1) from error
    sys.stdout.buffer.write(content)


async def _fetch(name: str, run: str, namespace: str, results: bool, service: str) -> bytes:
    client = await Client.connect()
    try:
        raw = await client.get(TASK_VALIDATIONS, namespace, name)
        status = api.TaskValidationStatus.model_validate(raw.get("status") or {})
        artifact = _artifact(status, run, results)
        content = await client.service(*service.split("/"), port="http", path=f"artifacts/{artifact.sha256}")
    finally:
        await client.close()
    if hashlib.sha256(content).hexdigest() != artifact.sha256:
        raise LookupError(f"the operator sent other bytes than those of SHA-256 {artifact.sha256}")
    return content


def _artifact(status: api.TaskValidationStatus, run: str, results: bool) -> api.Artifact:
    entries = [entry for entry in status.runs if (entry.results if results else entry.log)]
    named = [entry for entry in entries if entry.name == run] if run else entries
    if not named:
        known = ", ".join(entry.name for entry in entries) or "none"
        raise LookupError(f"no stored run {run or 'at all'}; stored: {known}")
    found = named[-1].results if results else named[-1].log
    assert found is not None
    return found
