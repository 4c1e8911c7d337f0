"""What the artifact store keeps beside logs: one JSON document a run, one a verdict.

Names are kept byte for byte: bytes that are not UTF-8 are lone surrogates, which JSON holds as escapes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.domain.inspection import HeldModule, Inspection
from assay.domain.outcomes import Artifact, BasePlace, CommandResult, Isolation, OutcomeKind, RunOutcome
from assay.domain.plan import Run, RunKind
from assay.domain.verdict import Verdict

FORMAT = 1


def outcome_document(outcome: RunOutcome) -> bytes:
    """Return a run's outcome as JSON, all that a verdict needs of it."""
    said = {
        "format": FORMAT,
        "run": {"kind": outcome.run.kind.value, "number": outcome.run.number},
        "attempt": outcome.attempt,
        "kind": outcome.kind.value,
        "message": outcome.message,
        "commands": [asdict(command) for command in outcome.commands],
        "results": dict(outcome.results),
        "contradicted": outcome.contradicted,
        "oomKills": outcome.oom_kills,
        "truncated": outcome.truncated,
        "networkHints": outcome.network_hints,
        "dirtyPaths": outcome.dirty_paths,
        "base": outcome.base.value,
        "isolation": asdict(outcome.isolation),
        "inspection": asdict(outcome.inspection) if outcome.inspection else None,
        "imageId": outcome.image_id,
        "queueSeconds": outcome.queue_seconds,
        "startSeconds": outcome.start_seconds,
        "log": asdict(outcome.log) if outcome.log else None,
    }
    return json.dumps(said, sort_keys=True).encode()


def outcome_of_document(content: bytes, artifact: Artifact) -> RunOutcome:
    """Return the outcome of a stored document; ``artifact`` is where it came from."""
    said: dict[str, Any] = json.loads(content)
    return RunOutcome(
        run=Run(kind=RunKind(said["run"]["kind"]), number=said["run"]["number"]),
        attempt=said["attempt"],
        kind=OutcomeKind(said["kind"]),
        message=said["message"],
        commands=tuple(CommandResult(**command) for command in said["commands"]),
        results=said["results"],
        contradicted=tuple(said.get("contradicted") or ()),
        oom_kills=said["oomKills"],
        truncated=said["truncated"],
        network_hints=tuple(said["networkHints"]),
        dirty_paths=tuple(said["dirtyPaths"]),
        base=BasePlace(said.get("base") or ""),
        isolation=Isolation(**said["isolation"]),
        inspection=_inspection(said.get("inspection")),
        image_id=said["imageId"],
        queue_seconds=float(said.get("queueSeconds") or 0.0),
        start_seconds=float(said.get("startSeconds") or 0.0),
        log=Artifact(**said["log"]) if said["log"] else None,
        results_artifact=artifact,
    )


def _inspection(said: dict[str, Any] | None) -> Inspection | None:
    if said is None:
        return None
    modules = tuple(HeldModule(**held) for held in said["modules"])
    lists = {name: tuple(said.get(name, ())) for name in ("missing", "cut", "history", "own_modules", "toolchains")}
    return Inspection(**{**said, **lists, "modules": modules})


def report_document(task_id: str, verdict: Verdict, outcomes: Sequence[RunOutcome]) -> bytes:
    """Return the whole verdict as JSON: every list in full, every rule's finding, and the evidence it stands on."""
    lists = verdict.tests
    said = {
        "format": FORMAT,
        "task": task_id,
        "verdict": verdict.kind.value,
        "reason": verdict.reason.value,
        "message": verdict.message,
        "details": [{"reason": reason.value, "message": message} for reason, message in verdict.details],
        "failToPass": lists.fail_to_pass,
        "passToPass": lists.pass_to_pass,
        "flaky": dict(lists.flaky),
        "unstable": lists.unstable,
        "excluded": dict(lists.excluded),
        "newTargets": lists.new_targets,
        "runs": [
            {
                "name": outcome.run.name,
                "outcome": outcome.kind.value,
                "exitCode": outcome.exit_code,
                "imageId": outcome.image_id,
                "log": asdict(outcome.log) if outcome.log else None,
                "results": asdict(outcome.results_artifact) if outcome.results_artifact else None,
            }
            for outcome in outcomes
        ],
    }
    return json.dumps(said, sort_keys=True).encode()
