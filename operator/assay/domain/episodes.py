"""A given prediction's episode: what it is made of, its grade, its status.

Sandboxes have a module of their own.

An episode with ``spec.submission`` is one grading: the submission is filtered before any pod exists, run ``graded-1``
performs it, and the grade is final.  Nothing here names a held-out test: an agent may read an episode's status.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.decide import Knowledge, spent_in
from assay.domain.episode_size import fitted_episode
from assay.domain.grading import (
    Expectation,
    Grade,
    GradedList,
    GradeReason,
    RewardMode,
    failed_grade,
    grade_of,
    not_graded,
)
from assay.domain.outcomes import Artifact, RunOutcome
from assay.domain.patches import paths_of
from assay.domain.rules.finding import counted, printable
from assay.domain.status import (
    artifact_status,
    group_of,
    image_resolved,
    isolation_proven,
    merged_conditions,
    rfc3339,
    run_status,
)
from assay.domain.submissions import Applied, Refused, submission_of
from assay.domain.task import Refusal, Task

FINAL = frozenset(
    {api.EpisodePhase.FINISHED, api.EpisodePhase.EXPIRED, api.EpisodePhase.CANCELLED, api.EpisodePhase.FAILED}
)
"""Phases that an episode does not leave."""
CANCELLED = "the episode was cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """One submission and what it is graded against; ``diff`` is where its bytes are stored."""

    submission: Applied | Refused
    expected: Expectation
    mode: RewardMode
    number: int = 1
    diff: Artifact | None = None


def grading_of(content: bytes, task: Task, expected: Expectation, mode: RewardMode) -> Grading:
    """Return the grading of a submission's bytes."""
    return Grading(submission=submission_of(content, task), expected=expected, mode=mode)


def prediction_bytes(said: api.Submission) -> bytes | Refusal:
    """Return the bytes of an inline prediction, none for an empty one."""
    if said.patch_base64 is not None:
        try:
            return base64.b64decode("".join(said.patch_base64.split()), validate=True)
        except ValueError as error:
            return Refusal(field="spec.submission.patchBase64", why=f"is not base64: {error}")
    return (said.patch or "").encode("utf-8", "surrogatepass")


def episode_epoch(spec: api.AgentEpisodeSpec) -> str:
    """Return a short hash of what a spec says about its runs, as ``assay.domain.plan.epoch_of`` for validations."""
    said = spec.model_dump_json(by_alias=True, exclude={"suspend", "priority", "submit", "cancel"})
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def inline_expectation(task: Task) -> Expectation | Refusal:
    """Return what a task's own lists expect; an empty list of targets would reward anything."""
    if not task.fail_to_pass:
        return Refusal(
            field="spec.task.tests.failToPass",
            why="must list at least one test: without targets any patch solves the task",
        )
    return Expectation(fail_to_pass=task.fail_to_pass, pass_to_pass=task.pass_to_pass, shared=shares_paths(task))


def validated_expectation(task: Task, status: api.TaskValidationStatus, report: bytes) -> Expectation | Refusal:
    """Return what a Valid validation verified: lists from its report, names it knows besides, the patched runs' exits."""
    said: dict[str, Any] = json.loads(report)
    if not said["failToPass"]:
        return Refusal(field="spec.validation", why="its report lists no target test")
    known = {*said["flaky"], *said["unstable"], *said["excluded"]}
    exits = {
        (run.exit_code, run.counts.failed > 0)
        for run in status.runs
        if run.name.startswith("patched-") and run.exit_code is not None
    }
    return Expectation(
        fail_to_pass=tuple(said["failToPass"]),
        pass_to_pass=tuple(said["passToPass"]),
        tolerated=frozenset(known),
        reference_exits=frozenset(exits),
        shared=shares_paths(task),
    )


def shares_paths(task: Task) -> bool:
    """Whether the reference patch and the test patch touch a path in common."""
    return not set(paths_of(task.patch)).isdisjoint(paths_of(task.test_patch))


def early_grade(grading: Grading) -> Grade | None:
    """Return the grade that needs no run; None when it needs one."""
    if isinstance(grading.submission, Refused):
        return failed_grade(GradeReason.PATCH_REFUSED, f"the submission {grading.submission.why}")
    if grading.submission.diff:
        return None
    ignored = len(grading.submission.ignored)
    message = f"all that it changes is left out: {counted(ignored, 'path')}" if ignored else "the submission is empty"
    return failed_grade(GradeReason.NOTHING_SUBMITTED, message)


def grade_in(known: Knowledge, grading: Grading, infra_retries: int) -> Grade | None:
    """Return the grade that what is known decides; None while the run has to go on.

    Cancelling ends what is still under way, and takes no grade away.
    """
    early = early_grade(grading)
    if early:
        return early
    outcome = known.outcomes.get(known.plan.first.name)
    if outcome:
        return grade_of(grading.expected, outcome, known.profile, grading.mode)
    if known.cancelled:
        return not_graded(GradeReason.CANCELLED, CANCELLED)
    lost = spent_in(known, infra_retries)
    return not_graded(GradeReason.INFRASTRUCTURE, lost) if lost else None


def prediction_status(  # noqa: PLR0913 - each argument is one source of the status
    known: Knowledge,
    grading: Grading,
    *,
    generation: int,
    previous: api.AgentEpisodeStatus,
    grade: Grade | None,
    report: Artifact | None,
    platform: str,
    now: float,
) -> api.AgentEpisodeStatus:
    """Return the whole status of an accepted prediction; equal knowledge gives an equal status."""
    first = known.outcomes.get(known.plan.first.name)
    return api.AgentEpisodeStatus(
        phase=_phase(grade),
        reward=grade.reward if grade else None,
        resolved=grade.resolved if grade else None,
        reason=grade.reason if grade else "",
        message=printable(grade.message, 1000) if grade else "",
        image=api.ImageStatus(
            requested=known.task.image,
            digest=known.pinned or (first.image_id if first else ""),
            platform=platform if first else "",
        ),
        submissions=(submission_status(known, grading, previous, grade, report, now),),
        started_at=previous.started_at or rfc3339(now),
        completed_at=rfc3339(now) if grade else None,
        conditions=merged_conditions(previous.conditions, _conditions(known, grade), generation, now),
        observed_generation=generation,
    )


def sandbox_grading_status(  # noqa: PLR0913 - each argument is one source of the status
    known: Knowledge,
    grading: Grading,
    *,
    generation: int,
    previous: api.AgentEpisodeStatus,
    grade: Grade | None,
    report: Artifact | None,
    platform: str,
    now: float,
) -> api.AgentEpisodeStatus:
    """Return the status of an episode while a sandbox's submission is graded: all else stays as it was.

    A grade with a reward ends the episode; one without leaves it to the sandbox's next step.
    """
    entry = submission_status(known, grading, previous, grade, report, now)
    others = [said for said in previous.submissions if said.number != grading.number]
    changes: dict[str, Any] = {
        "phase": api.EpisodePhase.GRADING,
        "submissions": tuple(sorted((*others, entry), key=lambda said: said.number)),
        "observed_generation": generation,
    }
    if platform and not previous.image.platform:
        changes["image"] = previous.image.model_copy(update={"platform": platform})
    if grade and grade.graded:
        conditions = [condition for condition in _conditions(known, grade) if condition[0] in ("Complete", "Resolved")]
        kept = [
            (said.type, said.status, said.reason, said.message)
            for said in previous.conditions
            if said.type not in ("Complete", "Resolved")
        ]
        changes |= {
            "phase": api.EpisodePhase.FINISHED,
            "reward": grade.reward,
            "resolved": grade.resolved,
            "reason": grade.reason.value,
            "message": printable(grade.message, 1000),
            "completed_at": rfc3339(now),
            "endpoint": "",
            "conditions": merged_conditions(previous.conditions, [*kept, *conditions], generation, now),
        }
    return fitted_episode(previous.model_copy(update=changes))


def submission_status(  # noqa: PLR0913, PLR0917 - each argument is one source of the status
    known: Knowledge,
    grading: Grading,
    previous: api.AgentEpisodeStatus,
    grade: Grade | None,
    report: Artifact | None,
    now: float,
) -> api.SubmissionStatus:
    """Return the status of one submission."""
    run = known.plan.first.name
    offered = next((said.time for said in previous.submissions if said.number == grading.number), rfc3339(now))
    ran = run in known.outcomes or run in known.faults
    outcome = api.SubmissionOutcome.PENDING
    if grade:
        outcome = api.SubmissionOutcome.GRADED if grade.graded else api.SubmissionOutcome.NOT_GRADED
    ignored = grading.submission.ignored if isinstance(grading.submission, Applied) else ()
    return api.SubmissionStatus(
        number=grading.number,
        time=offered,
        outcome=outcome,
        reason=grade.reason if grade else "",
        message=printable(grade.message, 1000) if grade else "",
        reward=grade.reward if grade else None,
        diff=artifact_status(grading.diff),
        fail_to_pass=_rate(grade.fail_to_pass) if grade else api.Rate(),
        pass_to_pass=_rate(grade.pass_to_pass) if grade else api.Rate(),
        ignored=group_of([str(one) for one in ignored]),
        run=run_status(run, known.outcomes.get(run), known.faults.get(run, ())) if ran else None,
        report=artifact_status(report),
    )


def refused_episode(
    refusal: Refusal, *, generation: int, previous: api.AgentEpisodeStatus, now: float
) -> api.AgentEpisodeStatus:
    """Return the status of an episode whose spec cannot be worked on: final, without a reward, the field named."""
    message = printable(str(refusal), 2000)
    found = [
        ("Accepted", "False", "MalformedTask", message),
        ("Complete", "True", "Refused", "no run was made"),
        ("Resolved", "Unknown", "MalformedTask", message),
    ]
    return api.AgentEpisodeStatus(
        phase=api.EpisodePhase.FAILED,
        reason="MalformedTask",
        message=message,
        completed_at=rfc3339(now),
        conditions=merged_conditions(previous.conditions, found, generation, now),
        observed_generation=generation,
    )


def cancelled_episode(*, generation: int, previous: api.AgentEpisodeStatus, now: float) -> api.AgentEpisodeStatus:
    """Return the status of an episode that was cancelled before its task was at hand: final, without a reward."""
    reason = GradeReason.CANCELLED.value
    found = [("Complete", "True", "NotGraded", CANCELLED), ("Resolved", "Unknown", reason, CANCELLED)]
    changes = {
        "phase": api.EpisodePhase.CANCELLED,
        "reason": reason,
        "message": CANCELLED,
        "completed_at": rfc3339(now),
        "conditions": merged_conditions(previous.conditions, found, generation, now),
        "observed_generation": generation,
    }
    return previous.model_copy(update=changes)


def waiting_episode(  # noqa: PLR0913 - a condition's parts
    condition: str, reason: str, message: str, *, generation: int, previous: api.AgentEpisodeStatus, now: float
) -> api.AgentEpisodeStatus:
    """Return the status of an episode that waits for something outside of it, which a condition names."""
    found = [
        (condition, "False" if condition != "Accepted" else "Unknown", reason, message),
        ("Complete", "False", reason, "the episode has not begun"),
        ("Resolved", "Unknown", reason, "nothing is graded yet"),
    ]
    return previous.model_copy(update={"conditions": merged_conditions(previous.conditions, found, generation, now)})


def grade_document(task_id: str, profile: str, grading: Grading, grade: Grade, outcome: RunOutcome | None) -> bytes:
    """Return the whole grade as JSON: every listed test, what was left out, and the evidence it stands on."""
    applied = grading.submission if isinstance(grading.submission, Applied) else None
    said = {
        "format": 1,
        "task": task_id,
        "profile": profile,
        "mode": grading.mode.value,
        "reason": grade.reason.value,
        "message": grade.message,
        "reward": grade.reward,
        "resolved": grade.resolved,
        "notes": grade.notes,
        "failToPass": _list_document(grade.fail_to_pass),
        "passToPass": _list_document(grade.pass_to_pass),
        "ignored": [{"path": str(one), "why": one.why.value} for one in applied.ignored] if applied else [],
        "applied": [path.decode("utf-8", "surrogateescape") for path in applied.paths] if applied else [],
        "diff": asdict(grading.diff) if grading.diff else None,
        "run": {
            "name": outcome.run.name,
            "outcome": outcome.kind.value,
            "exitCode": outcome.exit_code,
            "imageId": outcome.image_id,
            "log": asdict(outcome.log) if outcome.log else None,
            "results": asdict(outcome.results_artifact) if outcome.results_artifact else None,
        }
        if outcome
        else None,
    }
    return json.dumps(said, sort_keys=True).encode()


def _list_document(graded: GradedList) -> list[dict[str, str]]:
    return [{"name": test.name, "standing": test.standing.value, "credit": test.credit.value} for test in graded.tests]


def _phase(grade: Grade | None) -> api.EpisodePhase:
    if grade is None:
        return api.EpisodePhase.GRADING
    if grade.reason is GradeReason.CANCELLED:
        return api.EpisodePhase.CANCELLED
    return api.EpisodePhase.FINISHED if grade.graded else api.EpisodePhase.FAILED


def _rate(graded: GradedList) -> api.Rate:
    return api.Rate(passed=graded.passed, total=graded.total)


def _conditions(known: Knowledge, grade: Grade | None) -> list[tuple[str, str, str, str]]:
    found = [
        ("Accepted", "True", "TaskAccepted", "the spec is a task and a submission"),
        ("ImageResolved", *image_resolved(known)),
        ("NetworkIsolationVerified", *isolation_proven(known)),
    ]
    if grade:
        resolved = {True: "True", False: "False", None: "Unknown"}[grade.resolved]
        found.append(("Complete", "True", "Graded" if grade.graded else "NotGraded", grade.message))
        found.append(("Resolved", resolved, grade.reason.value, grade.message))
    else:
        reason = "Suspended" if known.suspended else "RunsPending"
        found.append(("Complete", "False", reason, "the grading run is not finished"))
        found.append(("Resolved", "Unknown", reason, "nothing is graded yet"))
    return found
