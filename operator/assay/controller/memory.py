"""What the operator holds of an object while it works on it, and how it comes back after a restart.

All of it can be rebuilt: the task from the spec, finished runs from the status and the artifact store, the others from
their pods, which are not deleted before the status tells what they said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.domain.decide import FaultRecord, next_attempt
from assay.domain.documents import outcome_document, outcome_of_document
from assay.domain.episodes import Grading
from assay.domain.manifests import InputFile, Owner
from assay.domain.outcomes import Artifact, FaultKind, RunOutcome
from assay.domain.plan import RunPlan, epoch_of, plan_runs
from assay.domain.pods import PodView
from assay.domain.profiles import Profile
from assay.domain.regrading import read_again, regrade_of
from assay.domain.screening import Dropped, screened
from assay.domain.status import PENDING
from assay.domain.task import Limits, Refusal, Task, limits_of, limits_with_checks, profile_of, task_from_spec
from assay.store.artifacts import Store


@dataclass(slots=True, kw_only=True)
class Memory:
    """One object that is being worked on; ``files`` are its inputs, once their Secrets are written.

    ``decision`` is the one on its statement that it was made with, ``regrade`` the other rules that it is judged by.  ``grading`` is that of an episode; None for a validation.  ``sandboxed``: its submission came out of a sandbox.
    """

    owner: Owner
    task: Task
    limits: Limits
    plan: RunPlan
    profile: Profile
    provenance: api.Provenance | None = None
    dropped: Dropped | None = None
    decision: str = ""
    regrade: api.Regrade | None = None
    status: api.TaskValidationStatus | api.AgentEpisodeStatus
    grading: Grading | None = None
    sandboxed: bool = False
    files: tuple[InputFile, ...] = ()
    outcomes: dict[str, RunOutcome] = field(default_factory=dict)
    faults: dict[str, tuple[FaultRecord, ...]] = field(default_factory=dict)
    committed: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    pinned: str = ""
    platform: str = ""
    seen: dict[str, PodView] = field(default_factory=dict)
    """The latest pod of each run that was made or seen."""


def memory_of(
    raw: Mapping[str, Any], bundled: api.Task | None = None, *, review_required: bool = False
) -> Memory | Refusal:
    """Return a fresh memory of an object's JSON, or the field that keeps it from being worked on.

    ``bundled`` is the task that ``spec.taskFrom`` refers to.
    """
    try:
        spec = api.TaskValidationSpec.model_validate(raw.get("spec") or {})
    except ValidationError as error:
        return refusal_of(error)
    given = bundled or spec.task
    if given is None:
        return Refusal(field="spec.task", why="one of task and taskFrom must be given")
    regrade = regrade_of(spec.regrade)
    rules = spec.model_copy(update={"profile": regrade.profile or spec.profile})
    task, limits, profile = task_from_spec(given), limits_of(spec), profile_of(rules)
    if isinstance(task, Refusal):
        return task
    if isinstance(limits, Refusal):
        return limits
    if isinstance(profile, Refusal):
        return profile
    metadata = raw["metadata"]
    return Memory(
        owner=Owner(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"], epoch=epoch_of(spec)),
        task=replace(task, checks=frozenset(spec.checks), scrub=spec.scrub, parser=regrade.parser or task.parser),
        limits=limits_with_checks(limits, spec.checks),
        plan=plan_runs(spec.runs, spec.checks),
        profile=profile,
        provenance=spec.provenance,
        regrade=regrade if regrade != api.Regrade() else None,
        decision=spec.statement_review.decision if spec.statement_review else "",
        dropped=screened(spec.statement_review, given.statement, required=review_required),
        status=status_from(raw),
    )


def refusal_of(error: ValidationError) -> Refusal:
    """Return the first field of a spec that is not as the API has it."""
    path, why = api.first_error(error)
    return Refusal(field=f"spec.{path}", why=why)


def runs_in(status: api.TaskValidationStatus | api.AgentEpisodeStatus) -> tuple[api.RunStatus, ...]:
    """Return the runs that a status tells of."""
    if isinstance(status, api.TaskValidationStatus):
        return status.runs
    return tuple(submission.run for submission in status.submissions if submission.run)


def status_from(raw: Mapping[str, Any]) -> api.TaskValidationStatus:
    """Return the status of an object's JSON; one that does not parse is as none."""
    try:
        return api.TaskValidationStatus.model_validate(raw.get("status") or {})
    except ValidationError:
        return api.TaskValidationStatus()


async def restore(memory: Memory, store: Store) -> None:
    """Fill a memory with what its object's status tells of earlier work.  ``ArtifactLostError`` when the store lost it."""
    runs = {run.name: run for run in memory.plan.runs}
    reread = is_read_otherwise(memory)
    for entry in runs_in(memory.status):
        if entry.name not in runs:
            continue
        if entry.faults:
            memory.faults[entry.name] = tuple(
                FaultRecord(attempt=fault.attempt, kind=FaultKind(fault.reason), message=fault.message, at=0.0)
                for fault in entry.faults
            )
        if entry.outcome == PENDING or entry.results is None:
            continue
        artifact = Artifact(uri=entry.results.uri, sha256=entry.results.sha256, bytes=entry.results.bytes)
        content = await asyncio.to_thread(store.get, artifact.sha256)
        outcome = outcome_of_document(content, artifact)
        if outcome.log and reread:
            outcome = await asyncio.to_thread(_read_again, outcome, store, memory.task.parser)
        memory.outcomes[entry.name] = outcome
    memory.committed = frozenset(memory.outcomes)
    if memory.outcomes and "@sha256:" in memory.status.image.digest:
        memory.pinned = memory.status.image.digest
    memory.platform = memory.status.image.platform


def vanished(memory: Memory, present: Sequence[PodView]) -> list[PodView]:
    """Note the pods that are there; return those that were, and are gone before their runs had an outcome or a fault."""
    for pod in present:
        if pod.run not in memory.seen or memory.seen[pod.run].attempt <= pod.attempt:
            memory.seen[pod.run] = pod
    there = {pod.uid for pod in present}
    return [
        pod
        for run, pod in memory.seen.items()
        if pod.uid not in there
        and run not in memory.outcomes
        and pod.attempt == next_attempt(memory.faults.get(run, ()))
    ]


def is_read_otherwise(memory: Memory) -> bool:
    """Whether the stored results were read by another parser than the one asked for now."""
    if not isinstance(memory.status, api.TaskValidationStatus):
        return False
    judged, asked = memory.status.regrade or api.Regrade(), memory.regrade or api.Regrade()
    return judged.parser != asked.parser


def _read_again(outcome: RunOutcome, store: Store, parser: str) -> RunOutcome:
    """Read a run's stored log by a parser, and store what it says."""
    assert outcome.log is not None
    found = read_again(outcome, store.get(outcome.log.sha256), parser)
    return replace(found, results_artifact=store.put(outcome_document(found)))
