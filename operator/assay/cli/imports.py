"""``assay import``: files of rows in, manifests and a bundle out."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from assay.api import v1alpha1 as api
from assay.cli.progress import progress_bar
from assay.datasets.bundles import BundleWriter, Document
from assay.datasets.importing import Choice, Imported, Importer, Told, chosen_at_random
from assay.datasets.outputs import ManifestFiles, has_manifests, manifest_text, put_in_place, refusal_line
from assay.datasets.rows import UnreadableFileError
from assay.datasets.selecting import Expression, ExpressionError
from assay.datasets.tables import table_at
from assay.domain.datasets import FAMILIES, Family, family_named, recipes_of
from assay.domain.datasets.manifests import ManifestSettings, lacking_entry, manifest_of
from assay.domain.datasets.selection import PRESETS, Wanted, rank_of
from assay.domain.profiles import PROFILES
from assay.domain.rules.finding import counted
from assay.domain.task import Refusal
from assay.goproxy.denyfiles import read_deny_list

AUTO = "auto"
STREAM = "-"


class Order(StrEnum):
    """In which order manifests are written."""

    DATASET = "dataset"
    RANDOM = "random"


class Kind(StrEnum):
    """What rows become."""

    VALIDATIONS = "validations"
    EPISODES = "episodes"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_rows)


class UsageError(Exception):
    """An option says what cannot be done."""


def import_rows(
    files: Annotated[
        list[Path], typer.Argument(help="Parquet, JSON lines, JSON, or a folder of tasks.", metavar="FILE...")
    ],
    family: Annotated[str, typer.Option(help=f"Family of the rows: {AUTO}, {', '.join(FAMILIES)}.")] = AUTO,
    dataset: Annotated[str, typer.Option(help="Name of the data set; the first file's name if not given.")] = "",
    revision: Annotated[str, typer.Option(help="Revision of the data set, kept as provenance.")] = "",
    select: Annotated[
        list[str] | None, typer.Option(help="CEL expression over a row; docs/datasets.md lists what it may ask.")
    ] = None,
    preset: Annotated[list[str] | None, typer.Option(help=f"Named expression: {', '.join(PRESETS)}.")] = None,
    languages: Annotated[str, typer.Option(help="Languages that are wanted, joined by commas.")] = "",
    repos: Annotated[str, typer.Option(help="Repositories that are wanted, joined by commas.")] = "",
    ids: Annotated[Path | None, typer.Option(help="File of task ids that are wanted, one a line.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Rows created at this time or later (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Rows created before this time (UTC).")] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="At most so many tasks.")] = None,
    order: Annotated[Order, typer.Option(help="Order of the manifests.")] = Order.DATASET,
    seed: Annotated[int, typer.Option(help="Seed of the random order.")] = 0,
    recipes: Annotated[
        Path | None,
        typer.Option(help="YAML: repository or * -> commands, parser, image, workdir that rows do not say."),
    ] = None,
    renamed: Annotated[
        Path | None, typer.Option(help="YAML: former names of repositories, and forks: present name; for splits.")
    ] = None,
    as_: Annotated[Kind, typer.Option("--as", help="What rows become.")] = Kind.VALIDATIONS,
    profile: Annotated[
        str, typer.Option(help=f"Grading profile: {', '.join(sorted(PROFILES))}. Default: the family's own.")
    ] = "",
    unpatched: Annotated[int | None, typer.Option(min=1, max=20, help="Unpatched runs of each task.")] = None,
    patched: Annotated[int | None, typer.Option(min=1, max=20, help="Patched runs of each task.")] = None,
    pristine: Annotated[int | None, typer.Option(min=0, max=10, help="Pristine runs of each task.")] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the objects.")] = "assay-runs",
    out: Annotated[
        str, typer.Option("--out", "-o", help="Directory to write, or - for manifests on standard output.")
    ] = STREAM,
    inline: Annotated[
        bool, typer.Option("--inline", help="Put whole tasks into the manifests; always so for --out -.")
    ] = False,
    deny_list: Annotated[
        Path | None,
        typer.Option(help="Deny list of `assay deny-list build`: gives each Go task its spec.goPolicy."),
    ] = None,
    refusals: Annotated[
        Path | None, typer.Option(help="Where refused rows are listed. Default: refusals.jsonl in --out, else here.")
    ] = None,
) -> None:
    """Turn rows of public data sets into tasks. A row that cannot be one is listed with its column and reason.

    Exits 1 when a file cannot be read to its end, no row is a task or a Go task has no entry in the deny list, 2 when an
    option makes no sense.

    Example: assay import tasks.parquet --preset openreward --languages go,python --out tasks
    """
    try:
        choice = Choice(
            wanted=_wanted(languages, repos, ids, since, until),
            expression=Expression([*_presets(preset or []), *(select or [])]),
            family=_family(family),
            recipes=recipes_of(yaml.safe_load(recipes.read_bytes())) if recipes else {},
            renamed=yaml.safe_load(renamed.read_bytes()) or {} if renamed else {},
            limit=limit,
            seed=seed if order is Order.RANDOM else None,
        )
        settings = ManifestSettings(
            dataset=dataset or files[0].stem,
            revision=revision,
            namespace=namespace,
            kind="TaskValidation" if as_ is Kind.VALIDATIONS else "AgentEpisode",
            profile=_profile(profile),
            runs=_runs(unpatched, patched, pristine),
            inline=inline or out == STREAM,
            deny_list=read_deny_list(deny_list) if deny_list else None,
        )
        importer = _run(files, choice, settings, out, refusals)
    except (UsageError, ExpressionError, ValueError, OSError, yaml.YAMLError) as error:
        typer.echo(f"assay import: {error}", err=True)
        raise typer.Exit(2) from error
    typer.echo(summary_of(importer), err=True)
    if importer.counts.broken or importer.counts.unlisted or not importer.counts.tasks:
        raise typer.Exit(1)


def _run(files: list[Path], choice: Choice, settings: ManifestSettings, out: str, refusals: Path | None) -> Importer:
    folder = None if out == STREAM else Path(out)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    only = None
    if choice.seed is not None and choice.limit is not None:
        only = chosen_at_random(Importer(choice=choice, tell=lambda _told: None), files)
    listed = refusals or (folder or Path()) / "refusals.jsonl"
    with contextlib.ExitStack() as stack:
        refused = stack.enter_context(listed.open("w", encoding="utf-8"))
        advance = stack.enter_context(progress_bar("import", _rows_in(files)))
        importer = Importer(choice=choice, tell=lambda told: _write(refused.write, told), advance=advance)
        if folder is None:
            for text in _ordered(importer, importer.tasks(files, only), settings, None):
                sys.stdout.write(text)
            return importer
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".import-", dir=folder)))
        _import_to(aside, importer, importer.tasks(files, only), settings)
        if importer.counts.tasks or not has_manifests(folder):
            (aside / "import.json").write_text(json.dumps(_document(importer, settings), indent=1) + "\n")
            put_in_place(aside, folder)
    return importer


def _import_to(folder: Path, importer: Importer, tasks: Iterator[Imported], settings: ManifestSettings) -> None:
    with contextlib.ExitStack() as stack:
        bundle = None
        if not settings.inline:
            writer = BundleWriter(folder / "bundle", dataset=settings.dataset, revision=settings.revision)
            bundle = stack.enter_context(writer)
        manifests = ManifestFiles(folder)
        stack.callback(manifests.close)
        for text in _ordered(importer, tasks, settings, bundle):
            manifests.write(text)


def _write(write: Callable[[str], object], told: Told) -> None:
    write(refusal_line(told))


def _ordered(
    importer: Importer, tasks: Iterator[Imported], settings: ManifestSettings, bundle: BundleWriter | None
) -> Iterator[str]:
    """Yield manifests in their order; a random one holds them in memory, documents go to the bundle as they come."""
    ranked: list[tuple[str, str]] = []
    for said in tasks:
        text = _manifest(importer, said, settings)
        if text is None:
            continue
        if bundle:
            task = said.task.task
            bundle.add(Document(id=task.id, repo=task.repo, digest=said.digest, content=said.document))
        if importer.choice.seed is None:
            yield text
        else:
            ranked.append((rank_of(importer.choice.seed, said.task.task.id), text))
    yield from (text for _, text in sorted(ranked))


def _manifest(importer: Importer, said: Imported, settings: ManifestSettings) -> str | None:
    provenance = api.Provenance(
        dataset=settings.dataset,
        revision=settings.revision,
        family=said.task.family,
        row=said.number,
        row_digest=said.row_digest,
    )
    lacking = lacking_entry(said.task, settings)
    manifest = lacking or manifest_of(
        said.task, settings, digest=said.digest, profile=said.profile, provenance=provenance
    )
    if isinstance(manifest, Refusal):
        importer.counts.tasks -= 1
        importer.counts.refused += 1
        importer.counts.unlisted += manifest is lacking
        importer.tell(Told(file=said.file, row=said.number, id=said.task.task.id, refusal=manifest))
        return None
    return manifest_text(manifest)


def summary_of(importer: Importer) -> str:
    """Return where the rows went, for people."""
    counts, seen = importer.counts, importer.seen
    families = ", ".join(f"{count} {name}" for name, count in counts.families.most_common())
    lines = [
        f"{counts.rows} rows: {counts.tasks} tasks, {counts.unselected} not selected, {counts.refused} refused"
        + (f" ({families})" if families else "")
    ]
    if counts.broken:
        lines.append(f"{counts.broken} files could not be read to their end")
    if counts.unlisted:
        lines.append(f"{counted(counts.unlisted, 'Go task')} without an entry in the deny list")
    lines += [f"{id_!r} and the id in {place} differ in case alone" for id_, place in seen.case_only[:10]]
    if seen.shared_commits:
        lines.append(f"{seen.shared_commits} rows share repository and commit with another one")
    lines += [f"{count} x {note}" for note, count in counts.notes.most_common(10)]
    return "\n".join(lines)


def _document(importer: Importer, settings: ManifestSettings) -> dict[str, object]:
    counts = importer.counts
    return {
        "format": 1,
        "dataset": settings.dataset,
        "revision": settings.revision,
        "rows": counts.rows,
        "tasks": counts.tasks,
        "notSelected": counts.unselected,
        "refused": counts.refused,
        "brokenFiles": counts.broken,
        "families": dict(counts.families),
        "notes": dict(counts.notes),
        "differInCaseAlone": importer.seen.case_only,
        "shareACommit": importer.seen.shared_commits,
    }


def _rows_in(files: list[Path]) -> int | None:
    try:
        counted = [table_at(file).count() for file in files]
    except UnreadableFileError:
        return None
    return None if None in counted else sum(count or 0 for count in counted)


def _wanted(languages: str, repos: str, ids: Path | None, since: datetime | None, until: datetime | None) -> Wanted:
    def listed(said: str) -> frozenset[str] | None:
        return frozenset(item.strip().lower() for item in said.split(",") if item.strip()) or None

    named = (
        frozenset(line.strip().lower() for line in ids.read_text("utf-8").splitlines() if line.strip()) if ids else None
    )
    utc = [moment and moment.replace(tzinfo=moment.tzinfo or UTC) for moment in (since, until)]
    return Wanted(languages=listed(languages), repos=listed(repos), ids=named, since=utc[0], until=utc[1])


def _presets(names: list[str]) -> list[str]:
    for name in names:
        if name not in PRESETS:
            raise UsageError(f"--preset: {name!r} is none of {', '.join(PRESETS)}")
    return [PRESETS[name] for name in names]


def _profile(name: str) -> str:
    if name and name not in PROFILES:
        raise UsageError(f"--profile: {name!r} is none of {', '.join(sorted(PROFILES))}")
    return name


def _runs(unpatched: int | None, patched: int | None, pristine: int | None) -> api.Runs | None:
    said = {"unpatched": unpatched, "patched": patched, "pristine": pristine}
    given = {name: count for name, count in said.items() if count is not None}
    return api.Runs(**given) if given else None


def _family(name: str) -> Family | None:
    if name == AUTO:
        return None
    found = family_named(name)
    if isinstance(found, Refusal):
        raise UsageError(str(found))
    return found
