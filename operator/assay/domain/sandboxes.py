"""What to do next with an episode whose agent works in a sandbox: a pure function of what is known, on every pass.

The rules it keeps: one sandbox at a time; a sandbox that was never ready costs an attempt, one that was lost with an
agent's work in it ends the episode without a reward; the diff of a submission is stored before it is graded; a
submission that was not graded leaves the episode open while any are left; a reward is given once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.api.v1alpha1 import EpisodePhase, SubmissionOutcome
from assay.domain.grading import GradeReason
from assay.domain.outcomes import FaultKind
from assay.domain.sandbox_states import AgentState, Sandbox, SandboxStage

LOOK_SECONDS = 20.0
"""How often a ready sandbox is asked for its use."""
RETRY_SECONDS = 5.0
OWN_REASONS = frozenset({GradeReason.TEST_TIMEOUT, GradeReason.OUT_OF_MEMORY, GradeReason.PARSE_FAILED})
"""Why a submission was not graded, where that may be the submission's own doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One submission, as far as it has come."""

    number: int
    outcome: SubmissionOutcome
    reward: float | None = None
    resolved: bool = False
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What an episode may use up: seconds and counts."""

    episode: float
    idle: float
    submissions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxKnowledge:
    """All that a decision stands on.

    ``asked`` is the number of submissions that the spec asks for; ``faults`` counts the sandboxes that were lost before
    one was ready; ``ready_at`` and ``used_at`` are times (epoch seconds), 0 while unknown; ``locked`` is the submission
    that the sandbox is held for, 0 for none; ``calls`` counts the tool calls that ran, ``leaks`` the probes that got out
    of the sandbox.  ``gateway_away``: when the sandbox of a failed agent was looked at, no gateway was there.
    """

    limits: EpisodeLimits
    asked: int = 0
    cancelled: bool = False
    suspended: bool = False
    wants_agent: bool = False
    sandboxes: Sequence[Sandbox] = ()
    faults: int = 0
    fault_at: float = 0.0
    ready_at: float = 0.0
    used_at: float = 0.0
    looked_at: float = 0.0
    locked: int = 0
    calls: int = 0
    leaks: int = 0
    gateway_away: bool = False
    offers: Sequence[Offer] = ()
    agent: AgentState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an episode ends; ``reward`` is None unless it was graded."""

    phase: EpisodePhase
    reason: str
    message: str
    reward: float | None = None
    resolved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxDecision:
    """Effects to carry out.

    ``lost`` are pods whose loss costs an attempt; ``create`` is the number of the sandbox to make, ``take`` that of the
    submission whose diff is to be stored, ``grade`` that of the one to be graded, ``release`` that of the one after
    which the agent may go on; 0 for none.  ``wake_at`` is the time (epoch seconds) of the next look; 0 for none.
    """

    ending: Ending | None = None
    lost: tuple[Sandbox, ...] = ()
    create: int = 0
    create_agent: bool = False
    take: int = 0
    grade: int = 0
    release: int = 0
    look: bool = False
    wake_at: float = 0.0


def decide_sandbox(known: SandboxKnowledge, *, infra_retries: int, now: float) -> SandboxDecision:
    """Return the next effects."""
    ending = _ending(known, infra_retries, now)
    if ending:
        return SandboxDecision(ending=ending)
    last = known.offers[-1] if known.offers else None
    if last and last.outcome is SubmissionOutcome.PENDING:
        return SandboxDecision(grade=last.number)
    ready = next((sandbox for sandbox in known.sandboxes if sandbox.state.stage is SandboxStage.READY), None)
    if ready is None:
        return _without_sandbox(known, now)
    if last and known.locked == last.number and known.asked <= last.number:
        return SandboxDecision(release=last.number)
    if known.asked > len(known.offers):
        return SandboxDecision(take=len(known.offers) + 1)
    due = now if _is_to_look_at(known, now) else known.looked_at + LOOK_SECONDS
    return SandboxDecision(
        create_agent=known.wants_agent and known.agent is None and not known.suspended,
        look=now >= due,
        wake_at=min(_expiry(known), now + LOOK_SECONDS if now >= due else due),
    )


def _ending(known: SandboxKnowledge, infra_retries: int, now: float) -> Ending | None:
    return (
        _graded(known.offers)
        or _cancelled(known)
        or _leaked(known)
        or _spent(known)
        or _refused(known)
        or _sandbox_gone(known, infra_retries)
        or _expired(known, now)
        or _agent_ended(known, now)
    )


def _graded(offers: Sequence[Offer]) -> Ending | None:
    last = offers[-1] if offers else None
    if not last or last.outcome is not SubmissionOutcome.GRADED:
        return None
    return Ending(
        phase=EpisodePhase.FINISHED,
        reason=last.reason,
        message=last.message,
        reward=last.reward,
        resolved=last.resolved,
    )


def _cancelled(known: SandboxKnowledge) -> Ending | None:
    if not known.cancelled:
        return None
    return Ending(phase=EpisodePhase.CANCELLED, reason="Cancelled", message="the episode was cancelled")


def _leaked(known: SandboxKnowledge) -> Ending | None:
    """What an agent does that may reach the network is no answer to the task."""
    if not known.leaks:
        return None
    message = f"the sandbox is not shut off: {known.leaks} probes got out"
    return Ending(phase=EpisodePhase.FAILED, reason=FaultKind.ISOLATION_LEAK.value, message=message)


def _spent(known: SandboxKnowledge) -> Ending | None:
    """No submission is left and none was graded."""
    last = known.offers[-1] if known.offers else None
    if not last or last.outcome is not SubmissionOutcome.NOT_GRADED or last.number < known.limits.submissions:
        return None
    message = f"none of {last.number} submissions was graded, last: {last.message}"
    return Ending(phase=EpisodePhase.FAILED, reason=last.reason, message=message)


def _refused(known: SandboxKnowledge) -> Ending | None:
    for sandbox in known.sandboxes:
        if sandbox.state.stage is SandboxStage.REFUSED:
            return Ending(phase=EpisodePhase.FAILED, reason=sandbox.state.reason, message=sandbox.state.message)
    return None


def _sandbox_gone(known: SandboxKnowledge, infra_retries: int) -> Ending | None:
    """A sandbox with an agent's work in it cannot be made again; one that nobody used can."""
    if any(offer.outcome is SubmissionOutcome.PENDING for offer in known.offers):
        return None
    lost = [sandbox for sandbox in known.sandboxes if sandbox.state.stage is SandboxStage.LOST]
    if known.ready_at and (lost or not known.sandboxes):
        why = lost[0].state.message if lost else "its pod is gone"
        return Ending(phase=EpisodePhase.FAILED, reason="SandboxLost", message=f"the sandbox was lost: {why}")
    if lost and known.faults + 1 > infra_retries:
        state = lost[0].state
        message = f"{known.faults + 1} sandboxes were lost before one was ready, last: {state.message}"
        return Ending(phase=EpisodePhase.FAILED, reason=state.reason, message=message)
    return None


def _expired(known: SandboxKnowledge, now: float) -> Ending | None:
    """A submission that is asked for was made in time: the gateway takes none of an episode that is over."""
    if not known.ready_at or known.asked > len(known.offers):
        return None
    if any(offer.outcome is SubmissionOutcome.PENDING for offer in known.offers):
        return None
    if now >= known.ready_at + known.limits.episode:
        return Ending(phase=EpisodePhase.EXPIRED, reason="EpisodeDeadline", message="the episode's time is over")
    if known.used_at and now >= known.used_at + known.limits.idle and known.looked_at >= now - LOOK_SECONDS:
        return Ending(phase=EpisodePhase.EXPIRED, reason="Idle", message="no call and no ping came for too long")
    return None


def _agent_ended(known: SandboxKnowledge, now: float) -> Ending | None:
    """An agent that has ended says nothing more: what it did not submit is not graded, and earns nothing.

    One that failed before its first call never worked on the task: whoever's fault that was, it is no answer.  Nor is it
    one when there is no gateway that could have taken its next call, or when its last submission was not graded for
    reasons of others.
    """
    agent = known.agent
    if agent is None or known.asked > len(known.offers):
        return None
    if agent.lost:
        return Ending(
            phase=EpisodePhase.FAILED, reason="AgentLost", message=f"the agent's pod was lost: {agent.reason}"
        )
    if agent.exit_code is None or any(offer.outcome is SubmissionOutcome.PENDING for offer in known.offers):
        return None
    if _is_to_look_at(known, now):
        return None
    if agent.exit_code and (known.gateway_away or not known.calls):
        when = "while no gateway was there" if known.gateway_away else "before its first tool call"
        message = f"the agent ended with exit code {agent.exit_code} {when}"
        return Ending(phase=EpisodePhase.FAILED, reason="AgentFailed", message=message)
    last = known.offers[-1] if known.offers else None
    if last and last.outcome is SubmissionOutcome.NOT_GRADED and last.reason not in OWN_REASONS:
        message = f"the agent ended, and its last submission was not graded: {last.message}"
        return Ending(phase=EpisodePhase.FAILED, reason=last.reason, message=message)
    message = f"the agent ended with exit code {agent.exit_code} and submitted nothing that could be graded"
    return Ending(phase=EpisodePhase.FINISHED, reason="NothingSubmitted", message=message, reward=0.0, resolved=False)


def _is_to_look_at(known: SandboxKnowledge, now: float) -> bool:
    """Whether an agent has failed, and its sandbox, which can be asked, was not looked at since: calls, the gateway."""
    failed = known.agent is not None and bool(known.agent.exit_code)
    can_be_asked = any(sandbox.state.stage is SandboxStage.READY for sandbox in known.sandboxes)
    return failed and can_be_asked and known.looked_at < now


def _without_sandbox(known: SandboxKnowledge, now: float) -> SandboxDecision:
    lost = tuple(sandbox for sandbox in known.sandboxes if sandbox.state.stage is SandboxStage.LOST)
    if lost:
        return SandboxDecision(lost=lost)
    if known.sandboxes:
        deadlines = [sandbox.state.deadline for sandbox in known.sandboxes if sandbox.state.deadline]
        return SandboxDecision(wake_at=min(deadlines, default=0.0))
    if known.suspended:
        return SandboxDecision()
    at = known.fault_at + RETRY_SECONDS * 2.0**known.faults if known.faults else 0.0
    return SandboxDecision(wake_at=at) if at > now else SandboxDecision(create=known.faults + 1)


def _expiry(known: SandboxKnowledge) -> float:
    """The next time at which the episode may be over."""
    times = [known.ready_at + known.limits.episode]
    if known.used_at:
        times.append(known.used_at + known.limits.idle)
    return min(times)
