"""What becomes of an attempt: its record is read, checked, parsed and stored, or it is lost to a fault.

Evidence is stored before a memory speaks of it; a fault is never an outcome.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from assay.controller import metrics
from assay.controller.cache import ObjectView
from assay.controller.events import Recorder
from assay.controller.memory import Memory
from assay.domain.decide import Attempt, FaultRecord, digest_of, mismatched, pinned_image
from assay.domain.documents import outcome_document
from assay.domain.evidence import (
    AttemptFault,
    fault_of,
    fault_without_log,
    fault_without_record,
    outcome_of,
    platform_of,
)
from assay.domain.outcomes import Artifact, FaultKind, OutcomeKind, RunOutcome
from assay.domain.pods import waits_of
from assay.kube.client import ApiError, Client
from assay.kube.evidence import read_evidence
from assay.store.artifacts import Store
from assay.witness.record import Record, RecordFault

log = logging.getLogger(__name__)

READERS = 8
"""Records read at once: each may have 64 MiB."""

UNSTARTED = frozenset({FaultKind.PULL_TIMEOUT, FaultKind.START_FAILED})
"""Faults of attempts that a node took and did not start."""


class Attempts:
    """Turns attempts into outcomes and faults of their object's memory."""

    def __init__(self, client: Client, store: Store, recorder: Recorder) -> None:
        self._client = client
        self._store = store
        self._recorder = recorder
        self._readers = asyncio.Semaphore(READERS)

    async def read(self, view: ObjectView, memory: Memory, attempt: Attempt) -> None:
        """Read and store what an ended attempt left; it is an outcome, or lost."""
        pod = attempt.pod
        try:
            async with self._readers:
                record = await read_evidence(self._client, pod.namespace, pod.name)
                fault = fault_of(record, attempt.state)
                if fault:
                    self.lose(view, memory, attempt, fault.kind, fault.message)
                    return
                outcome, stored = await asyncio.to_thread(self._digest, memory, attempt, record)
        except RecordFault as broken:
            fault = fault_without_record(attempt.state, str(broken))
            self.lose(view, memory, attempt, fault.kind, fault.message)
            return
        except ApiError as error:
            found = self._without_log(attempt, error)
            if found is None:
                raise
            self.lose(view, memory, attempt, found.kind, found.message)
            return
        if not outcome.truncated and stored.sha256 != record.sha256:
            self.lose(view, memory, attempt, FaultKind.EVIDENCE_INCOMPLETE, "the stored log has another hash")
            return
        memory.platform = memory.platform or platform_of(record)
        queued, started = waits_of(pod)
        outcome = replace(outcome, log=stored, queue_seconds=queued, start_seconds=started)
        await self._keep(view, memory, attempt, outcome)
        metrics.LOG_BYTES.inc(len(record.merged))

    @staticmethod
    def _without_log(attempt: Attempt, error: ApiError) -> AttemptFault | None:
        """Return the fault of an attempt whose log cannot be had; None when it is worth asking again."""
        if error.status == 404:
            return fault_without_record(attempt.state, str(error), FaultKind.POD_VANISHED)
        if 400 <= error.status < 500:  # the API server's own refusal says nothing of the node
            return None
        return fault_without_log(attempt.state, str(error), time.time())

    def _digest(self, memory: Memory, attempt: Attempt, record: Record) -> tuple[RunOutcome, Artifact]:
        """Parse and store a run's log: one trip to a thread, which costs more than either for a usual log."""
        merged = memory.profile.text == "merged"
        outcome = outcome_of(attempt.run, attempt.pod.attempt, memory.task, record, attempt.state, merged=merged)
        return outcome, self._store.put(record.merged)

    async def take_fact(self, memory: Memory, attempt: Attempt) -> None:
        """Take what a pod says of the task without a record: an image that is not there, for one."""
        assert isinstance(attempt.state.kind, OutcomeKind)
        outcome = RunOutcome(
            run=attempt.run, attempt=attempt.pod.attempt, kind=attempt.state.kind, message=attempt.state.message[:1000]
        )
        await self._store_outcome(memory, outcome)

    async def _keep(self, view: ObjectView, memory: Memory, attempt: Attempt, outcome: RunOutcome) -> None:
        if mismatched(memory.outcomes.get(memory.plan.first.name), outcome):
            message = f"the run used {digest_of(outcome.image_id)}, not the object's image"
            self.lose(view, memory, attempt, FaultKind.IMAGE_MISMATCH, message)
            return
        await self._store_outcome(memory, outcome)
        if attempt.run == memory.plan.first:
            memory.pinned = pinned_image(memory.task.image, outcome.image_id)
        log.info("%s: %s is %s, exit code %s", view.name, attempt.run.name, outcome.kind, outcome.exit_code)

    async def _store_outcome(self, memory: Memory, outcome: RunOutcome) -> None:
        document = await asyncio.to_thread(self._store.put, outcome_document(outcome))
        memory.outcomes[outcome.run.name] = replace(outcome, results_artifact=document)
        metrics.RUNS.labels(outcome.kind).inc()

    def lose(self, view: ObjectView, memory: Memory, attempt: Attempt, kind: FaultKind, message: str) -> None:
        """Note that an attempt says nothing of the task, and why."""
        name = attempt.run.name
        fault = FaultRecord(attempt=attempt.pod.attempt, kind=kind, message=message[:300], at=time.time())
        memory.faults[name] = (*memory.faults.get(name, ()), fault)
        if kind in UNSTARTED:
            memory.files = ()  # made again where they are not there: a Secret may be what the pod waited for
        metrics.ATTEMPTS_LOST.labels(kind).inc()
        log.warning("%s: attempt %s of %s is lost: %s: %s", view.name, fault.attempt, name, kind, message)
        self._recorder.warning(view, kind, f"attempt {fault.attempt} of {name} is lost: {message}")
