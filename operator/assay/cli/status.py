"""``assay status``: how far a batch has come, at what speed, and when it will be done."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed, streamed
from assay.domain.progress import Progress, progress_of

EVERY_SECONDS = 2.0
WINDOW = 30
Counts = Counter[tuple[str, str, str]]
"""How many tasks there are of each phase, verdict and reason."""


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

    With --watch, json is one document a line, yaml one behind each ---, for the beginning and for each change.

    Example: assay status
    """
    with told("status"):
        if watch:
            asyncio.run(_watched(namespace, selector) if output is Output.TABLE else _told(namespace, selector, output))
            return
        found = asyncio.run(_counted(namespace, selector))
    if output is Output.TABLE:
        rows = [(phase, verdict, reason, count) for (phase, verdict, reason), count in found.most_common()]
        typer.echo(aligned(("PHASE", "VERDICT", "REASON", "TASKS"), rows) if rows else f"no task in {namespace}")
    else:
        typer.echo(printed(_rows(found), output))


def _rows(counts: Counts) -> list[dict[str, object]]:
    return [
        {"phase": phase, "verdict": verdict, "reason": reason, "tasks": count}
        for (phase, verdict, reason), count in counts.most_common()
    ]


async def _counted(namespace: str, selector: str) -> Counts:
    async with reader(namespace, DEFAULT_SERVICE) as source:
        counts: Counts = Counter()
        async for raw in source.objects(selector=selector):
            said = raw.get("status") or {}
            counts[said.get("phase") or "Pending", said.get("verdict") or "", said.get("reason") or ""] += 1
        return counts


async def _looks(namespace: str, selector: str) -> AsyncIterator[tuple[Counts, int]]:
    """Yield the counts, and how many tasks have a verdict, until all have."""
    while True:
        counts = await _counted(namespace, selector)
        done = sum(count for (phase, _, _), count in counts.items() if phase == "Complete")
        yield counts, done
        if done == counts.total():
            return
        await asyncio.sleep(EVERY_SECONDS)


async def _told(namespace: str, selector: str, output: Output) -> None:
    """Print the counts, and print them again whenever they differ from the last."""
    last: Counts | None = None
    async for counts, _ in _looks(namespace, selector):
        if counts != last:
            sys.stdout.write(streamed(_rows(counts), output))
            sys.stdout.flush()
        last = counts


async def _watched(namespace: str, selector: str) -> None:
    seen: deque[tuple[float, int]] = deque(maxlen=WINDOW)
    console, told_last = Console(), -1
    with Live(console=console, refresh_per_second=4) as live:
        async for counts, done in _looks(namespace, selector):
            seen.append((time.monotonic(), done))
            live.update(_table(counts, progress_of(seen, total=counts.total())))
            if not console.is_terminal and done != told_last:
                typer.echo(f"{done} of {counts.total()} tasks have a verdict", err=True)
                told_last = done


def _table(counts: Counts, progress: Progress) -> Table:
    table = Table(title=f"{progress.done} of {progress.total} tasks have a verdict", caption=progress.sentence)
    for head in ("phase", "verdict", "reason", "tasks"):
        table.add_column(head, justify="right" if head == "tasks" else "left")
    for key, count in counts.most_common():
        table.add_row(*key, str(count))
    return table
