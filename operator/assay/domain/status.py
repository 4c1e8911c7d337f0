"""Verdict, outcomes and faults -> the object's status: counts, digests and the first few names, never whole lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from assay.api import v1alpha1 as api
from assay.domain.decide import FaultRecord, Knowledge, next_attempt
from assay.domain.outcomes import Artifact, BasePlace, FaultKind, OutcomeKind, RunOutcome
from assay.domain.screening import Dropped
from assay.domain.status_size import fitted
from assay.domain.task import Refusal
from assay.domain.verdict import Reason, Verdict

FIRST_NAMES = 5
NAME_CHARS = 200
MAX_FAULTS = 5
PASSED = frozenset({"PASSED", "XFAIL"})
FAILED = frozenset({"FAILED", "ERROR"})
PENDING = "Pending"
"""Outcome of a run that has lost attempts and no outcome yet."""


TASK_UNAVAILABLE = "TaskUnavailable"
"""The artifact store does not give the task that ``spec.taskFrom`` refers to: not pushed yet, or out of reach."""
BASE_FOUND = "BaseCommitFound"
BASES = {
    BasePlace.HEAD: ("True", "AtHead", "the image's work tree stands at the base commit"),
    BasePlace.ANCESTOR: ("True", "BelowHead", "the image's work tree stands at a commit on top of the base commit"),
    BasePlace.OTHER: ("False", "OtherHistory", "the image has the base commit, but its work tree's history does not"),
    BasePlace.ABSENT: ("False", "NotInImage", "the image's repository does not have the base commit"),
}
"""Status, reason and message of the condition by where the base commit lies."""


def rfc3339(now: float) -> str:
    """Return epoch seconds as the API writes times."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(  # noqa: PLR0913 - each argument is one source of the status
    known: Knowledge,
    *,
    generation: int,
    previous: api.TaskValidationStatus,
    verdict: Verdict | None,
    report: Artifact | None,
    platform: str,
    provenance: api.Provenance | None = None,
    now: float,
) -> api.TaskValidationStatus:
    """Return the whole status of an accepted object; equal knowledge gives an equal status."""
    first = known.outcomes.get(known.plan.first.name)
    digest = known.pinned or (first.image_id if first else "")
    started = previous.started_at or first_pod_at(known)
    phase = api.Phase.COMPLETE if verdict else (api.Phase.RUNNING if started else api.Phase.PENDING)
    status = api.TaskValidationStatus(
        phase=phase,
        verdict=verdict.kind if verdict else None,
        reason=verdict.reason if verdict else "",
        message=printable(verdict.message)[:2000] if verdict else "",
        provenance=provenance,
        image=api.ImageStatus(requested=known.task.image, digest=digest, platform=platform if first else ""),
        tests=_tests(verdict) if verdict else api.TestsStatus(),
        runs=tuple(
            run_status(run.name, known.outcomes.get(run.name), known.faults.get(run.name, ()))
            for run in known.plan.runs
            if run.name in known.outcomes or run.name in known.faults
        ),
        report=artifact_status(report),
        started_at=started,
        completed_at=rfc3339(now) if verdict else None,
        conditions=_conditions(known, verdict, previous.conditions, generation, now),
        observed_generation=generation,
    )
    return fitted(status)


def first_pod_at(known: Knowledge) -> str | None:
    """Return when the earliest of the pods that are there was made; None without one."""
    created = [attempt.pod.created for attempt in known.attempts]
    return rfc3339(min(created)) if created else None


def refused_status(
    refusal: Refusal, *, generation: int, previous: api.TaskValidationStatus, now: float
) -> api.TaskValidationStatus:
    """Return the status of an object whose spec is not a task: a drop like any other, with the field named."""
    message = printable(str(refusal))[:2000]
    found = [
        ("Accepted", "False", Reason.MALFORMED_TASK.value, message),
        ("Complete", "True", "Refused", "no run was made"),
        ("Valid", "False", Reason.MALFORMED_TASK.value, message),
    ]
    return api.TaskValidationStatus(
        phase=api.Phase.COMPLETE,
        verdict=api.Verdict.INVALID,
        reason=Reason.MALFORMED_TASK,
        message=message,
        completed_at=rfc3339(now),
        conditions=merged_conditions(previous.conditions, found, generation, now),
        observed_generation=generation,
    )


def dropped_status(
    dropped: Dropped,
    *,
    provenance: api.Provenance | None,
    generation: int,
    previous: api.TaskValidationStatus,
    now: float,
) -> api.TaskValidationStatus:
    """Return the status of a task that is dropped before its first run, or for its statement's sake after its runs.

    What the runs have shown stays: the task may be taken up again.
    """
    message = printable(dropped.message)[:2000]
    found = [
        ("Accepted", "True", "TaskAccepted", "the spec is a task"),
        ("Complete", "True", "Dropped", "the task is dropped without a look at its tests"),
        ("Valid", "False", dropped.reason.value, message),
    ]
    return previous.model_copy(
        update={
            "phase": api.Phase.COMPLETE,
            "verdict": api.Verdict.INVALID,
            "reason": dropped.reason.value,
            "message": message,
            "provenance": provenance,
            "completed_at": rfc3339(now),
            "conditions": merged_conditions(previous.conditions, found, generation, now),
            "observed_generation": generation,
        }
    )


def reopened_status(previous: api.TaskValidationStatus) -> api.TaskValidationStatus:
    """Return the status of a task that was dropped before its runs and may be run now: what had been run is kept."""
    gone = {"phase": api.Phase.PENDING, "verdict": None, "reason": "", "message": "", "completed_at": None}
    return previous.model_copy(update=gone | {"observed_generation": 0})


def unavailable_status(
    why: str, *, generation: int, previous: api.TaskValidationStatus, now: float
) -> api.TaskValidationStatus:
    """Return the status of an object whose task the artifact store does not give yet: no verdict, it is tried again."""
    found = [("Accepted", "Unknown", TASK_UNAVAILABLE, why)]
    return previous.model_copy(update={"conditions": merged_conditions(previous.conditions, found, generation, now)})


def merged_conditions(
    previous: Iterable[api.Condition], found: Sequence[tuple[str, str, str, str]], generation: int, now: float
) -> tuple[api.Condition, ...]:
    """Return the conditions (type, status, reason, message), keeping the time of those whose status did not change."""
    before: Mapping[str, api.Condition] = {condition.type: condition for condition in previous}
    merged = []
    for kind, status, reason, message in found:
        old = before.get(kind)
        changed = old.last_transition_time if old and old.status == status else rfc3339(now)
        merged.append(
            api.Condition.model_validate(
                {
                    "type": kind,
                    "status": status,
                    "reason": reason,
                    "message": printable(message)[:2000],
                    "lastTransitionTime": changed,
                    "observedGeneration": generation,
                }
            )
        )
    return tuple(merged)


def _conditions(
    known: Knowledge, verdict: Verdict | None, previous: Iterable[api.Condition], generation: int, now: float
) -> tuple[api.Condition, ...]:
    found = [
        ("Accepted", "True", "TaskAccepted", "the spec is a task"),
        ("ImageResolved", *image_resolved(known)),
        ("NetworkIsolationVerified", *isolation_proven(known)),
        *base_found(known),
    ]
    if verdict:
        found.append(("Complete", "True", "VerdictReached", verdict.message))
        valid = {api.Verdict.VALID: "True", api.Verdict.INVALID: "False", api.Verdict.INCONCLUSIVE: "Unknown"}[
            verdict.kind
        ]
        found.append(("Valid", valid, verdict.reason.value, verdict.message))
    else:
        reason = "Suspended" if known.suspended else "RunsPending"
        done = len(known.outcomes)
        found.append(("Complete", "False", reason, f"{done} of {len(known.plan.runs)} runs are finished"))
        found.append(("Valid", "Unknown", reason, "no verdict yet"))
    return merged_conditions(previous, found, generation, now)


def image_resolved(known: Knowledge) -> tuple[str, str, str]:
    """Return status, reason and message of ImageResolved."""
    first = known.outcomes.get(known.plan.first.name)
    if known.pinned:
        return "True", "Pinned", f"every run uses {known.pinned}"
    if first and first.kind in (OutcomeKind.IMAGE_UNAVAILABLE, OutcomeKind.PLATFORM_MISMATCH):
        return "False", first.kind.value, first.message
    if first and first.image_id:
        return "True", "ImageIdentifier", f"the node knows the image as {first.image_id}, which no registry serves"
    return "Unknown", "FirstRunPending", "the first run tells the digest"


def base_found(known: Knowledge) -> tuple[tuple[str, str, str, str], ...]:
    """Return the condition that says where the base commit lies in the image, none before a run has told it.

    It decides nothing: a set's images may well be made without their repository's history.
    """
    told = next((outcome.base for outcome in known.outcomes.values() if outcome.base), BasePlace.UNKNOWN)
    return ((BASE_FOUND, *BASES[told]),) if told in BASES else ()


def isolation_proven(known: Knowledge) -> tuple[str, str, str]:
    """Return status, reason and message of NetworkIsolationVerified."""
    proven = [outcome for outcome in known.outcomes.values() if outcome.isolation.targets]
    faults = [fault for records in known.faults.values() for fault in records]
    shut = [fault for fault in faults if fault.kind in (FaultKind.ISOLATION_UNAVAILABLE, FaultKind.ISOLATION_LEAK)]
    latest = max((fault.at for fault in shut), default=0.0)
    if shut and not proven:
        leading = next(fault for fault in shut if fault.at == latest)
        reason = "PolicyNotEnforced" if leading.kind is FaultKind.ISOLATION_UNAVAILABLE else "IsolationLeak"
        return "False", reason, leading.message
    if proven:
        targets, samples = min(run.isolation.targets for run in proven), sum(run.isolation.samples for run in proven)
        return "True", "Proven", f"{targets} targets were out of reach in each of {len(proven)} runs, {samples} samples"
    return "Unknown", "NoRunYet", "each run proves its isolation before its first test"


def _tests(verdict: Verdict) -> api.TestsStatus:
    lists = verdict.tests
    return api.TestsStatus(
        fail_to_pass=group_of(lists.fail_to_pass),
        pass_to_pass=group_of(lists.pass_to_pass),
        flaky=group_of([name for name, _ in lists.flaky]),
        unstable=group_of(lists.unstable),
        excluded=group_of([name for name, _ in lists.excluded]),
        new_targets=None if lists.new_targets is None else len(lists.new_targets),
    )


def group_of(names: Sequence[str]) -> api.TestGroup:
    """Return how many names there are, and the first few, shortened."""
    first = tuple(printable(name)[:NAME_CHARS] for name in names[:FIRST_NAMES])
    return api.TestGroup(count=len(names), first=first)


def printable(text: str) -> str:
    """Return text that JSON and terminals can hold: lone surrogates and control characters escaped."""
    plain = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in plain)


def counts_of(results: Mapping[str, str]) -> api.Counts:
    """Return how many tests of a run ended in which way."""
    words = Counter(results.values())
    passed = sum(words[word] for word in PASSED)
    failed = sum(words[word] for word in FAILED)
    skipped = words["SKIPPED"]
    return api.Counts(passed=passed, failed=failed, skipped=skipped, other=len(results) - passed - failed - skipped)


def run_status(name: str, outcome: RunOutcome | None, faults: Sequence[FaultRecord]) -> api.RunStatus:
    """Return a run as status shows it."""
    shown = tuple(
        api.Fault(attempt=fault.attempt, reason=fault.kind, message=printable(fault.message)[:300])
        for fault in faults[-MAX_FAULTS:]
    )
    if outcome is None:
        return api.RunStatus(name=name, attempt=next_attempt(faults), outcome=PENDING, faults=shown)
    return api.RunStatus(
        name=name,
        attempt=outcome.attempt,
        outcome=outcome.kind,
        exit_code=outcome.exit_code,
        duration_seconds=round(sum(command.seconds for command in outcome.commands), 3),
        queue_seconds=outcome.queue_seconds,
        start_seconds=outcome.start_seconds,
        log=artifact_status(outcome.log),
        results=artifact_status(outcome.results_artifact),
        counts=counts_of(outcome.results),
        isolation=api.Isolation(
            targets=outcome.isolation.targets,
            samples=outcome.isolation.samples,
            leaks=outcome.isolation.leaks,
            gate_seconds=round(outcome.isolation.gate_seconds, 3),
        ),
        truncated=outcome.truncated,
        faults=shown,
    )


def artifact_status(artifact: Artifact | None) -> api.Artifact | None:
    """Return an artifact as status shows it."""
    return api.Artifact(uri=artifact.uri, sha256=artifact.sha256, bytes=artifact.bytes) if artifact else None
