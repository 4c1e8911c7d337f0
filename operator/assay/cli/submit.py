"""``assay submit``: manifests onto the cluster, by server-side apply, many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import yaml

from assay.cli.at_once import finished
from assay.cli.manifests import documents_in
from assay.cli.progress import progress_bar
from assay.domain.datasets.digests import canonical, digest_of
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, ApiError, Client, Kind

ANNOTATION = "assay.dev/manifest-sha256"
KINDS = {
    "TaskValidation": TASK_VALIDATIONS,
    "AgentEpisode": AGENT_EPISODES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One object to apply; ``digest`` is that of its manifest."""

    kind: Kind
    namespace: str
    name: str
    manifest: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said to one object; ``fault`` empty: it is applied."""

    name: str
    fault: str = ""


class ManifestError(Exception):
    """A document is no manifest of Assay's kinds."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("submit")(submit)


def submit(
    files: list[Path] = typer.Argument(
        help="Manifests, or directories of them; - for standard input.", metavar="FILE..."
    ),
    namespace: str = typer.Option("assay-runs", "--namespace", "-n", help="Namespace of manifests that name none."),
    at_once: int = typer.Option(16, min=1, max=128, help="Requests at a time."),
    again: bool = typer.Option(False, "--again", help="Apply what is there as it is, too."),
) -> None:
    """Apply manifests on the server's side. What is there already is left out, so run it again to go on.

    A refused object is told and the others are applied. Exits 1 when there was one, or no server; 2 for a bad manifest.

    Example: assay submit tasks
    """
    try:
        applied, there, faults = asyncio.run(_submit(files, namespace, at_once, again))
    except (ManifestError, OSError, yaml.YAMLError) as error:
        typer.echo(f"assay submit: {error}", err=True)
        raise typer.Exit(2) from error
    except ApiError as error:
        typer.echo(f"assay submit: {error}; run it again to go on", err=True)
        raise typer.Exit(1) from error
    for answer in faults[:20]:
        typer.echo(f"{answer.name}: {answer.fault}", err=True)
    typer.echo(f"{applied} applied, {there} there already, {len(faults)} refused", err=True)
    if faults:
        raise typer.Exit(1)


async def _submit(files: Sequence[Path], namespace: str, at_once: int, again: bool) -> tuple[int, int, list[Answer]]:
    """Apply all; return how many were applied, how many were there, and what was refused."""
    client = await Client.connect(connections=at_once)
    known: dict[tuple[str, str], set[str]] = {}
    read = applied = sent = 0
    faults: list[Answer] = []

    async def act(submission: Submission) -> Answer:
        return await _apply(client, submission)

    try:
        with progress_bar("submit", None) as advance:
            for batch in _batches(submissions_in(files, namespace)):
                for kind, where in {(said.kind, said.namespace) for said in batch}:
                    if not again and (kind.plural, where) not in known:
                        known[kind.plural, where] = await _digests(client, kind, where)
                wanted = [
                    said for said in batch if said.digest not in known.get((said.kind.plural, said.namespace), ())
                ]
                async for answer in finished(at_once, act, wanted):
                    advance(1)
                    applied += not answer.fault
                    faults += [answer] if answer.fault else []
                advance(len(batch) - len(wanted))
                read, sent = read + len(batch), sent + len(wanted)
    finally:
        await client.close()
    return applied, read - sent, faults


async def _apply(client: Client, submission: Submission) -> Answer:
    try:
        await client.apply(submission.kind, submission.namespace, submission.name, submission.manifest)
    except ApiError as error:
        if error.status not in {400, 409, 413, 422}:
            raise  # no server, no rights: the next object would fare no better
        return Answer(name=submission.name, fault=error.message or error.reason)
    return Answer(name=submission.name)


async def _digests(client: Client, kind: Kind, namespace: str) -> set[str]:
    """Return the digests of the manifests that were submitted before."""
    found: set[str] = set()
    async for page in client.pages(kind, namespace):
        found.update((raw["metadata"].get("annotations") or {}).get(ANNOTATION, "") for raw in page)
    return found


def submissions_in(files: Sequence[Path], namespace: str) -> Iterator[Submission]:
    """Yield the objects of all files in order.  ``ManifestError`` names the file and the document."""
    for place, document in documents_in(files):
        yield _submission(place, document, namespace)


def _submission(place: str, document: Any, namespace: str) -> Submission:
    kind = KINDS.get(document.get("kind", "")) if isinstance(document, Mapping) else None
    name = ((document.get("metadata") or {}).get("name") or "") if kind else ""
    if kind is None or not name:
        raise ManifestError(f"{place}: is no manifest of a {' or '.join(KINDS)} with a name")
    metadata = {"namespace": namespace} | document["metadata"]
    digest = digest_of(canonical(document))
    metadata["annotations"] = (metadata.get("annotations") or {}) | {ANNOTATION: digest}
    manifest = dict(document) | {"metadata": metadata}
    return Submission(kind=kind, namespace=metadata["namespace"], name=name, manifest=manifest, digest=digest)


def _batches(submissions: Iterator[Submission]) -> Iterator[list[Submission]]:
    batch: list[Submission] = []
    for said in submissions:
        batch.append(said)
        if len(batch) >= 500:
            yield batch
            batch = []
    if batch:
        yield batch
