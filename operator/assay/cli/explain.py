"""``assay explain``: why this verdict, with the tests that decided and what the logs say of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import typer

from assay.api import v1alpha1 as api
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Reader, Service, reader, told
from assay.cli.tables import Output, OutputOption, aligned, printed
from assay.domain.explanations import deciding_tests, excerpt
from assay.domain.status import BASE_FOUND


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    name: str = typer.Argument(help="Name of the TaskValidation."),
    namespace: Namespace = DEFAULT_NAMESPACE,
    excerpts: int = typer.Option(2, help="Tests to show log excerpts of."),
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Explain a verdict: its runs, the tests that decided, and what the logs say of them.

    Example: assay explain demo-valid
    """
    with told("explain"):
        said = asyncio.run(_explained(name, namespace, service, excerpts))
    typer.echo(_text(said) if output is Output.TABLE else printed(said, output))


async def _explained(name: str, namespace: str, service: str, excerpts: int) -> dict[str, Any]:
    async with reader(namespace, service) as source:
        found = await source.validation(name)
        status = found.status
        report = json.loads(await source.artifact(status.report)) if status.report else {}
        results = {run.name: await source.results(run) for run in status.runs}
        tests = deciding_tests(report, {run: words for run, words in results.items() if words})
        return {
            "name": name,
            "verdict": status.verdict,
            "reason": status.reason,
            "message": status.message,
            "image": status.image.digest,
            "remarks": [one.message for one in status.conditions if (one.type, one.status) == (BASE_FOUND, "False")],
            "runs": [_run(run) for run in status.runs],
            "findings": report.get("details") or [],
            "tests": [{"name": test.name, "why": test.why, "statuses": dict(test.statuses)} for test in tests],
            "excerpts": await _excerpts(source, status, [test.name for test in tests[:excerpts]]),
        }


def _run(run: api.RunStatus) -> dict[str, Any]:
    return {
        "name": run.name,
        "attempt": run.attempt,
        "outcome": run.outcome,
        "exitCode": run.exit_code,
        "seconds": run.duration_seconds,
        "counts": run.counts.model_dump(),
        "log": run.log.sha256 if run.log else None,
        "faults": [f"{fault.reason}: {fault.message}" for fault in run.faults],
    }


async def _excerpts(source: Reader, status: api.TaskValidationStatus, names: list[str]) -> list[dict[str, Any]]:
    """Excerpts of the first run's log and of the last one's: the states before and after."""
    logged = [run for run in status.runs if run.log]
    found = []
    for run in {run.name: run for run in (logged[:1] + logged[-1:])}.values():
        assert run.log is not None
        log = (await source.artifact(run.log)).decode("utf-8", "replace")
        found += [{"run": run.name, "test": name, "lines": list(excerpt(log, name))} for name in names]
    return [entry for entry in found if entry["lines"]]


def _text(said: dict[str, Any]) -> str:
    parts = [f"{said['name']}: {said['verdict'] or 'no verdict yet'} {said['reason']}".rstrip()]
    parts += [f"  {said['message']}"] if said["message"] else []
    parts += ["", f"image  {said['image'] or 'not known yet'}"]
    parts += [*(f"remark: {remark}" for remark in said["remarks"]), ""]
    rows = [
        (
            run["name"],
            run["attempt"],
            run["outcome"],
            "" if run["exitCode"] is None else run["exitCode"],
            f"{run['seconds']:.1f}",
            *run["counts"].values(),
            (run["log"] or "")[:12],
        )
        for run in said["runs"]
    ]
    parts.append(
        aligned(
            ("RUN", "ATTEMPT", "OUTCOME", "EXIT", "SECONDS", "PASSED", "FAILED", "SKIPPED", "OTHER", "LOG SHA-256"),
            rows,
        )
    )
    parts += [f"  {run['name']} lost an attempt: {fault}" for run in said["runs"] for fault in run["faults"]]
    if said["findings"]:
        parts += ["", "Findings"]
        parts += [f"  {finding['reason']}: {finding['message']}" for finding in said["findings"]]
    if said["tests"]:
        runs = list(said["tests"][0]["statuses"])
        rows = [(test["name"], test["why"], *test["statuses"].values()) for test in said["tests"]]
        parts += ["", aligned(("TEST", "WHY", *(run.upper() for run in runs)), rows)]
    for entry in said["excerpts"]:
        parts += ["", f"{entry['run']} on {entry['test']}", *(f"  | {line}" for line in entry["lines"])]
    return "\n".join(parts)
