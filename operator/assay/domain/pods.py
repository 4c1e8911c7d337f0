"""What a pod's status says of its attempt: a fact about the task, a fault of the infrastructure, or nothing yet.

The classes and their sources are in ``docs/operations.md``.  A message of the container runtime is looked at only to
tell an image that does not exist from one that cannot be fetched just now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.domain.manifests import ANNOTATION_ATTEMPT, ANNOTATION_EPOCH, FUSE_SECONDS, LABEL_OBJECT, LABEL_RUN
from assay.domain.outcomes import FaultKind, OutcomeKind
from assay.domain.task import Limits

ISOLATION_EXIT = 70
GONE = re.compile(
    r"(?:resolve reference|manifest|repository|tag)\b.*not found|(?:manifest|name) unknown|does not exist|access denied"
    r"|unauthorized|authentication required|invalid reference format|InvalidImageName|couldn't parse image",
    re.IGNORECASE | re.DOTALL,
)
PASSING = re.compile(r"429|too ?many ?requests|timeout|timed out|refused|reset by peer|EOF|5\d\d ", re.IGNORECASE)
ON_NODE = re.compile(r"content (?:digest|store)|snapshot|failed to extract|\blease\b|media type", re.IGNORECASE)
"""What a node lacks of an image that it is pulling."""
NAMES = re.compile(r'"[^"]*"|\S*/\S*|sha256:\S*')
"""Names in a message, which may hold any of these words."""
PLATFORM = re.compile(r"no match for platform|no matching manifest|exec format error", re.IGNORECASE)
NO_SHELL = re.compile(r'exec:? "?/bin/sh"?: .*(?:no such file|not found|permission denied)')
"""What a container runtime says of an image without a shell; its other start errors are the node's own."""
POD_ENDS = {
    "Evicted": FaultKind.DISRUPTED,
    "Preempting": FaultKind.DISRUPTED,
    "Terminated": FaultKind.DISRUPTED,
    "NodeShutdown": FaultKind.DISRUPTED,
    "NodeLost": FaultKind.NODE_LOST,
    "DeadlineExceeded": FaultKind.DEADLINE_EXCEEDED,
}
"""Reasons by which the cluster ends a whole pod."""
PULL_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
STARTING = frozenset({"", "PodInitializing", "ContainerCreating"})
"""Reasons of a container that waits for nothing unusual."""


class Stage(StrEnum):
    """Where an attempt stands."""

    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    ENDED = "Ended"
    FACT = "Fact"
    LOST = "Lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """An attempt as its pod shows it.

    ``ended_at`` (epoch seconds) is the task container's; ``kind`` is set for FACT (an ``OutcomeKind``) and LOST (a ``FaultKind``);
    ``deadline`` is the time (epoch seconds) at which a waiting pod must be looked at again.  ``cut`` of an ENDED one is
    what ended the pod from outside, so that a missing record has its cause: a kind and a sentence.
    """

    stage: Stage
    kind: OutcomeKind | FaultKind | None = None
    message: str = ""
    exit_code: int | None = None
    oom_killed: bool = False
    image_id: str = ""
    deadline: float = 0.0
    cut: tuple[FaultKind, str] | None = None
    ended_at: float = 0.0


VANISHED = PodState(
    stage=Stage.LOST, kind=FaultKind.POD_VANISHED, message="the pod was deleted before its evidence was read"
)
"""What is known of a pod that is gone without a word: never placed, collected with its node, or deleted by force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """The little of a pod that the operator keeps; the status stays raw until an attempt is judged."""

    namespace: str
    name: str
    uid: str
    owner: str
    run: str
    attempt: int
    epoch: str
    created: float
    deleting: bool
    status: Mapping[str, Any]
    resource_version: int = 0

    @property
    def active(self) -> bool:
        """Whether the task still runs or waits to."""
        ended = (container_of(self.status.get("containerStatuses"), "task").get("state") or {}).get("terminated")
        return not ended and self.status.get("phase") not in ("Succeeded", "Failed")


def view_of(pod: Mapping[str, Any]) -> PodView:
    """Return the view of a pod's JSON; labels and annotations are the operator's own."""
    metadata = pod["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return PodView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner=labels.get(LABEL_OBJECT, ""),
        run=labels.get(LABEL_RUN, ""),
        attempt=int(annotations.get(ANNOTATION_ATTEMPT, "1")),
        epoch=annotations.get(ANNOTATION_EPOCH, ""),
        created=seconds_since_1970(metadata.get("creationTimestamp")),
        deleting=bool(metadata.get("deletionTimestamp")),
        status=pod.get("status") or {},
        resource_version=int(metadata.get("resourceVersion") or 0),
    )


def seconds_since_1970(text: str | None) -> float:
    """Return an RFC 3339 time as seconds since 1970; 0 for none."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def waits_of(pod: PodView) -> tuple[float, float]:
    """Return how long a pod waited for a node, and from there for its task's container to start, in whole seconds."""
    conditions = {said.get("type"): said for said in pod.status.get("conditions") or ()}
    scheduled = seconds_since_1970((conditions.get("PodScheduled") or {}).get("lastTransitionTime"))
    state = container_of(pod.status.get("containerStatuses"), "task").get("state") or {}
    begun = seconds_since_1970((state.get("terminated") or state.get("running") or {}).get("startedAt"))
    queued = max(0.0, scheduled - pod.created) if scheduled and pod.created else 0.0
    return queued, max(0.0, begun - scheduled) if scheduled and begun else 0.0


def state_of(pod: PodView, limits: Limits, commands: int, now: float) -> PodState:
    """Return what a pod says of its attempt at time ``now`` (epoch seconds)."""
    status = pod.status
    witness = container_of(status.get("initContainerStatuses"), "witness")
    task = container_of(status.get("containerStatuses"), "task")
    return (
        _lost_witness(witness)
        or _ended(task, pod)
        or disrupted(pod)
        or unpullable(task, witness, pod, limits, now)
        or waiting(pod, task, limits, commands, now)
    )


def container_of(statuses: Any, name: str) -> Mapping[str, Any]:
    """Return the status of a container; empty while there is none."""
    return next((status for status in statuses or () if status.get("name") == name), {})


def _lost(kind: FaultKind, message: str) -> PodState:
    return PodState(stage=Stage.LOST, kind=kind, message=message)


def _lost_witness(witness: Mapping[str, Any]) -> PodState | None:
    """A witness that ended before it was told to, or that was started again, has no record to trust."""
    last = (witness.get("lastState") or {}).get("terminated") or {}
    ended = (witness.get("state") or {}).get("terminated") or {}
    code = last.get("exitCode", ended.get("exitCode"))
    if code == ISOLATION_EXIT:
        return _lost(FaultKind.ISOLATION_UNAVAILABLE, "the network of the pod could not be proven shut")
    if witness.get("restartCount", 0) > 0 or (ended and code != 0):
        reason = last.get("reason") or ended.get("reason") or "Error"
        return _lost(FaultKind.WITNESS_FAILED, f"the witness ended early: {reason}, exit code {code}")
    return None


def _ended(task: Mapping[str, Any], pod: PodView) -> PodState | None:
    ended = (task.get("state") or {}).get("terminated")
    if not ended:
        return None
    never = not_started(ended)
    if never:
        return never
    reason, message = ended.get("reason", ""), ended.get("message", "")
    cut = cut_of(pod)
    if reason == "ContainerStatusUnknown":
        return _lost(*(cut or (FaultKind.NODE_LOST, f"the node has lost the container: {message}")))
    return PodState(
        stage=Stage.ENDED,
        exit_code=int(ended.get("exitCode", -1)),
        oom_killed=reason == "OOMKilled",
        message=message,
        image_id=task.get("imageID", ""),
        cut=cut,
        ended_at=seconds_since_1970(ended.get("finishedAt")),
    )


def not_started(ended: Mapping[str, Any]) -> PodState | None:
    """Return why an ended container never began, a fact about its image or a fault of the node; None if it did."""
    reason, message = ended.get("reason", ""), ended.get("message", "")
    if reason not in ("StartError", "ContainerCannotRun"):
        return None
    if PLATFORM.search(message):
        return PodState(stage=Stage.FACT, kind=OutcomeKind.PLATFORM_MISMATCH, message=message)
    if NO_SHELL.search(message):
        return PodState(stage=Stage.FACT, kind=OutcomeKind.SETUP_FAILED, message=message)
    return _lost(FaultKind.START_FAILED, f"{reason}: {message}")


def cut_of(pod: PodView) -> tuple[FaultKind, str] | None:
    """Return what ended the whole pod from outside, None when nothing did."""
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return FaultKind.DISRUPTED, f"{condition.get('reason', '')}: {condition.get('message', '')}"
    reason = pod.status.get("reason", "")
    if reason in POD_ENDS:
        return POD_ENDS[reason], f"{reason}: {pod.status.get('message', '')}"
    if pod.deleting:
        return FaultKind.POD_VANISHED, "the pod was deleted before its evidence was read"
    return None


def disrupted(pod: PodView) -> PodState | None:
    """Return the fault of a pod that the cluster ended, None when it did not."""
    cut = cut_of(pod)
    if cut:
        return _lost(*cut)
    if pod.status.get("phase") in ("Failed", "Succeeded"):
        reason, message = pod.status.get("reason") or "Failed", pod.status.get("message", "")
        return _lost(FaultKind.START_FAILED, f"{reason}: {message}")
    return None


def unpullable(
    task: Mapping[str, Any], witness: Mapping[str, Any], pod: PodView, limits: Limits, now: float
) -> PodState | None:
    """Return what a container says that waits for its image: a fact, a fault after the pull deadline, or None."""
    waits = (task.get("state") or {}).get("waiting") or {}
    reason, message = waits.get("reason", ""), waits.get("message", "")
    if reason in PULL_REASONS:
        if PLATFORM.search(message):
            return PodState(stage=Stage.FACT, kind=OutcomeKind.PLATFORM_MISMATCH, message=message)
        if reason in ("InvalidImageName", "ErrImageNeverPull") or _is_gone(NAMES.sub("", message)):
            return PodState(stage=Stage.FACT, kind=OutcomeKind.IMAGE_UNAVAILABLE, message=message or reason)
    if reason in STARTING:
        waiting = (witness.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason", ""), f"the witness: {waiting.get('message', '')}"
    placed = condition_time(pod, "PodScheduled")
    if reason not in STARTING and placed and now > placed + limits.pull:
        kind = FaultKind.PULL_TIMEOUT if reason in PULL_REASONS else FaultKind.START_FAILED
        return _lost(kind, f"{reason}: {message}")
    return None


def _is_gone(message: str) -> bool:
    """Whether a message about a pull, without names, says that the image is not there or not for us."""
    return bool(GONE.search(message)) and not (PASSING.search(message) or ON_NODE.search(message))


def waiting(pod: PodView, task: Mapping[str, Any], limits: Limits, commands: int, now: float) -> PodState:
    """Return where a pod stands that has not ended, and when its present clock runs out."""
    started = started_at(task)
    if started:
        deadline = started + limits.setup + limits.test * commands + 2 * FUSE_SECONDS
        if now > deadline:
            return _lost(FaultKind.NODE_LOST, "the node has not reported the end of a run that must be over")
        return PodState(stage=Stage.RUNNING, deadline=deadline)
    placed = condition_time(pod, "PodScheduled")
    if placed:
        deadline = placed + limits.pull
        if now > deadline:
            return _lost(FaultKind.PULL_TIMEOUT, "the containers were not started before the pull deadline")
        return PodState(stage=Stage.STARTING, deadline=deadline)
    deadline = pod.created + limits.queue
    if now > deadline:
        return _lost(FaultKind.QUEUE_TIMEOUT, _unschedulable(pod))
    return PodState(stage=Stage.QUEUED, deadline=deadline, message=_unschedulable(pod))


def started_at(container: Mapping[str, Any]) -> float:
    """Return since when a container runs (epoch seconds); 0 unless it does."""
    return seconds_since_1970(((container.get("state") or {}).get("running") or {}).get("startedAt"))


def condition_time(pod: PodView, kind: str, status: str = "True") -> float:
    """Return since when a pod's condition has a status (epoch seconds); 0 if it has another."""
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == kind and condition.get("status") == status:
            return seconds_since_1970(condition.get("lastTransitionTime"))
    return 0.0


def _unschedulable(pod: PodView) -> str:
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message", ""))
    return "no node has taken the pod"
