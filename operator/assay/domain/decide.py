"""What to do next with an object: a pure function of what is known, called on every pass.

The rules it keeps: one attempt of a run at a time, its number is one more than the faults before it; the first run
goes alone, because it pins the image; nothing is deleted before what it said is in status; a fault costs an attempt
from the run's own budget and never touches the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.outcomes import FaultKind, RunOutcome
from assay.domain.plan import Run, RunPlan
from assay.domain.pods import PodState, PodView, Stage
from assay.domain.profiles import Profile
from assay.domain.rules import early_verdict_of, verdict_of
from assay.domain.task import Task
from assay.domain.verdict import Reason, Verdict

DIGEST_MARK = "sha256:"

Conclusion = TypeVar("Conclusion")
"""What an object ends with: a verdict, or a grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """One attempt that was lost, and when (epoch seconds)."""

    attempt: int
    kind: FaultKind
    message: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A pod of the object at the present generation, with what its status says."""

    run: Run
    pod: PodView
    state: PodState


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """All that a decision stands on.

    ``committed`` are the names of runs whose outcome is in the object's status already; ``judged`` those of the runs
    that were looked at together before and gave no early verdict; ``pinned`` is the image by digest, empty until the
    first run told it.  ``cancelled``: an episode that is to end, also while it is being graded.
    """

    task: Task
    plan: RunPlan
    profile: Profile
    attempts: Sequence[Attempt]
    outcomes: Mapping[str, RunOutcome] = field(default_factory=dict)
    faults: Mapping[str, tuple[FaultRecord, ...]] = field(default_factory=dict)
    committed: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    pinned: str = ""
    suspended: bool = False
    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Conclusion]):
    """Effects to carry out, in this order: read, note lost, write status, delete, create.

    ``wake_at`` is the time (epoch seconds) of the next look without an event; 0 for none.
    """

    read: tuple[Attempt, ...] = ()
    lost: tuple[Attempt, ...] = ()
    facts: tuple[Attempt, ...] = ()
    create: tuple[tuple[Run, int], ...] = ()
    delete: tuple[PodView, ...] = ()
    verdict: Conclusion | None = None
    wake_at: float = 0.0


def decide(known: Knowledge, *, infra_retries: int, now: float) -> Decision[Verdict]:
    """Return the next effects for a validation."""
    return decide_until(known, now=now, conclude=lambda known: verdict_in(known, infra_retries))


def decide_until(
    known: Knowledge, *, now: float, conclude: Callable[[Knowledge], Conclusion | None]
) -> Decision[Conclusion]:
    """Return the next effects.  Reading comes first: a pass with something to read decides again after it.

    ``conclude`` returns what the object ends with as soon as what is known decides it.
    """
    fresh = [attempt for attempt in known.attempts if _counts(attempt, known)]
    read = tuple(attempt for attempt in fresh if attempt.state.stage is Stage.ENDED)
    lost = tuple(attempt for attempt in fresh if attempt.state.stage is Stage.LOST)
    facts = tuple(attempt for attempt in fresh if attempt.state.stage is Stage.FACT)
    if read or lost or facts:
        return Decision(read=read, lost=lost, facts=facts)
    verdict = conclude(known)
    if verdict:
        return Decision(verdict=verdict, delete=tuple(attempt.pod for attempt in known.attempts))
    create, wake_at = _creations(known, fresh, now)
    return Decision(create=create, delete=_finished(known), wake_at=wake_at)


def retry_at(faults: Sequence[FaultRecord]) -> float:
    """Return the time (epoch seconds) before which the next attempt is not made: 2, 4, 8 ... 300 s after the last."""
    return faults[-1].at + min(300.0, 2.0 ** faults[-1].attempt) if faults else 0.0


def next_attempt(faults: Sequence[FaultRecord]) -> int:
    """Return the number of the attempt after these faults; the last one's counts, since status keeps only the latest."""
    return faults[-1].attempt + 1 if faults else 1


def pinned_image(requested: str, image_id: str) -> str:
    """Return the image by digest, from the requested reference and what the kubelet says it ran; empty if unknown.

    A bare digest is that of an image's configuration, from a node that never pulled it: such an image cannot be
    pulled by it, so the requested name stays and every run is compared by the digest instead.
    """
    _, _, digest = image_id.rpartition("@")
    if "@" + DIGEST_MARK in requested:
        return requested
    if "@" in image_id and digest.startswith(DIGEST_MARK):
        name = requested.rpartition("/")
        return f"{name[0]}{name[1]}{name[2].split(':')[0]}@{digest}"
    return ""


def digest_of(image_id: str) -> str:
    """Return the ``sha256:…`` part of what the kubelet calls an image; empty when it has none."""
    at = image_id.rfind(DIGEST_MARK)
    return image_id[at:] if at >= 0 else ""


def _counts(attempt: Attempt, known: Knowledge) -> bool:
    """Whether an attempt is the present one of a run that has no outcome yet."""
    name = attempt.run.name
    return name not in known.outcomes and attempt.pod.attempt == next_attempt(known.faults.get(name, ()))


def verdict_in(known: Knowledge, infra_retries: int) -> Verdict | None:
    """Return the verdict that what is known decides; None while runs have to go on."""
    outcomes = [known.outcomes[run.name] for run in known.plan.runs if run.name in known.outcomes]
    if len(outcomes) == len(known.plan.runs):
        return verdict_of(known.task, outcomes, known.profile)
    if outcomes and known.judged != frozenset(known.outcomes):
        early = early_verdict_of(known.task, outcomes, known.profile)
        if early:
            return early
    lost = spent_in(known, infra_retries)
    return Verdict(kind=VerdictKind.INCONCLUSIVE, reason=Reason.INFRASTRUCTURE, message=lost) if lost else None


def spent_in(known: Knowledge, infra_retries: int) -> str:
    """Return which unfinished run was lost more often than it may be, in a sentence; empty when none was."""
    unfinished = [run for run in known.plan.runs if run.name not in known.outcomes]
    spent = [run for run in unfinished if next_attempt(known.faults.get(run.name, ())) > infra_retries + 1]
    if not spent:
        return ""
    last = known.faults[spent[0].name][-1]
    return f"{spent[0].name} was lost {last.attempt} times, last: {last.kind}: {last.message}"[:1000]


def _creations(known: Knowledge, fresh: Sequence[Attempt], now: float) -> tuple[tuple[tuple[Run, int], ...], float]:
    due = known.plan.runs if known.plan.first.name in known.outcomes else (known.plan.first,)
    present = {attempt.run.name for attempt in fresh}
    wakes = [attempt.state.deadline for attempt in fresh if attempt.state.deadline]
    create = []
    for run in due:
        if run.name in known.outcomes or run.name in present:
            continue
        faults = known.faults.get(run.name, ())
        at = retry_at(faults)
        if at > now:
            wakes.append(at)
        elif not known.suspended:
            create.append((run, next_attempt(faults)))
    return tuple(create), min(wakes, default=0.0)


def _finished(known: Knowledge) -> tuple[PodView, ...]:
    """Pods that have nothing more to say: lost attempts, and runs whose outcome is in status."""
    return tuple(
        attempt.pod
        for attempt in known.attempts
        if attempt.run.name in known.committed
        or attempt.pod.attempt < next_attempt(known.faults.get(attempt.run.name, ()))
    )


def mismatched(first: RunOutcome | None, outcome: RunOutcome) -> bool:
    """Whether a run used other bits than the object's first run; what is not known is no mismatch."""
    if not first or not first.image_id or not outcome.image_id:
        return False
    return digest_of(first.image_id) != digest_of(outcome.image_id)
