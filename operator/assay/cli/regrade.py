"""``assay regrade``: stored evidence read again under another profile or parser, without any pod."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import typer

from assay.api import v1alpha1 as api
from assay.cli.at_once import finished
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.documents import outcome_of_document
from assay.domain.outcomes import Artifact, RunOutcome
from assay.domain.profiles import PROFILES, profile_named
from assay.domain.regrading import is_known, read_again
from assay.domain.rules import verdict_of
from assay.domain.task import Refusal, task_from_spec

AT_ONCE = 16
LOOK_SECONDS = 1.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("regrade")(regrade)


def regrade(
    names: list[str] = typer.Argument(None, help="Names of TaskValidations; none: all that have a verdict."),
    profile: str = typer.Option("", help="Profile to judge by; default: each object's own."),
    parser: str = typer.Option(
        "", help="Parser to read the stored logs with; default: the stored results as they are."
    ),
    write: bool = typer.Option(
        False, "--write", help="Have the operator judge those that would change again, and wait for its verdicts."
    ),
    wait: float = typer.Option(600.0, min=1.0, help="Longest wait for the operator, in seconds."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Judge stored evidence again; shows what would change, and changes nothing without --write.

    With --write, the rules go into spec.regrade of the objects whose verdict would change. The operator, which alone writes
    verdicts, judges their evidence in the new generation. Exits 1 when it does not within --wait.

    Example: assay regrade --profile swebench-v5
    """
    rules = api.Regrade(profile=profile, parser=parser)
    if profile and profile_named(profile) is None:
        _fail(f"--profile: unknown {profile!r}; known: {', '.join(sorted(PROFILES))}")
    if not is_known(rules):
        _fail(f"--parser: unknown {parser!r}; `assay parsers` lists them")
    with told("regrade"):
        found = asyncio.run(_regraded(names or [], rules, wait if write else 0.0, namespace, service))
    if output is Output.TABLE:
        rows = [(one["name"], one["before"], one["after"], _word(one)) for one in found]
        typer.echo(aligned(("NAME", "VERDICT IN STATUS", "VERDICT NOW", ""), rows))
    else:
        typer.echo(printed(found, output))


def _fail(message: str) -> None:
    typer.echo(f"assay regrade: {message}", err=True)
    raise typer.Exit(2)


def _word(said: dict[str, Any]) -> str:
    return "written" if said["written"] else "changed" if said["changed"] else ""


async def _regraded(
    names: list[str], rules: api.Regrade, wait: float, namespace: str, service: str
) -> list[dict[str, Any]]:
    async with reader(namespace, service) as source:
        if names:
            objects = [await source.validation(name) for name in names]
        else:
            objects = [api.TaskValidation.model_validate(raw) async for raw in source.objects()]
        judged = [found for found in objects if found.status.verdict and found.status.report]
        said = [await _judged_again(source, found, rules) for found in judged]
        if wait:
            pairs = [(found, one) for found, one in zip(judged, said, strict=True) if one["changed"]]
            end = time.monotonic() + wait

            async def act(pair: tuple[api.TaskValidation, dict[str, Any]]) -> None:
                found, one = pair
                one["after"], one["written"] = await _written(source, found, rules, end), True

            async for _ in finished(AT_ONCE, act, pairs):
                pass
        return said


async def _written(source: Reader, found: api.TaskValidation, rules: api.Regrade, end: float) -> str:
    """Ask the operator to judge an object by other rules, and return its verdict.  ``LookupError`` when it is late."""
    name = found.metadata.name
    asked = await source.change(found, {"regrade": api.to_wire(rules)})
    while time.monotonic() < end:
        status = (await source.validation(name)).status
        judged = status.observed_generation >= asked.metadata.generation and status.verdict is not None
        if judged and (status.regrade or api.Regrade()) == rules:
            return f"{status.verdict} {status.reason}"
        await asyncio.sleep(LOOK_SECONDS)
    raise LookupError(f"{name}: the operator has not judged it again yet; spec.regrade stays, and it will")


async def _judged_again(source: Reader, found: api.TaskValidation, asked: api.Regrade) -> dict[str, Any]:
    status, spec = found.status, found.spec
    before_rules = status.regrade or api.Regrade()
    rules = profile_named(asked.profile or spec.profile)
    task = task_from_spec(await source.task(found))
    if isinstance(task, Refusal) or rules is None:
        raise LookupError(f"{found.metadata.name}: {task if isinstance(task, Refusal) else 'unknown profile'}")
    parser = asked.parser or task.parser
    reread = parser if asked.parser != before_rules.parser else ""
    outcomes = [await _outcome(source, run, reread) for run in status.runs if run.results]
    verdict = verdict_of(replace(task, parser=parser, checks=frozenset(spec.checks), scrub=spec.scrub), outcomes, rules)
    before, after = f"{status.verdict} {status.reason}", f"{verdict.kind} {verdict.reason}"
    lists = (verdict.tests.fail_to_pass, verdict.tests.pass_to_pass)
    counts = (status.tests.fail_to_pass.count, status.tests.pass_to_pass.count)
    return {
        "name": found.metadata.name,
        "before": before,
        "after": after,
        "changed": before != after or counts != tuple(map(len, lists)),
        "written": False,
        "failToPass": len(verdict.tests.fail_to_pass),
        "passToPass": len(verdict.tests.pass_to_pass),
    }


async def _outcome(source: Reader, run: api.RunStatus, parser: str) -> RunOutcome:
    """A run's stored outcome, its log read by another parser where one is asked for."""
    assert run.results is not None
    artifact = Artifact(uri=run.results.uri, sha256=run.results.sha256, bytes=run.results.bytes)
    outcome = outcome_of_document(await source.artifact(run.results), artifact)
    if not parser or run.log is None:
        return outcome
    return read_again(outcome, await source.artifact(run.log), parser)
