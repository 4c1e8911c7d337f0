"""``assay report``: how many tasks were dropped and why, as one page, a table or data."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import typer

from assay.domain.quality import QualityReport, TaskRow, quality_of, task_row_of
from assay.kube.client import TASK_VALIDATIONS, ApiError, Client
from assay.report.documents import html_of, json_of, markdown_of, parquet_of

FORMATS = (".html", ".md", ".json", ".parquet")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File to write: .html, .md, .json or .parquet. Default: Markdown on standard output."
    ),
    namespace: str = typer.Option("assay-runs", "--namespace", "-n", help="Namespace of the objects."),
    selector: str = typer.Option("", "--selector", "-l", help="Label selector, for example assay.dev/dataset=rebench."),
    refusals: Path | None = typer.Option(None, help="refusals.jsonl of the import, so that its rows are counted too."),
    title: str = typer.Option("Quality report", help="Title of the report."),
) -> None:
    """Report where a batch's rows went and why.

    Example: assay report --out report.html
    """
    if out is not None and out.suffix not in FORMATS:
        _fail(f"--out: {out.name} must end in one of {', '.join(FORMATS)}", 2)
    try:
        refused = _reasons_of(refusals) if refusals else []
        rows = asyncio.run(_rows(namespace, selector))
    except (ApiError, OSError, ValueError) as error:
        _fail(str(error), 1)
    content = _written(quality_of(rows, refused), out.suffix if out else ".md", title)
    if out is None:
        sys.stdout.buffer.write(content)
    else:
        out.write_bytes(content)
        typer.echo(f"{out}: {len(rows)} tasks, {sum(row.verdict == 'Valid' for row in rows)} valid", err=True)


def _written(found: QualityReport, form: str, title: str) -> bytes:
    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if form == ".parquet":
        return parquet_of(found)
    render = {".html": html_of, ".md": markdown_of, ".json": json_of}[form]
    return render(found, title=title, made_at=made_at).encode("utf-8", "backslashreplace")


def _reasons_of(path: Path) -> list[str]:
    """Return the reason of each line of a refusals file: its field and what is wrong with it."""
    reasons = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            said = json.loads(line)
            reasons.append(f"{said['field']}: {said['reason']}")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a refusal: {error}") from error
    return reasons


async def _rows(namespace: str, selector: str) -> list[TaskRow]:
    client = await Client.connect()
    try:
        pages = client.pages(TASK_VALIDATIONS, namespace, selector=selector)
        return [task_row_of(raw) async for page in pages for raw in page]
    finally:
        await client.close()


def _fail(message: str, code: int) -> None:
    typer.echo(f"assay report: {message}", err=True)
    raise typer.Exit(code)
