"""``assay deny-list build | policy | explain | diff``: what Go tasks may not reach, made from their own repositories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.domain.denylist import (
    DenyEntry,
    EntryRefusal,
    Lookup,
    SourceFile,
    changes_between,
    deny_entry_of,
    episode_fields,
    explain,
)
from assay.goproxy.checkouts import CheckoutError, clone_of, files_by_task, source_files
from assay.goproxy.denyfiles import TaskRow, read_deny_list, read_lookups, read_tasks, write_deny_list

DenyFile = Annotated[Path, typer.Option("--deny", help="The deny list, as build writes it.", exists=True)]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    commands = typer.Typer(help="Deny lists of Go tasks: build, use, explain, compare.", no_args_is_help=True)
    commands.command("build")(build)
    commands.command("policy")(policy)
    commands.command("explain")(explain_module)
    commands.command("diff")(diff)
    app.add_typer(commands, name="deny-list")


def build(
    *,
    tasks: Annotated[Path, typer.Option(help="Tasks: JSON list, JSON lines or parquet.", exists=True)],
    out: Annotated[Path, typer.Option(help="Where to write the list.")],
    clones: Annotated[Path | None, typer.Option(help="Directory of git clones, owner/name or owner__name.")] = None,
    files: Annotated[
        Path | None, typer.Option(help="go.mod files read from images: JSON lines task, at, path, text.")
    ] = None,
    lookups: Annotated[Path | None, typer.Option(help="Reviewed look-ups by repository.")] = None,
) -> None:
    """Write the deny list of all Go tasks. A task without an entry is an error, and nothing is written.

    Example: assay deny-list build --tasks tasks.parquet --clones clones --out deny.jsonl
    """
    try:
        read, reviewed, rows = files_by_task(files) if files else {}, read_lookups(lookups), read_tasks(tasks)
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    made = [_entry(task, clones, read.get(task.id, []), reviewed) for task in rows]
    refused = [entry for entry in made if isinstance(entry, EntryRefusal)]
    for refusal in refused:
        typer.echo(f"{refusal.task}: {refusal.why}", err=True)
    if refused or not made:
        typer.echo(f"{len(refused)} of {len(made)} Go tasks have no entry; {out} was not written", err=True)
        raise typer.Exit(1)
    entries = [entry for entry in made if isinstance(entry, DenyEntry)]
    write_deny_list(out, entries)
    notes = [f"{entry.task}: {note}" for entry in entries for note in entry.notes]
    typer.echo("\n".join([*notes, f"{len(entries)} tasks, {sum(len(entry.owned) for entry in entries)} module paths"]))


def _entry(
    task: TaskRow, clones: Path | None, read: Sequence[SourceFile], reviewed: Mapping[str, Lookup]
) -> DenyEntry | EntryRefusal:
    """Make one task's entry from its clone, from files read out of its image, or from both."""
    found = list(read)
    clone = clone_of(clones, task.repo) if clones else None
    try:
        if clone is not None:
            found.extend(source_files(clone, task.base_commit))
    except CheckoutError as error:
        return EntryRefusal(task=task.id, why=str(error))
    return deny_entry_of(task.id, task.repo, found, reviewed.get(task.repo.lower(), Lookup()))


def policy(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    *,
    deny: DenyFile,
) -> None:
    """Print what lets a task's episodes use the Go module gateway, as JSON: spec.network and spec.goPolicy.

    The policy may stand in the task's TaskValidation instead, where `assay import --deny-list` puts it.

    Example: assay deny-list policy acorn__lantern-7 --deny deny.jsonl
    """
    typer.echo(json.dumps(episode_fields(_entry_in(_read(deny), task, deny)), indent=1))


def _read(deny: Path) -> dict[str, DenyEntry]:
    try:
        return read_deny_list(deny)
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def _entry_in(entries: Mapping[str, DenyEntry], task: str, deny: Path) -> DenyEntry:
    if task not in entries:
        typer.echo(f"{task} is not in {deny}", err=True)
        raise typer.Exit(1)
    return entries[task]


def explain_module(
    module: Annotated[str, typer.Argument(help="A module path, as go get takes it.")],
    *,
    task: Annotated[str, typer.Option(help="The task's id.")],
    deny: DenyFile,
) -> None:
    """Say which rule denies a module to a task, or that it is served.

    Example: assay deny-list explain github.com/acorn/lantern --task acorn__lantern-7 --deny deny.jsonl
    """
    entry = _entry_in(_read(deny), task, deny)
    typer.echo(explain(entry, module.partition("@")[0]))


def diff(
    old: Annotated[Path, typer.Argument(help="The list before.", exists=True)],
    new: Annotated[Path, typer.Argument(help="The list after.", exists=True)],
) -> None:
    """Show what changed, for review; what is served that was denied before comes first.

    Example: assay deny-list diff before.jsonl after.jsonl
    """
    changes = changes_between(_read(old), _read(new))
    for change in changes:
        typer.echo(f"{'LOOSER ' if change.looser else 'tighter'} {change.task}: {change.what}")
    looser = sum(change.looser for change in changes)
    typer.echo(f"{len(changes)} changes, {looser} of them looser")
