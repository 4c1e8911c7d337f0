"""``assay verify``: every hash in status, computed again from the store's bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import typer

from assay.api import v1alpha1 as api
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Service, StoredError, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.kube.client import ApiError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    name: str = typer.Argument(help="Name of the TaskValidation."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compute every hash in an object's status again from the stored bytes; exit status 1 when one differs.

    Example: assay verify demo-valid
    """
    with told("verify"):
        found = asyncio.run(_checked(name, namespace, service))
    if output is Output.TABLE:
        rows = [(what, artifact.sha256, artifact.bytes, wrong or "ok") for what, artifact, wrong in found]
        typer.echo(aligned(("ARTIFACT", "SHA-256", "BYTES", "CHECK"), rows))
    else:
        said = [{"artifact": what, **api.to_wire(artifact), "wrong": wrong} for what, artifact, wrong in found]
        typer.echo(printed(said, output))
    if any(wrong for _, _, wrong in found):
        raise typer.Exit(1)


async def _checked(name: str, namespace: str, service: str) -> list[tuple[str, api.Artifact, str]]:
    async with reader(namespace, service) as source:
        status = (await source.validation(name)).status
        found = []
        for what, artifact in artifacts_of(status):
            wrong = ""
            try:
                await source.artifact(artifact)
            except (StoredError, ApiError) as error:
                wrong = str(error)
            found.append((what, artifact, wrong))
        if not found:
            raise LookupError(f"the status of {name} names no artifact yet")
        return found


def artifacts_of(status: api.TaskValidationStatus) -> Iterator[tuple[str, api.Artifact]]:
    """Yield every artifact that a status names, with what it is."""
    for run in status.runs:
        for what, artifact in (("log", run.log), ("results", run.results)):
            if artifact:
                yield f"{run.name} {what}", artifact
    if status.report:
        yield "report", status.report
