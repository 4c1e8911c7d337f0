"""``assay status``: how far a batch has come, at what speed, and when it will be done."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.progress import Progress, progress_of

EVERY_SECONDS = 2.0
WINDOW = 30


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    namespace: Namespace = DEFAULT_NAMESPACE,
    selector: str = typer.Option("", "--selector", "-l", help="Label selector."),
    watch: bool = typer.Option(False, "--watch", "-w", help="Keep showing until every task has a verdict."),
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far the tasks of a namespace have come.

    Example: assay status
    """
    with told("status"):
        if watch and output is Output.TABLE:
            asyncio.run(_watched(namespace, selector))
            return
        found = asyncio.run(_counted(namespace, selector))
    if output is Output.TABLE:
        rows = [(phase, verdict, reason, count) for (phase, verdict, reason), count in found.most_common()]
        typer.echo(aligned(("PHASE", "VERDICT", "REASON", "TASKS"), rows) if rows else f"no task in {namespace}")
    else:
        said = [
            {"phase": phase, "verdict": verdict, "reason": reason, "tasks": count}
            for (phase, verdict, reason), count in found.most_common()
        ]
        typer.echo(printed(said, output))


async def _counted(namespace: str, selector: str) -> Counter[tuple[str, str, str]]:
    async with reader(namespace, DEFAULT_SERVICE) as source:
        counts: Counter[tuple[str, str, str]] = Counter()
        async for raw in source.objects(selector=selector):
            said = raw.get("status") or {}
            counts[said.get("phase") or "Pending", said.get("verdict") or "", said.get("reason") or ""] += 1
        return counts


async def _watched(namespace: str, selector: str) -> None:
    seen: deque[tuple[float, int]] = deque(maxlen=WINDOW)
    console, told_last = Console(), -1
    with Live(console=console, refresh_per_second=4) as live:
        while True:
            counts = await _counted(namespace, selector)
            done = sum(count for (phase, _, _), count in counts.items() if phase == "Complete")
            seen.append((time.monotonic(), done))
            progress = progress_of(seen, total=counts.total())
            live.update(_table(counts, progress))
            if not console.is_terminal and done != told_last:
                typer.echo(f"{done} of {counts.total()} tasks have a verdict", err=True)
                told_last = done
            if progress.done == progress.total:
                return
            await asyncio.sleep(EVERY_SECONDS)


def _table(counts: Counter[tuple[str, str, str]], progress: Progress) -> Table:
    table = Table(title=f"{progress.done} of {progress.total} tasks have a verdict", caption=progress.sentence)
    for head in ("phase", "verdict", "reason", "tasks"):
        table.add_column(head, justify="right" if head == "tasks" else "left")
    for key, count in counts.most_common():
        table.add_row(*key, str(count))
    return table
