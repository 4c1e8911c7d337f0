"""What is known of an episode with a sandbox -> its status: counts, times and rewards, never the name of a held-out test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.episode_size import fitted_episode
from assay.domain.grading import GradeReason
from assay.domain.pods import PodView
from assay.domain.sandbox_states import AgentState, SandboxStage, SandboxState
from assay.domain.sandboxes import Ending, Offer
from assay.domain.status import merged_conditions, printable, rfc3339

NAME_CHARS = 1000
ISOLATION, LEAK = "NetworkIsolationVerified", "IsolationLeak"
"""The condition that tells of a sandbox's network, and its reason when a probe got out."""
UNTAKEN = {
    "NothingCaptured": GradeReason.NOTHING_SUBMITTED,
    "SubmissionTooLarge": GradeReason.PATCH_REFUSED,
    "CaptureFailed": GradeReason.INFRASTRUCTURE,
}
"""Why the hands do not give a diff -> what the submission is graded, or not graded, as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a sandbox's hands said of it, and when.

    ``locked`` is the submission that it is held for, 0 for none; of the network: ``targets`` that must be out of reach,
    ``leaks`` seen, ``doors`` that had to answer before the first byte of the task, and did.
    """

    looked_at: float
    used_at: float
    calls: int = 0
    call_seconds: float = 0.0
    locked: int = 0
    base: str = ""
    targets: int = 0
    leaks: int = 0
    doors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of an episode in one pass: its sandbox's pod, the use of it, its agent, whether that had a gateway."""

    pod: PodView | None = None
    state: SandboxState | None = None
    use: Use | None = None
    endpoint: str = ""
    image: str = ""
    agent_pod: str = ""
    agent: AgentState | None = None
    gateway_away: bool = False
    egress: api.Egress | None = None
    token_sha256: str = ""
    go_policy: api.GoPolicy | None = None


def use_of(said: Mapping[str, Any], now: float) -> Use:
    """Return what the hands' state says at time ``now`` (epoch seconds)."""
    isolation = said.get("isolation") or {}
    return Use(
        looked_at=now,
        used_at=now - float(said.get("idleSeconds") or 0.0),
        calls=int(said.get("calls") or 0),
        call_seconds=float(said.get("callSeconds") or 0.0),
        locked=int(said.get("locked") or 0),
        base=str(said.get("base") or "")[:64],
        targets=int(isolation.get("targets") or 0),
        leaks=int(isolation.get("leakCount") or 0),
        doors=int(isolation.get("doors") or 0),
    )


def untaken(number: int, reason: str, message: str, now: float) -> api.SubmissionStatus | None:
    """Return the submission whose diff the hands refuse to take, by their ``reason``; None when they may yet.

    What the agent did to its own tree is graded as nothing.  A git that fails is not: a full disk is nobody's answer.
    """
    if reason not in UNTAKEN:
        return None
    graded = reason != "CaptureFailed"
    return api.SubmissionStatus(
        number=number,
        time=rfc3339(now),
        outcome=api.SubmissionOutcome.GRADED if graded else api.SubmissionOutcome.NOT_GRADED,
        reason=UNTAKEN[reason],
        message=printable(message)[:NAME_CHARS],
        reward=0.0 if graded else None,
    )


def lost_diff(entry: api.SubmissionStatus, why: str) -> api.SubmissionStatus:
    """Return a submission that cannot be graded as its diff is lost, and its sandbox with it."""
    message = printable(f"the diff is lost: {why}")[:NAME_CHARS]
    outcome, reason = api.SubmissionOutcome.NOT_GRADED, GradeReason.INFRASTRUCTURE
    return entry.model_copy(update={"outcome": outcome, "reason": reason.value, "message": message})


def offers_in(status: api.AgentEpisodeStatus) -> tuple[Offer, ...]:
    """Return the submissions of a status, as decisions see them."""
    return tuple(
        Offer(
            number=entry.number,
            outcome=entry.outcome,
            reward=entry.reward,
            resolved=entry.reason == "Resolved",
            reason=entry.reason,
            message=entry.message,
        )
        for entry in status.submissions
    )


def leaks_in(status: api.AgentEpisodeStatus) -> int:
    """Return how many probes got out of the sandbox by what the status tells; a leak is never taken back."""
    for condition in status.conditions:
        if condition.type == ISOLATION and condition.reason == LEAK:
            count = condition.message.partition(" ")[0]
            return max(1, int(count)) if count.isdecimal() else 1
    return 0


def sandbox_status(  # noqa: PLR0913 - each argument is one source of the status
    previous: api.AgentEpisodeStatus,
    seen: Seen,
    *,
    requested: str,
    faults: int = 0,
    submissions: Sequence[api.SubmissionStatus] = (),
    ending: Ending | None = None,
    generation: int,
    now: float,
) -> api.AgentEpisodeStatus:
    """Return the whole status; equal knowledge gives an equal status, apart from the times of what changed."""
    ready = seen.state is not None and seen.state.stage is SandboxStage.READY
    started = previous.sandbox.started_at or (rfc3339(now) if ready else None)
    pending = any(entry.outcome is api.SubmissionOutcome.PENDING for entry in submissions)
    phase = api.EpisodePhase.PENDING
    if ending:
        phase = ending.phase
    elif pending:
        phase = api.EpisodePhase.GRADING
    elif ready:
        phase = api.EpisodePhase.READY
    status = api.AgentEpisodeStatus(
        phase=phase,
        reward=ending.reward if ending else None,
        resolved=ending.resolved if ending else None,
        reason=ending.reason if ending else "",
        message=printable(ending.message)[:NAME_CHARS] if ending else "",
        endpoint=seen.endpoint if ready and not ending else "",
        image=api.ImageStatus(
            requested=requested, digest=seen.image or previous.image.digest, platform=previous.image.platform
        ),
        sandbox=_sandbox(previous.sandbox, seen, started),
        agent=_agent(previous.agent, seen),
        tool_calls=_calls(previous.tool_calls, seen.use),
        egress=seen.egress or previous.egress,
        submissions=tuple(submissions),
        faults=faults,
        started_at=previous.started_at or rfc3339(now),
        completed_at=rfc3339(now) if ending else None,
        conditions=merged_conditions(previous.conditions, _conditions(previous, seen, phase, ending), generation, now),
        observed_generation=generation,
    )
    return fitted_episode(status)


def _sandbox(previous: api.SandboxStatus, seen: Seen, started: str | None) -> api.SandboxStatus:
    if seen.pod is None:
        return previous
    changes = {
        "pod": seen.pod.name,
        "pod_uid": seen.pod.uid,
        "pod_ips": seen.state.addresses if seen.state and seen.state.addresses else previous.pod_ips,
        "token_sha256": seen.token_sha256,
        "go_policy": seen.go_policy,
        "base": seen.use.base if seen.use and seen.use.base else previous.base,
        "started_at": started,
        "last_used_at": rfc3339(seen.use.used_at) if seen.use else previous.last_used_at,
    }
    return previous.model_copy(update=changes)


def _agent(previous: api.AgentStatus, seen: Seen) -> api.AgentStatus:
    if not seen.agent_pod or seen.agent is None:
        return previous
    return api.AgentStatus(pod=seen.agent_pod, exit_code=seen.agent.exit_code, reason=seen.agent.reason[:200])


def _calls(previous: api.ToolCalls, use: Use | None) -> api.ToolCalls:
    return api.ToolCalls(count=use.calls, seconds=round(use.call_seconds, 3)) if use else previous


def _conditions(
    previous: api.AgentEpisodeStatus, seen: Seen, phase: api.EpisodePhase, ending: Ending | None
) -> list[tuple[str, str, str, str]]:
    found = [
        ("Accepted", "True", "TaskAccepted", "the spec is a task"),
        _image(previous, seen),
        _isolation(previous, seen),
    ]
    ready = phase in (api.EpisodePhase.READY, api.EpisodePhase.GRADING)
    waits = seen.state.message if seen.state and seen.state.message else "no sandbox is ready yet"
    found.append(
        ("SandboxReady", "True", "Ready", "calls are served")
        if ready
        else ("SandboxReady", "False", "Ended" if ending else "Waiting", "the episode is over" if ending else waits)
    )
    if ending is None:
        reason = phase.value
        return [
            *found,
            ("Complete", "False", reason, "the episode goes on"),
            ("Resolved", "Unknown", reason, "nothing is graded yet"),
        ]
    resolved = {True: "True", False: "False", None: "Unknown"}[ending.resolved]
    return [
        *found,
        ("Complete", "True", ending.phase.value, ending.message),
        ("Resolved", resolved, ending.reason, ending.message),
    ]


def _image(previous: api.AgentEpisodeStatus, seen: Seen) -> tuple[str, str, str, str]:
    digest = seen.image or previous.image.digest
    if digest:
        return "ImageResolved", "True", "Pinned", f"sandbox and gradings use {digest}"
    return "ImageResolved", "Unknown", "SandboxPending", "the sandbox tells the digest"


def _isolation(previous: api.AgentEpisodeStatus, seen: Seen) -> tuple[str, str, str, str]:
    name, leaks = ISOLATION, max(leaks_in(previous), seen.use.leaks if seen.use else 0)
    if leaks:
        return name, "False", LEAK, f"{leaks} probes got out"
    if seen.use and seen.use.targets:
        answers = ", the module gateway answers it" if seen.use.doors else ""
        return name, "True", "Proven", f"{seen.use.targets} targets are out of the sandbox's reach{answers}"
    for condition in previous.conditions:
        if condition.type == name and condition.status != "Unknown":
            return name, condition.status, condition.reason, condition.message
    if seen.state and seen.state.reason == "IsolationUnavailable":
        return name, "False", "PolicyNotEnforced", seen.state.message
    return name, "Unknown", "NoSandboxYet", "the sandbox proves its isolation before its first call"
