"""An AgentEpisode as the gateway sees it, the manifests and patches it writes, and what a session's state means."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.api.v1alpha1 import API_VERSION, EpisodePhase, SubmissionOutcome

OWNER_LABEL = "assay.dev/owner"
SUBMIT_ANNOTATION = "assay.dev/submit-"
_FINAL = frozenset({EpisodePhase.FINISHED, EpisodePhase.EXPIRED, EpisodePhase.CANCELLED, EpisodePhase.FAILED})


class Stand(StrEnum):
    """What a session can do now."""

    STARTING = "Starting"
    OPEN = "Open"
    GRADING = "Grading"
    FINISHED = "Finished"
    OVER = "Over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One submission as status tells it; counts are (passed, total)."""

    outcome: SubmissionOutcome
    reason: str
    message: str
    reward: float | None
    fail_to_pass: tuple[int, int]
    pass_to_pass: tuple[int, int]
    ignored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeView:
    """The little of an AgentEpisode that the gateway decides on.  ``submitters`` are call ids by submission's number."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: str
    phase: EpisodePhase
    deleting: bool
    cancelled: bool
    validation: str
    environment: str
    network: str
    endpoint: str
    submit: int
    submitters: Mapping[int, str]
    submissions: tuple[Graded, ...]
    most_submissions: int
    calls: int
    most_calls: int
    call_timeout: str
    reason: str
    message: str

    @property
    def final(self) -> bool:
        """Whether nothing more will happen to the episode."""
        return self.phase in _FINAL or self.deleting


def view_of_episode(raw: Mapping[str, Any]) -> EpisodeView:
    """Return the view of an AgentEpisode's JSON."""
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    limits, annotations = spec.get("limits") or {}, metadata.get("annotations") or {}
    return EpisodeView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        version=str(metadata.get("resourceVersion", "")),
        owner=(metadata.get("labels") or {}).get(OWNER_LABEL, ""),
        phase=_phase_of(status.get("phase")),
        deleting=bool(metadata.get("deletionTimestamp")),
        cancelled=bool(spec.get("cancel")),
        validation=spec.get("validation") or "",
        environment=spec.get("environment") or "",
        network=spec.get("network") or "Offline",
        endpoint=status.get("endpoint") or "",
        submit=int(spec.get("submit") or 0),
        submitters=_submitters(annotations),
        submissions=tuple(_graded_of(entry) for entry in status.get("submissions") or ()),
        most_submissions=int(limits.get("submissions") or 3),
        calls=int((status.get("toolCalls") or {}).get("count") or 0),
        most_calls=int(limits.get("toolCalls") or 2_000),
        call_timeout=limits.get("toolCall") or "10m",
        reason=status.get("reason") or "",
        message=status.get("message") or "",
    )


def stand_of(view: EpisodeView) -> Stand:
    """Return what the session can do: status says it, except for a submission that the operator has not seen yet."""
    if view.deleting:
        return Stand.OVER
    if view.phase is EpisodePhase.FINISHED:
        return Stand.FINISHED
    if view.phase in _FINAL or view.cancelled:
        return Stand.OVER
    settled = all(entry.outcome is not SubmissionOutcome.PENDING for entry in view.submissions)
    if view.submit > len(view.submissions) or not settled or view.phase is EpisodePhase.GRADING:
        return Stand.GRADING
    return Stand.OPEN if view.phase is EpisodePhase.READY and view.endpoint else Stand.STARTING


def submission_of_call(view: EpisodeView, identifier: str) -> int:
    """Return the number of the submission that a call asked for, 0 when it asked for none."""
    return next((number for number, call in view.submitters.items() if call == identifier), 0)


def episode_name(owner: str, session: str) -> str:
    """Return the name of the episode of an owner's session: another owner's same session is another episode."""
    return "ep-" + hashlib.sha256(f"{owner}/{session}".encode()).hexdigest()[:40]


def owner_label(owner: str) -> str:
    """Return the label's value for an owner; a name may have any characters, so it is hashed."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


def manifest_of_episode(  # noqa: PLR0913 - the parts of an episode
    *, name: str, namespace: str, owner: str, task: str, environment: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a new AgentEpisode; ``settings`` are further fields of its spec, which no client can change."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentEpisode",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                OWNER_LABEL: owner_label(owner),
                "app.kubernetes.io/part-of": "assay",
                "app.kubernetes.io/created-by": "assay-gateway",
            },
        },
        "spec": {**settings, "validation": task, "environment": environment[:63]},
    }


def submit_patch(view: EpisodeView, identifier: str) -> dict[str, Any]:
    """Return the patch that asks for the next submission, on the condition that nothing has changed meanwhile."""
    number = view.submit + 1
    return {
        "metadata": {
            "resourceVersion": view.version,
            "uid": view.uid,
            "annotations": {f"{SUBMIT_ANNOTATION}{number}": identifier},
        },
        "spec": {"submit": number},
    }


def _submitters(annotations: Mapping[str, str]) -> dict[int, str]:
    numbers = {
        key.removeprefix(SUBMIT_ANNOTATION): call
        for key, call in annotations.items()
        if key.startswith(SUBMIT_ANNOTATION)
    }
    return {int(number): call for number, call in sorted(numbers.items()) if number.isdecimal()}


def _phase_of(said: Any) -> EpisodePhase:
    """A phase that this version does not know says nothing yet."""
    return EpisodePhase(said) if said in set(EpisodePhase) else EpisodePhase.PENDING


def _graded_of(entry: Mapping[str, Any]) -> Graded:
    outcome = entry.get("outcome")
    return Graded(
        outcome=SubmissionOutcome(outcome) if outcome in set(SubmissionOutcome) else SubmissionOutcome.PENDING,
        reason=entry.get("reason") or "",
        message=entry.get("message") or "",
        reward=entry.get("reward"),
        fail_to_pass=_rate(entry.get("failToPass")),
        pass_to_pass=_rate(entry.get("passToPass")),
        ignored=int((entry.get("ignored") or {}).get("count") or 0),
    )


def _rate(rate: Mapping[str, Any] | None) -> tuple[int, int]:
    return int((rate or {}).get("passed") or 0), int((rate or {}).get("total") or 0)
