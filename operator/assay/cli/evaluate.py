"""``assay evaluate`` and ``assay compare``: predictions in, one AgentEpisode each, reports out."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from assay.api import v1alpha1 as api
from assay.cli.progress import progress_bar
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, StoredError, told
from assay.cli.targets import Target, targets_in, valid_targets, with_gold
from assay.datasets.bundles import BundleError
from assay.domain.episodes import FINAL
from assay.domain.evaluations import Result, flips, instance_report, is_completed, own_report, report_name, run_report
from assay.domain.grading import RewardMode
from assay.domain.predictions import MalformedPredictionsError, Prediction, census_of, read_predictions
from assay.domain.profiles import PROFILES, profile_named
from assay.kube.client import AGENT_EPISODES, ApiError, Client
from assay.store.artifacts import ArtifactLostError, Store

RUN_ANNOTATION = "assay.dev/run"
LABEL = "assay.dev/evaluation"
POLL_SECONDS = 2.0
APPLIED_AT_ONCE = 16
INLINE_BYTES = 512 * 1024
"""A larger patch goes into the artifact store: an object has room for about a megabyte."""
OWN_REPORT = "assay.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One prediction of a run, under the one name that its episode can have.

    ``stored``: the patch of a prediction that is too large for its object, which names it by its hash.
    """

    name: str
    prediction: Prediction
    manifest: Mapping[str, Any]
    stored: bytes = b""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("evaluate")(evaluate)
    app.command("compare")(compare)


def evaluate(
    predictions: str = typer.Argument(help="A file of predictions (.json, .jsonl), or the word gold or empty."),
    dataset: Path | None = typer.Option(
        None,
        "--dataset",
        help="A bundle that was pushed, or manifests of TaskValidations (a file or a folder); without it, the Valid ones there are.",
    ),
    selector: str = typer.Option("", "--selector", "-l", help="Label selector of the Valid TaskValidations."),
    profile: str = typer.Option("strict", "--profile", help="Grading profile."),
    model: str = typer.Option("", "--model", help="Only the rows of this model."),
    repeat: int = typer.Option(1, "--repeat", min=1, max=100, help="Grade each prediction this many times."),
    reward: RewardMode = typer.Option(
        RewardMode.BINARY, "--reward", help="Binary (all or nothing) or Partial (the mean of both rates)."
    ),
    run_id: str = typer.Option("", "--run-id", help="Name of the run; by default a hash of what is evaluated."),
    out: Path = typer.Option(Path("assay-evaluation"), "--out", help="Folder for the reports."),
    store: str = typer.Option("", "--store", help="URI of the artifact store; by default the operator is asked."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Grade predictions: one AgentEpisode each, then reports.  The same call again goes on where it was.

    Exits 1 when two of the tasks have one id: which of them predictions are for cannot be told.

    Example: assay evaluate predictions.jsonl --profile swebench-v5 --out reports
    """
    if dataset and selector:
        raise typer.BadParameter(
            "picks objects of the cluster, so it has no say with --dataset", param_hint="--selector"
        )
    if profile_named(profile) is None:
        known = ", ".join(sorted(PROFILES))
        raise typer.BadParameter(f"unknown {profile!r}; known: {known}", param_hint="--profile")
    with told("evaluate"):
        asyncio.run(
            _evaluate(
                predictions,
                dataset,
                selector,
                profile,
                model,
                repeat,
                reward.value,
                run_id,
                out,
                store,
                namespace,
                service,
            )
        )


def compare(
    before: Path = typer.Argument(help=f"Folder of a run, or its {OWN_REPORT}."),
    after: Path = typer.Argument(help="The other run."),
) -> None:
    """Show which tasks two runs end differently on.

    Example: assay compare reports/one reports/two
    """
    with told("compare"):
        reports = [json.loads(_own_report_file(path).read_text()) for path in (before, after)]
        changed = list(flips(*reports))
        for name, old, new in changed:
            typer.echo(f"{name}: {old} -> {new}")
        scores = " -> ".join(f"{one['resolved']}/{one['denominator']} resolved" for one in reports)
        typer.echo(f"{len(changed)} tasks differ; {scores}")


async def _evaluate(
    predictions: str,
    dataset: Path | None,
    selector: str,
    profile: str,
    model: str,
    repeat: int,
    reward: str,
    run_id: str,
    out: Path,
    store: str,
    namespace: str,
    service: str,
) -> None:
    client = await Client.connect()
    try:
        targets = _listed(dataset) if dataset else await valid_targets(client, namespace, selector)
        if not targets:
            raise LookupError(
                f"there are no tasks in {dataset}" if dataset else f"no Valid TaskValidation in {namespace}"
            )
        reader = Reader(client, namespace, service)
        if predictions == "gold":
            targets = dict(await with_gold(targets, functools.partial(_document, reader, store)))
        census = census_of(_predictions(predictions, targets), targets, model=model)
        for line in census.lines():
            typer.echo(line, err=True)
        said = json.dumps([[one.id, one.patch, one.model, targets[one.id].reference] for one in census.chosen])
        run = run_id or hashlib.sha256(f"{said}/{profile}/{reward}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        for number in range(1, repeat + 1):
            name = run if repeat == 1 else f"{run}-{number}"
            entries = [_entry(one, targets[one.id], name, profile, reward, namespace) for one in census.chosen]
            for entry in entries:
                if entry.stored:
                    await reader.put(entry.stored, store)
            ended = await _ended(client, entries, namespace, name)
            results = [await _result(entry, ended[entry.name], reader, store) for entry in entries]
            _write(out / name, name, profile, entries, results, list(targets))
    finally:
        await client.close()


def _listed(dataset: Path) -> dict[str, Target]:
    try:
        return targets_in(dataset)
    except BundleError as error:
        raise LookupError(str(error)) from error


def _predictions(given: str, targets: Mapping[str, Target]) -> tuple[Prediction, ...]:
    if given == "gold":
        without = sorted(name for name, target in targets.items() if target.gold is None)
        if without:
            typer.echo(
                f"{len(without)} tasks have no reference patch that can be read: {without[0]} …",
                err=True,
            )
        return tuple(
            Prediction(id=name, patch=target.gold, model="gold")
            for name, target in targets.items()
            if target.gold is not None
        )
    if given == "empty":
        return tuple(Prediction(id=name, patch="", model="empty") for name in targets)
    try:
        return read_predictions(Path(given).read_bytes().decode("utf-8", "surrogateescape"))
    except MalformedPredictionsError as error:
        raise LookupError(f"{given}: {error}") from error


def _entry(prediction: Prediction, target: Target, run: str, profile: str, reward: str, namespace: str) -> Entry:
    """Return the episode of a prediction; its name is made of the run, the task as it is named, the model and the patch."""
    patch = (prediction.patch or "").encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(patch).hexdigest()
    said = json.dumps([run, prediction.id, target.reference, prediction.model, digest, profile, reward])
    name = f"ev-{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
    stored = patch if len(patch) > INLINE_BYTES else b""
    manifest = {
        "apiVersion": api.API_VERSION,
        "kind": "AgentEpisode",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {LABEL: hashlib.sha256(run.encode()).hexdigest()[:40]},
            "annotations": {"assay.dev/task-id": prediction.id, RUN_ANNOTATION: run},
        },
        "spec": {
            **target.reference,
            "submission": _submission(patch) | {"model": prediction.model[:200]},
            "profile": profile,
            "reward": reward,
        },
    }
    return Entry(name=name, prediction=prediction, manifest=manifest, stored=stored)


def _submission(patch: bytes) -> dict[str, str]:
    if len(patch) > INLINE_BYTES:
        return {"digest": hashlib.sha256(patch).hexdigest()}
    try:
        return {"patch": patch.decode()}
    except UnicodeDecodeError:
        return {"patchBase64": base64.b64encode(patch).decode()}


async def _ended(
    client: Client, entries: Sequence[Entry], namespace: str, run: str
) -> dict[str, api.AgentEpisodeStatus | str]:
    """Apply the episodes that are not there and wait for all; an episode that the API server refuses has its words."""
    selector = f"{LABEL}={hashlib.sha256(run.encode()).hexdigest()[:40]}"
    ended: dict[str, api.AgentEpisodeStatus | str] = {}
    there = await _statuses(client, namespace, selector)
    waiting = asyncio.Semaphore(APPLIED_AT_ONCE)

    async def apply(entry: Entry) -> None:
        async with waiting:
            try:
                await client.apply(AGENT_EPISODES, namespace, entry.name, entry.manifest)
            except ApiError as error:
                if error.status not in (400, 413, 422):
                    raise
                ended[entry.name] = error.message

    missing = [entry for entry in entries if entry.name not in there]
    typer.echo(f"run {run}: {len(entries)} episodes, {len(entries) - len(missing)} of them there already", err=True)
    await asyncio.gather(*(apply(entry) for entry in missing))
    wanted = {entry.name: entry.prediction.id for entry in entries}
    with progress_bar(f"run {run}", len(entries)) as advance:
        while True:
            for name, status in (await _statuses(client, namespace, selector)).items():
                if name in wanted.keys() - ended.keys() and status.phase in FINAL:
                    ended[name] = status
                    advance(1)
                    reward = "not graded" if status.reward is None else f"reward {status.reward:g}"
                    typer.echo(f"{len(ended)}/{len(wanted)} {wanted[name]}: {reward}, {status.reason}", err=True)
            if ended.keys() >= wanted.keys():
                return ended
            await asyncio.sleep(POLL_SECONDS)


async def _statuses(client: Client, namespace: str, selector: str) -> dict[str, api.AgentEpisodeStatus]:
    found = {}
    async for page in client.pages(AGENT_EPISODES, namespace, selector=selector):
        for raw in page:
            found[raw["metadata"]["name"]] = api.AgentEpisodeStatus.model_validate(raw.get("status") or {})
    return found


async def _result(entry: Entry, ended: api.AgentEpisodeStatus | str, reader: Reader, store: str) -> Result:
    prediction = entry.prediction
    empty = not (prediction.patch or "").strip()
    if isinstance(ended, str):
        return Result(
            id=prediction.id, model=prediction.model, episode="", empty=empty, reason="Infrastructure", message=ended
        )
    submission = ended.submissions[0] if ended.submissions else None
    report = submission.report if submission else None
    content = await _artifact(report, reader, store) if report else None
    return Result(
        id=prediction.id,
        model=prediction.model,
        episode=entry.name,
        empty=empty,
        reason=ended.reason,
        message=ended.message,
        reward=ended.reward,
        resolved=ended.resolved,
        ignored=submission.ignored.count if submission else 0,
        tests=json.loads(content) if content else None,
    )


async def _document(reader: Reader, store: str, digest: str) -> bytes:
    return await _stored(digest, store) if store else await reader.document(digest)


async def _artifact(artifact: api.Artifact, reader: Reader, store: str) -> bytes:
    return await _stored(artifact.sha256, store) if store else await reader.artifact(artifact)


async def _stored(digest: str, store: str) -> bytes:
    try:
        return await asyncio.to_thread(Store(store).get, digest)
    except ArtifactLostError as lost:
        raise StoredError(str(lost)) from lost


def _write(
    folder: Path, run: str, profile: str, entries: Sequence[Entry], results: Sequence[Result], dataset: Sequence[str]
) -> None:
    """Write one report a task, one a model in SWE-bench's schema, and Assay's own.

    SWE-bench's readers take a task with a report for evaluated, so one that was not has none.
    """
    for entry, result in zip(entries, results, strict=True):
        place = folder / _file_name(result.model) / _file_name(result.id)
        place.mkdir(parents=True, exist_ok=True)
        patch = entry.prediction.patch
        if is_completed(result):
            _write_json(place / "report.json", instance_report(result, patch))
        (place / "patch.diff").write_bytes((patch or "").encode("utf-8", "surrogateescape"))
    folder.mkdir(parents=True, exist_ok=True)
    for model in sorted({result.model for result in results}):
        of_model = [result for result in results if result.model == model]
        _write_json(folder / report_name(model, run), run_report(of_model, dataset))
    own = own_report(results, dataset, profile=profile, run=run)
    _write_json(folder / OWN_REPORT, own)
    typer.echo(
        f"{own['resolved']} of {own['denominator']} resolved, {len(own['infrastructure'])} lost to the infrastructure;"
        f" reports in {folder}"
    )


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8", "surrogateescape")


def _file_name(text: str) -> str:
    """Return a name for a file: SWE-bench's own for its ids and models, never a path."""
    plain = text.replace("/", "__").replace("\0", "")
    return plain if len(plain) < 200 and plain not in ("", ".", "..") else hashlib.sha256(text.encode()).hexdigest()


def _own_report_file(path: Path) -> Path:
    return path / OWN_REPORT if path.is_dir() else path
