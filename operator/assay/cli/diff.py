"""``assay diff``: the tests that ended otherwise in another run."""

from __future__ import annotations

import asyncio

import typer

from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Service, reader, run_named, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.explanations import Difference, differences


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)


def diff(
    name: str = typer.Argument(help="Name of the TaskValidation."),
    left: str = typer.Argument(help="One run, for example unpatched-1."),
    right: str = typer.Argument(help="The other, for example patched-1."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the tests whose status differs between two runs; exit status 0 whether or not any does.

    Example: assay diff demo-valid unpatched-1 patched-1
    """
    with told("diff"):
        found = asyncio.run(_differences(name, left, right, namespace, service))
    if output is Output.TABLE:
        rows = [(difference.name, difference.left, difference.right) for difference in found]
        typer.echo(aligned(("TEST", left.upper(), right.upper()), rows) if rows else "no test differs")
    else:
        typer.echo(printed([{"name": one.name, left: one.left, right: one.right} for one in found], output))


async def _differences(name: str, left: str, right: str, namespace: str, service: str) -> tuple[Difference, ...]:
    async with reader(namespace, service) as source:
        status = (await source.validation(name)).status
        runs = (run_named(status, left), run_named(status, right))
        return differences(*[await source.results(run) for run in runs])
