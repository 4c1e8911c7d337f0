"""``assay export``: the tasks that stood the test, as a file that people train and evaluate on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer

from assay.api import v1alpha1 as api
from assay.cli.progress import progress_bar
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, reader, told
from assay.datasets.exporting import SUFFIXES, ExportFile, OtherColumnsError, schema_with_evidence, unwritable
from assay.datasets.original_rows import original_rows, schema_of_files
from assay.datasets.rows import UnreadableFileError
from assay.domain.datasets.exports import Form, Validated, row_of_validation
from assay.domain.datasets.originals import with_evidence
from assay.domain.task import Refusal

AT_ONCE = 16
Made = dict[str, Any] | Refusal
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tasks are written, and how; ``files``: with the columns of their own rows."""

    every: bool
    selector: str
    form: Form
    files: tuple[Path, ...] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    out: Path = typer.Option(..., "--out", "-o", help="File to write: .parquet or .jsonl."),
    every: bool = typer.Option(
        False, "--all/--valid", help="Every task with a verdict, or the valid ones alone (the default)."
    ),
    form: Form = typer.Option(Form.ASSAY, "--as", help="Columns of the rows: our own, or those that a harness reads."),
    rows: list[Path] = typer.Option(
        [], help="File that was imported: write its rows with all their own columns. May be repeated."
    ),
    namespace: Namespace = DEFAULT_NAMESPACE,
    selector: str = typer.Option("", "--selector", "-l", help="Label selector, for example assay.dev/dataset=rebench."),
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Write tasks with the tests that their runs have shown, their image's digest and where they came from.

    With --rows, each row keeps its own columns, in the files' order; what the runs have shown stands in FAIL_TO_PASS and
    PASS_TO_PASS, and the rest in columns that begin with assay_.

    A task that the form has no way to say is left out and told on standard error. Exits 1 when evidence is missing.

    Example: assay export --valid --out tasks.parquet --as swe-bench
    """
    if out.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{out.name} must end in {' or '.join(SUFFIXES)}", param_hint="--out")
    if rows and form is not Form.ASSAY:
        raise typer.BadParameter("rows keep their own columns, so --as has no say", param_hint="--rows")
    wanted = Wanted(every=every, selector=selector, form=form, files=tuple(rows))
    with told("export"):
        try:
            written, left = asyncio.run(_exported(out, wanted, namespace, service))
        except (UnreadableFileError, OtherColumnsError) as error:
            raise LookupError(error) from error
    typer.echo(f"{out}: {written} tasks" + (f", {left} left out" if left else ""), err=True)


async def _exported(out: Path, wanted: Wanted, namespace: str, service: str) -> tuple[int, int]:
    written = left = 0
    schema = None
    if wanted.files and out.suffix == ".parquet":
        schema = schema_with_evidence(schema_of_files(wanted.files))
    async with reader(namespace, service) as source:
        with ExportFile(out, wanted.form, schema) as file, progress_bar("export", None) as advance:
            async for row in _originals(source, wanted) if wanted.files else _own(source, wanted):
                advance(1)
                refusal = _refusal(row, out)
                if refusal or isinstance(row, Refusal):
                    left += 1
                    typer.echo(f"left out: {refusal}", err=True)
                else:
                    written += 1
                    file.add(row)
    if not written:
        why = f"all of the {left} tasks were left out" if left else "no task with such a verdict"
        raise LookupError(f"{why}; nothing was written")
    return written, left


async def _own(source: Reader, wanted: Wanted) -> AsyncIterator[Made]:
    """Yield the rows of the form."""

    def made(raw: Mapping[str, Any]) -> Awaitable[Made]:
        return _row(source, api.TaskValidation.model_validate(raw), wanted.form)

    async for row in _in_order(_judged(source, wanted), made):
        yield row


async def _originals(source: Reader, wanted: Wanted) -> AsyncIterator[Made]:
    """Yield the files' rows with their evidence; of the tasks only names are held, whatever their number."""
    named: dict[str, list[str]] = {}
    families = set()
    async for raw in _judged(source, wanted):
        came = raw["spec"].get("provenance") or {}
        if not came.get("rowDigest"):
            yield Refusal(field=raw["metadata"]["name"], why="does not say which row it came from")
            continue
        named.setdefault(came["rowDigest"], []).append(raw["metadata"]["name"])
        families.add(came.get("family") or "")

    async def found() -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        for digests, values in original_rows(wanted.files, families):
            for name in (name for digest in digests for name in named.pop(digest, ())):
                yield name, values

    async for row in _in_order(found(), lambda one: _original(source, *one)):
        yield row
    for name in (name for names in named.values() for name in names):
        yield Refusal(field=name, why="none of the files has its row")


async def _in_order(things: AsyncIterator[Thing], make: Callable[[Thing], Awaitable[Made]]) -> AsyncIterator[Made]:
    """Yield what is made of each thing, in their order, ``AT_ONCE`` made at a time."""
    batch: list[Thing] = []
    async for thing in things:
        batch.append(thing)
        if len(batch) >= AT_ONCE:
            for made in await asyncio.gather(*map(make, batch)):
                yield made
            batch = []
    for made in await asyncio.gather(*map(make, batch)):
        yield made


async def _judged(source: Reader, wanted: Wanted) -> AsyncIterator[dict[str, Any]]:
    async for raw in source.objects(selector=wanted.selector):
        verdict = (raw.get("status") or {}).get("verdict")
        if verdict == "Valid" or (wanted.every and verdict):
            yield raw


async def _original(source: Reader, name: str, values: Mapping[str, Any]) -> Made:
    found = await source.validation(name)
    row = await _row(source, found, Form.ASSAY)
    if isinstance(row, Refusal):
        return row
    review = found.spec.statement_review
    return with_evidence(values, row, rewritten=review is not None and review.decision == "Rewritten")


async def _row(source: Reader, found: api.TaskValidation, form: Form) -> Made:
    name = found.metadata.name
    task = await source.task(found)
    report = json.loads(await source.artifact(found.status.report)) if found.status.report else {}
    row = row_of_validation(Validated(found=found, task=task, report=report), form)
    return Refusal(field=f"{name}: {row.field}", why=row.why) if isinstance(row, Refusal) else row


def _refusal(row: Made, out: Path) -> str:
    if isinstance(row, Refusal):
        return str(row)
    column = unwritable(row) if out.suffix == ".parquet" else ""
    return (
        f"{row.get('instance_id')}: {column}: has bytes that are not UTF-8; a .jsonl file can hold them"
        if column
        else ""
    )
