"""The line of TaskValidations: from a spec to a verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.lines import Ending, Idle
from assay.controller.memory import Memory, memory_of, status_from
from assay.controller.tasks import TaskUnavailableError, load_bundled
from assay.domain.decide import Knowledge, verdict_in
from assay.domain.documents import report_document
from assay.domain.outcomes import Artifact
from assay.domain.screening import Dropped
from assay.domain.splits import split_conflict
from assay.domain.status import (
    TASK_UNAVAILABLE,
    dropped_status,
    refused_status,
    reopened_status,
    status_of,
    unavailable_status,
)
from assay.domain.task import Refusal
from assay.domain.verdict import Verdict
from assay.kube.client import TASK_VALIDATIONS
from assay.store.artifacts import Store


class ValidationLine:
    """TaskValidations, as ``Reconciler`` drives them."""

    kind = TASK_VALIDATIONS

    def __init__(self, store: Store, cache: Cache, *, review_required: bool = False) -> None:
        self._store = store
        self._cache = cache
        self._review_required = review_required

    async def memory_of(self, raw: Mapping[str, Any]) -> Memory | Idle | Refusal:
        """Return a fresh memory, or the field that keeps the object from being worked on."""
        try:
            bundled = await load_bundled(raw, self._store)
        except TaskUnavailableError as error:
            status = unavailable_status(
                str(error),
                generation=int(raw["metadata"].get("generation", 0)),
                previous=status_from(raw),
                now=time.time(),
            )
            return Idle(status=status, reason=TASK_UNAVAILABLE, error=error)
        if isinstance(bundled, Refusal):
            return bundled
        memory = memory_of(raw, bundled, review_required=self._review_required)
        if isinstance(memory, Refusal):
            return memory
        dropped = memory.dropped or self._conflict(raw, memory.task.repo)
        if dropped:
            return _dropped(raw, memory, dropped)
        assert isinstance(memory.status, api.TaskValidationStatus)
        if memory.status.verdict:
            memory.status = reopened_status(memory.status)
        return memory

    def _conflict(self, raw: Mapping[str, Any], repo: str) -> Dropped | None:
        """Return why a task may not stand beside those of its repository that came before it.

        A task of a bundle tells its repository only here, so that the cache is told.
        """
        view = self._cache.get(raw["metadata"]["uid"])
        if view is None or not view.split or not repo:
            return None
        self._cache.place(view.uid, repo)
        others = self._cache.placed(repo)
        own = [other for other in others if other.uid == view.uid]
        return split_conflict(own[0], others) if own else None

    def refused(
        self, raw: Mapping[str, Any], refusal: Refusal, *, generation: int, now: float
    ) -> api.TaskValidationStatus:
        """Return the verdict on an object that is no task."""
        return refused_status(refusal, generation=generation, previous=status_from(raw), now=now)

    def conclude(self, memory: Memory, known: Knowledge, infra_retries: int) -> Verdict | None:
        """Return the verdict."""
        return verdict_in(known, infra_retries)

    def document(self, memory: Memory, conclusion: Verdict) -> bytes:
        """Return the verdict's report."""
        return report_document(memory.task.id, conclusion, list(memory.outcomes.values()))

    def status(  # noqa: PLR0913 - each argument is one source of the status
        self,
        memory: Memory,
        known: Knowledge,
        conclusion: Verdict | None,
        report: Artifact | None,
        *,
        generation: int,
        now: float,
    ) -> api.TaskValidationStatus:
        """Return the whole status."""
        assert isinstance(memory.status, api.TaskValidationStatus)
        status = status_of(
            known,
            generation=generation,
            previous=memory.status,
            verdict=conclusion,
            report=report,
            platform=memory.platform,
            provenance=memory.provenance,
            now=now,
        )
        told: dict[str, object] = {"source": self._cache.present_name(memory.task.repo)[:300]}
        return status.model_copy(update=told | ({"regrade": memory.regrade} if conclusion else {}))

    def ending(self, conclusion: Verdict) -> Ending:
        """Return what the verdict is told as."""
        return Ending(
            labels=(conclusion.kind, conclusion.reason),
            reason=conclusion.reason,
            message=f"{conclusion.kind}: {conclusion.message}",
        )

    async def closing(self, raw: Mapping[str, Any]) -> Idle | None:
        """Return None: a verdict is all."""
        return None

    def forget(self, uid: str) -> None:
        """Drop nothing: a validation is held by its memory alone."""


def _dropped(raw: Mapping[str, Any], memory: Memory, dropped: Dropped) -> Idle:
    """Return the end of an object whose task is dropped before its first run."""
    status = dropped_status(
        dropped,
        provenance=memory.provenance,
        generation=int(raw["metadata"].get("generation", 0)),
        previous=status_from(raw),
        now=time.time(),
    )
    message = f"{status.verdict}: {dropped.message}"
    labels = (api.Verdict.INVALID.value, dropped.reason.value)
    return Idle(status=status, ending=Ending(labels=labels, reason=dropped.reason, message=message))
