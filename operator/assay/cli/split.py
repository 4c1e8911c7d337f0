"""``assay split``: a side for each repository, train or eval, before anything is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
import yaml

from assay.cli.manifests import documents_in
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.datasets.manifests import LABEL_SOURCE, label_value
from assay.domain.splits import canonical_repo, proposed_sides

FILE = "manifests-split.yaml"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("split")(split)


def split(
    files: list[Path] = typer.Argument(help="Manifests of TaskValidations, or directories of them.", metavar="FILE..."),
    eval_repos: str = typer.Option("", help="Repositories of the eval side, separated by commas."),
    fraction: float = typer.Option(0.0, min=0.0, max=1.0, help="Share of the tasks that the eval side gets in all."),
    seed: int = typer.Option(0, help="Decides which repositories follow."),
    renamed: Path | None = typer.Option(None, help="YAML: former names of repositories, and forks: present name."),
    out: Path | None = typer.Option(None, help=f"Folder for the manifests with their sides, as {FILE}."),
    output: OutputOption = Output.TABLE,
) -> None:
    """Propose a side for each repository, never for a single task.

    Example: assay split tasks --eval-repos acorn/lantern --fraction 0.1 --seed 7
    """
    try:
        known: Mapping[str, str] = yaml.safe_load(renamed.read_text("utf-8")) or {} if renamed else {}
        documents = [document for _, document in documents_in(files)]
        repos = [repository_of(document, known) for document in documents]
    except (OSError, yaml.YAMLError, LookupError) as error:
        typer.echo(f"assay split: {error}", err=True)
        raise typer.Exit(2) from error
    tasks = Counter(repos)
    named = {label_value(canonical_repo(name, known)) for name in eval_repos.split(",") if name.strip()}
    unknown = sorted(named - set(tasks))
    if unknown:
        typer.echo(f"assay split: --eval-repos: no task is from {', '.join(unknown)}", err=True)
        raise typer.Exit(2)
    sides = proposed_sides(tasks, eval_repos=named, fraction=fraction, seed=seed)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        for document, repo in zip(documents, repos, strict=True):
            document["spec"]["split"] = sides[repo]
        (out / FILE).write_text(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True), "utf-8")
    rows = [(repo, count, sides[repo]) for repo, count in sorted(tasks.items())]
    if output is Output.TABLE:
        typer.echo(aligned(("REPOSITORY", "TASKS", "SIDE"), rows))
    else:
        typer.echo(printed([{"repository": repo, "tasks": count, "side": side} for repo, count, side in rows], output))


def repository_of(document: Any, renamed: Mapping[str, str]) -> str:
    """Return a manifest's repository as a label value; ``LookupError`` where it names none."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    repo = (spec.get("task") or {}).get("repo")
    if repo:
        return label_value(canonical_repo(repo, renamed))
    label = (metadata.get("labels") or {}).get(LABEL_SOURCE)
    if not label:
        raise LookupError(f"{metadata.get('name')}: names no repository in spec.task.repo or the label {LABEL_SOURCE}")
    return next(
        (label_value(canonical_repo(old, renamed)) for old in renamed if label_value(old.lower()) == label), label
    )
