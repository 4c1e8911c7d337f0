"""What is peculiar to one kind of object: how it is read, what it ends with and what its status says.

``Reconciler`` has the order of effects that all kinds share; it asks the object's line for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from assay.api import v1alpha1 as api
from assay.controller.memory import Memory
from assay.domain.decide import Knowledge
from assay.domain.manifests import RunSettings
from assay.domain.outcomes import Artifact
from assay.domain.task import Refusal
from assay.kube.client import Kind

Conclusion = TypeVar("Conclusion")
Status = api.TaskValidationStatus | api.AgentEpisodeStatus


class NotReadyError(Exception):
    """The operator cannot make a pod yet; it is tried again."""


def ready(settings: RunSettings | None) -> RunSettings:
    """Return what pods are made with.  ``NotReadyError`` while there is no control of isolation, and so no settings."""
    if settings is None:
        raise NotReadyError("no address that the operator reaches can serve as the control of isolation")
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What an object's end is told as: metric labels, the event's reason and message."""

    labels: tuple[str, str]
    reason: str
    message: str


def grade_ending(reward: float | None, reason: str, message: str) -> Ending:
    """Return what a grade is told as; ``reward`` is None when nothing was graded."""
    word, told = ("NotGraded", "") if reward is None else ("Graded", f"reward {reward:g}: ")
    return Ending(labels=(word, reason), reason=reason, message=told + message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """An object with nothing to do now: what its status says, and after how many seconds to look again (0: by events).

    ``error``: why it cannot be worked on yet; it is told as an event of ``reason`` and tried again like any failure.
    ``ending``: what the object ends with, when that status is its last.
    """

    status: Status
    again_seconds: float = 0.0
    reason: str = ""
    error: Exception | None = None
    ending: Ending | None = None


class Line(Protocol[Conclusion]):
    """One kind of object."""

    kind: Kind

    async def memory_of(self, raw: Mapping[str, Any]) -> Memory | Idle | Refusal:
        """Return a fresh memory of an object's JSON; may read the cluster and the store."""

    def refused(self, raw: Mapping[str, Any], refusal: Refusal, *, generation: int, now: float) -> Status:
        """Return the final status of an object that cannot be worked on."""

    def conclude(self, memory: Memory, known: Knowledge, infra_retries: int) -> Conclusion | None:
        """Return what the object ends with, as soon as what is known decides it."""

    def document(self, memory: Memory, conclusion: Conclusion) -> bytes:
        """Return the report that is stored with the end."""

    def status(  # noqa: PLR0913 - each argument is one source of the status
        self,
        memory: Memory,
        known: Knowledge,
        conclusion: Conclusion | None,
        report: Artifact | None,
        *,
        generation: int,
        now: float,
    ) -> Status:
        """Return the whole status."""

    def ending(self, conclusion: Conclusion) -> Ending:
        """Return what the end is told as."""

    async def closing(self, raw: Mapping[str, Any]) -> Idle | None:
        """Return what an object that has ended still waits for or is to be told, None for nothing."""

    def forget(self, uid: str) -> None:
        """Drop what is held of an object that has ended, or is gone."""
