"""What the pods of an episode with a sandbox say: where the sandbox stands, what became of the agent, what is in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.domain.agents import AGENT_RUN
from assay.domain.evidence import NODE_FAULTS
from assay.domain.outcomes import FaultKind
from assay.domain.pods import (
    ISOLATION_EXIT,
    PodState,
    PodView,
    Stage,
    condition_time,
    container_of,
    cut_of,
    disrupted,
    not_started,
    started_at,
    unpullable,
    waiting,
)
from assay.domain.task import Limits

ROOM_SECONDS = 300.0
"""How long a grading waits for a node before it takes its own sandbox's place: time for a cluster to grow."""
UNREADY_SECONDS = 300.0
"""How long a sandbox that was ready may not be: as long as Kubernetes leaves pods on a node that it cannot reach."""
SANDBOX_RUN, GRADING_RUN = "sandbox-", "graded-"
"""What the names of these runs begin with."""


class SandboxStage(StrEnum):
    """Where a sandbox's pod stands."""

    WAITING = "Waiting"
    READY = "Ready"
    REFUSED = "Refused"
    LOST = "Lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """A sandbox as its pod shows it; REFUSED is a fact about the task's image, LOST a fault of the infrastructure."""

    stage: SandboxStage
    reason: str = ""
    message: str = ""
    deadline: float = 0.0
    image_id: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox's pod and what it says."""

    pod: PodView
    state: SandboxState


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """The agent's pod; ``exit_code`` is None while it works or waits, ``lost`` says that the infrastructure ended it."""

    exit_code: int | None = None
    reason: str = ""
    lost: bool = False


def sandbox_state_of(pod: PodView, limits: Limits, now: float) -> SandboxState:
    """Return what a sandbox's pod says at time ``now`` (epoch seconds).

    The witness may be started again in a sandbox: it keeps the calls on a volume.
    """
    status = pod.status
    witness = container_of(status.get("initContainerStatuses"), "witness")
    task = container_of(status.get("containerStatuses"), "task")
    code = (_ended(witness) or {}).get("exitCode") or ((witness.get("lastState") or {}).get("terminated") or {}).get(
        "exitCode"
    )
    if code == ISOLATION_EXIT:
        return _lost(FaultKind.ISOLATION_UNAVAILABLE, "the network of the sandbox could not be proven shut")
    ended = _ended(task)
    if ended is not None:
        return _after_end(ended)
    for state in (disrupted(pod), unpullable(task, witness, pod, limits, now)):
        if state:
            return _judged(state)
    if _is_ready(status):
        return SandboxState(
            stage=SandboxStage.READY,
            image_id=str(task.get("imageID", "")),
            addresses=tuple(str(entry["ip"]) for entry in status.get("podIPs") or () if entry.get("ip")),
        )
    since = _unready_since(pod, task)
    if since:
        deadline = since + UNREADY_SECONDS
        if now > deadline:
            return _lost(FaultKind.NODE_LOST, f"it was ready, and has not been for {UNREADY_SECONDS:.0f} seconds")
        return SandboxState(stage=SandboxStage.WAITING, message="it is not ready any more", deadline=deadline)
    early = waiting(pod, task, limits, 0, now)
    if early.stage is Stage.LOST:
        return _lost(early.kind, early.message)
    return SandboxState(stage=SandboxStage.WAITING, message=early.message, deadline=early.deadline)


def in_the_way(pods: Sequence[PodView], now: float) -> tuple[PodView, ...]:
    """Return the sandboxes whose submission has waited too long for a node to be graded on: each has room for its grading.

    Without this, nodes full of sandboxes that all wait for a grade would wait for ever.  The submission is stored; only
    one that is then not graded misses its sandbox.
    """
    stuck = {pod.owner for pod in pods if pod.run.startswith(GRADING_RUN) and _has_no_node(pod, now)}
    return tuple(pod for pod in pods if pod.owner in stuck and pod.run.startswith(SANDBOX_RUN) and pod.active)


def agent_state_of(pod: PodView) -> AgentState:
    """Return what an agent's pod says: an exit code other than 0 is the agent's own only if nothing cut the pod off."""
    ended = _ended(container_of(pod.status.get("containerStatuses"), "agent"))
    if ended is not None:
        code, reason = int(ended.get("exitCode", -1)), str(ended.get("reason", ""))
        cut = cut_of(pod) if code else None
        if reason == "ContainerStatusUnknown":
            cut = cut or (FaultKind.NODE_LOST, "the node has lost the container")
        return _lost_agent(*cut) if cut else AgentState(exit_code=code, reason=reason)
    lost = disrupted(pod)
    if lost:
        return _lost_agent(lost.kind, lost.message)
    waits = (container_of(pod.status.get("containerStatuses"), "agent").get("state") or {}).get("waiting") or {}
    return AgentState(reason=str(waits.get("reason", "")))


def _lost_agent(kind: object, message: str) -> AgentState:
    return AgentState(reason=f"{kind}: {message}"[:200], lost=True)


def _after_end(ended: Mapping[str, Any]) -> SandboxState:
    """A sandbox's first process ends only when its set-up fails, or when the agent or the kernel killed it."""
    code, reason, message = int(ended.get("exitCode", -1)), ended.get("reason", ""), str(ended.get("message", ""))
    word = message.split(maxsplit=1)[0] if message.strip() else ""
    if code in (95, 96) and word in NODE_FAULTS:
        return _lost(FaultKind.START_FAILED, f"the sandbox could not be prepared: {message}")
    if code in (95, 96) and word.isalnum():
        return SandboxState(stage=SandboxStage.REFUSED, reason=word[:100], message=message[:1000])
    never = not_started(ended)
    if never:
        return _judged(never)
    return _lost(FaultKind.DISRUPTED, f"its first process ended with exit code {code}: {reason or 'Error'}")


def _judged(state: PodState) -> SandboxState:
    """What a pod of a run would have come to: a fact about the image, or a fault."""
    if state.stage is Stage.FACT:
        return SandboxState(stage=SandboxStage.REFUSED, reason=str(state.kind), message=state.message[:1000])
    return _lost(state.kind, state.message)


def _is_ready(status: Mapping[str, Any]) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _unready_since(pod: PodView, task: Mapping[str, Any]) -> float:
    """When a sandbox that had been ready stopped to be; 0 for one that is ready, or has not been yet."""
    running, since = started_at(task), condition_time(pod, "Ready", "False")
    return since if running and since > running else 0.0


def _has_no_node(pod: PodView, now: float) -> bool:
    conditions = {said.get("type"): said.get("status") for said in pod.status.get("conditions") or ()}
    return conditions.get("PodScheduled") == "False" and now >= pod.created + ROOM_SECONDS and not pod.deleting


def _ended(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ended: Mapping[str, Any] | None = (container.get("state") or {}).get("terminated")
    return ended


def _lost(kind: object, message: str) -> SandboxState:
    return SandboxState(stage=SandboxStage.LOST, reason=str(kind), message=message[:1000])


def is_of_run(pod: PodView) -> bool:
    """Whether a pod is of a run, and not an episode's sandbox or agent."""
    return pod.run != AGENT_RUN and not pod.run.startswith(SANDBOX_RUN)
