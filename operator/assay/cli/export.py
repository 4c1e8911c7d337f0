"""``assay export``: the tasks that stood the test, as a file that people train and evaluate on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import typer

from assay.api import v1alpha1 as api
from assay.cli.progress import progress_of
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, reader, told
from assay.datasets.exporting import SUFFIXES, ExportFile, unwritable
from assay.domain.datasets.exports import Form, Validated, row_of_validation
from assay.domain.task import Refusal

AT_ONCE = 16


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    out: Path = typer.Option(..., "--out", "-o", help="File to write: .parquet or .jsonl."),
    every: bool = typer.Option(
        False, "--all/--valid", help="Every task with a verdict, or the valid ones alone (the default)."
    ),
    form: Form = typer.Option(Form.ASSAY, "--as", help="Columns of the rows: our own, or those that a harness reads."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    selector: str = typer.Option("", "--selector", "-l", help="Label selector, for example assay.dev/dataset=rebench."),
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Write tasks with the tests that their runs have shown, their image's digest and where they came from.

    A task that the form has no way to say is left out and told on standard error. Exits 1 when evidence is missing.

    Example: assay export --valid --out tasks.parquet --as swe-bench
    """
    if out.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{out.name} must end in {' or '.join(SUFFIXES)}", param_hint="--out")
    with told("export"):
        written, left = asyncio.run(_exported(out, every, form, namespace, selector, service))
    typer.echo(f"{out}: {written} tasks" + (f", {left} left out" if left else ""), err=True)


async def _exported(out: Path, every: bool, form: Form, namespace: str, selector: str, service: str) -> tuple[int, int]:
    written = left = 0
    async with reader(namespace, service) as source:
        with ExportFile(out, form) as file, progress_of("export", None) as advance:
            async for batch in _batches(source, every, selector):
                for row in await asyncio.gather(*(_row(source, found, form) for found in batch)):
                    advance(1)
                    refusal = _refusal(row, out)
                    if refusal or isinstance(row, Refusal):
                        left += 1
                        typer.echo(f"left out: {refusal}", err=True)
                    else:
                        written += 1
                        file.add(row)
    if not written:
        raise LookupError("no task with such a verdict; nothing was written")
    return written, left


async def _batches(source: Reader, every: bool, selector: str) -> AsyncIterator[list[api.TaskValidation]]:
    batch: list[api.TaskValidation] = []
    async for raw in source.objects(selector=selector):
        verdict = (raw.get("status") or {}).get("verdict")
        if verdict == "Valid" or (every and verdict):
            batch.append(api.TaskValidation.model_validate(raw))
        if len(batch) >= AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _row(source: Reader, found: api.TaskValidation, form: Form) -> dict[str, object] | Refusal:
    name = found.metadata.name
    task = await source.task(found)
    report = json.loads(await source.artifact(found.status.report)) if found.status.report else {}
    row = row_of_validation(Validated(found=found, task=task, report=report), form)
    return Refusal(field=f"{name}: {row.field}", why=row.why) if isinstance(row, Refusal) else row


def _refusal(row: dict[str, object] | Refusal, out: Path) -> str:
    if isinstance(row, Refusal):
        return str(row)
    column = unwritable(row) if out.suffix == ".parquet" else ""
    return (
        f"{row['instance_id']}: {column}: has bytes that are not UTF-8; a .jsonl file can hold them" if column else ""
    )
