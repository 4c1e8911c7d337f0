"""``assay regrade``: stored evidence read again under another profile or parser, without any pod."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import typer

from assay.api import v1alpha1 as api
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.documents import outcome_of_document
from assay.domain.logs import ParseFailed, parse_log
from assay.domain.outcomes import Artifact, OutcomeKind, RunOutcome
from assay.domain.profiles import PROFILES, profile_named
from assay.domain.rules import verdict_of
from assay.domain.task import Refusal, task_from_spec

READABLE = frozenset({OutcomeKind.FINISHED, OutcomeKind.TEST_TIMEOUT, OutcomeKind.PARSE_FAILED})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("regrade")(regrade)


def regrade(
    names: list[str] = typer.Argument(None, help="Names of TaskValidations; none: all that have a verdict."),
    profile: str = typer.Option("", help="Profile to judge by; default: each object's own."),
    parser: str = typer.Option(
        "", help="Parser to read the stored logs with; default: the stored results as they are."
    ),
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Judge stored evidence again; shows what would change, and changes nothing.

    Example: assay regrade --profile swebench-v5
    """
    if profile and profile_named(profile) is None:
        typer.echo(f"assay regrade: --profile: unknown {profile!r}; known: {', '.join(sorted(PROFILES))}", err=True)
        raise typer.Exit(2)
    with told("regrade"):
        found = asyncio.run(_regraded(names or [], profile, parser, namespace, service))
    if output is Output.TABLE:
        rows = [(one["name"], one["before"], one["after"], "changed" if one["changed"] else "") for one in found]
        typer.echo(aligned(("NAME", "VERDICT IN STATUS", "VERDICT NOW", ""), rows))
    else:
        typer.echo(printed(found, output))


async def _regraded(names: list[str], profile: str, parser: str, namespace: str, service: str) -> list[dict[str, Any]]:
    async with reader(namespace, service) as source:
        if names:
            objects = [await source.validation(name) for name in names]
        else:
            objects = [api.TaskValidation.model_validate(raw) async for raw in source.objects()]
        return [
            await _judged_again(source, found, profile, parser)
            for found in objects
            if found.status.verdict and found.status.report
        ]


async def _judged_again(source: Reader, found: api.TaskValidation, profile: str, parser: str) -> dict[str, Any]:
    status, spec = found.status, found.spec
    rules = profile_named(profile or spec.profile)
    task = task_from_spec(spec.task) if spec.task else Refusal(field="spec.taskFrom", why="the task is in a bundle")
    if isinstance(task, Refusal) or rules is None:
        raise LookupError(f"{found.metadata.name}: {task if isinstance(task, Refusal) else 'unknown profile'}")
    outcomes = [await _outcome(source, run, parser) for run in status.runs if run.results]
    verdict = verdict_of(replace(task, parser=parser or task.parser), outcomes, rules)
    before, after = f"{status.verdict} {status.reason}", f"{verdict.kind} {verdict.reason}"
    return {
        "name": found.metadata.name,
        "before": before,
        "after": after,
        "changed": before != after,
        "failToPass": len(verdict.tests.fail_to_pass),
        "passToPass": len(verdict.tests.pass_to_pass),
    }


async def _outcome(source: Reader, run: api.RunStatus, parser: str) -> RunOutcome:
    """A run's stored outcome, its log read by another parser where one is asked for."""
    assert run.results is not None
    artifact = Artifact(uri=run.results.uri, sha256=run.results.sha256, bytes=run.results.bytes)
    outcome = outcome_of_document(await source.artifact(run.results), artifact)
    if not parser or run.log is None or outcome.kind not in READABLE:
        return outcome
    text = (await source.artifact(run.log)).decode("utf-8", "surrogateescape")
    try:
        results = parse_log(parser, text)
    except ParseFailed as failed:
        return replace(outcome, kind=OutcomeKind.PARSE_FAILED, message=str(failed), results={})
    kind = OutcomeKind.FINISHED if outcome.kind is OutcomeKind.PARSE_FAILED else outcome.kind
    return replace(outcome, kind=kind, results=results)
