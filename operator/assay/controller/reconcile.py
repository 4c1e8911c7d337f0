"""One pass over one object: recall, look, decide, act.

The decisions are ``assay.domain.decide``'s; here is only the order of the effects, which is what makes a kill at any
point harmless: evidence is stored before status speaks of it, status is written before a pod is deleted, and a pod's
name is known before it is made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller import metrics
from assay.controller.attempts import Attempts
from assay.controller.cache import Cache, ObjectView
from assay.controller.events import Recorder
from assay.controller.lines import Ending, Idle, Line, Status, ready
from assay.controller.memory import Memory, restore, runs_in, vanished
from assay.controller.queue import WorkQueue
from assay.controller.slots import Slots
from assay.domain.decide import (
    Attempt,
    Decision,
    Knowledge,
    decide_until,
)
from assay.domain.evidence import commands_in
from assay.domain.manifests import Inputs, RunSettings, grading_inputs_of, inputs_of, pod_of
from assay.domain.outcomes import Artifact, FaultKind
from assay.domain.plan import Run, limits_of_run, pod_name
from assay.domain.pods import VANISHED, PodState, PodView, state_of, view_of
from assay.domain.rules.finding import counted
from assay.domain.submissions import Applied
from assay.domain.task import Refusal
from assay.kube.client import PODS, ApiError, Client
from assay.kube.pods import ensure_pod, ensure_secrets
from assay.store.artifacts import ArtifactLostError, Store

log = logging.getLogger(__name__)

MAX_TURNS = 10
IDLE_MEMORIES = 300
"""Objects held at once before those without a pod are read again when their turn comes: a task may have megabytes."""


def unsaid_of(status: Status) -> Iterator[str]:
    """Yield the fields that a status does not say: a merge would keep what an earlier one said there."""
    for name, field in type(status).model_fields.items():
        if getattr(status, name) is None:
            yield field.alias or name


class Reconciler:
    """Brings objects to their ends, one pass at a time."""

    def __init__(  # noqa: PLR0913 - the collaborators of a pass
        self,
        *,
        client: Client,
        cache: Cache,
        queue: WorkQueue[str],
        slots: Slots,
        store: Store,
        recorder: Recorder,
        lines: Mapping[str, Line[Any]],
        template: Mapping[str, Any],
        scripts: Mapping[str, bytes],
        inspector: bytes = b"",
        infra_retries: int,
    ) -> None:
        self._client = client
        self._cache = cache
        self._queue = queue
        self._slots = slots
        self._store = store
        self._recorder = recorder
        self._lines = lines
        self._template = template
        self._scripts = scripts
        self._inspector = inspector
        self._infra_retries = infra_retries
        self._memories: dict[str, Memory] = {}
        self._attempts = Attempts(client, store, recorder)
        self.run_settings: RunSettings | None = None

    async def reconcile(self, uid: str) -> None:
        """Make one pass over the object; raise to have it tried again later."""
        view = self._cache.get(uid)
        if view is None or view.deleting:
            self._forget(uid)
            return
        if view.complete:
            await self._settle(view)
            return
        line = self._lines[view.kind]
        memory = self._held(view) or await self._recall(view)
        if memory is None:
            self.withdraw(uid)
            return
        known, decision = await self._absorb_all(view, memory)
        verdict, report = decision.verdict, None
        if verdict:
            report = await self._put(line.document(memory, verdict))
        begins = not (verdict or memory.status.observed_generation)
        if begins:
            await self._begin(view, memory, decision)
        elif self._worth_writing(memory, known, verdict):
            view = await self._commit(view, memory, known, verdict, report)
            decision = replace(decision, delete=(*decision.delete, *self._said(memory)))
        for pod in {pod.uid: pod for pod in decision.delete}.values():
            await self._delete(pod)
        if verdict:
            self._forget(uid)
            latest = self._cache.get(uid) or view  # an edit may have come while the pods were deleted
            if not latest.complete or self._cache.pods_of(uid):  # an episode goes on, or its sandbox has to go
                self._queue.add(uid)
            return
        if not begins:
            await self._create_all(view, memory, decision)
        self._release_idle(uid, memory)
        if decision.wake_at:
            self._queue.add_at(uid, time.monotonic() + max(0.0, decision.wake_at - time.time()) + 0.1)

    def _held(self, view: ObjectView) -> Memory | None:
        """Return what is held of an object, unless its statement was decided on since."""
        memory = self._memories.get(view.uid)
        return memory if memory and memory.decision == view.decision else None

    async def _recall(self, view: ObjectView) -> Memory | None:
        raw = await self._client.get(self._lines[view.kind].kind, view.namespace, view.name)
        if raw["metadata"]["uid"] != view.uid:
            return None
        memory = await self._lines[view.kind].memory_of(raw)
        if isinstance(memory, Idle):
            await self._idle(view, raw, memory)
            return None
        if isinstance(memory, Refusal):
            await self._refuse(view, raw, memory)
            return None
        try:
            await restore(memory, self._store)
        except ArtifactLostError as lost:
            log.warning("%s: stored evidence is gone, the runs are made again: %s", view.name, lost)
            memory.outcomes.clear()
            memory.committed, memory.pinned = frozenset(), ""
        self._memories[view.uid] = memory
        planned = {run.name for run in memory.plan.runs}
        for pod in self._cache.pods_of(view.uid):
            if pod.active and pod.run in planned:
                self._slots.hold(view.uid, pod.name)
        return memory

    async def _refuse(self, view: ObjectView, raw: Mapping[str, Any], refusal: Refusal) -> None:
        status = self._lines[view.kind].refused(raw, refusal, generation=view.generation, now=time.time())
        await self._patch(view, status)
        word = status.verdict if isinstance(status, api.TaskValidationStatus) else "NotGraded"
        metrics.ENDINGS[view.kind].labels(word, status.reason).inc()
        self._recorder.warning(view, "MalformedTask", str(refusal))

    async def _idle(self, view: ObjectView, raw: Mapping[str, Any], idle: Idle) -> None:
        told = type(idle.status).model_validate(raw.get("status") or {})
        if told != idle.status:
            await self._patch(view, idle.status)
            if idle.error:
                self._recorder.warning(view, idle.reason, str(idle.error))
        if idle.error:
            raise idle.error
        if idle.ending:
            self._tell(view, idle.ending)
        if idle.again_seconds:
            self._queue.add_at(view.uid, time.monotonic() + idle.again_seconds)

    async def _absorb_all(self, view: ObjectView, memory: Memory) -> tuple[Knowledge, Decision[Any]]:
        line = self._lines[view.kind]

        def conclude(known: Knowledge) -> Any:
            return line.conclude(memory, known, self._infra_retries)

        for _ in range(MAX_TURNS):
            known = self._known(view, memory)
            decision = decide_until(known, now=time.time(), conclude=conclude)
            if not (decision.read or decision.lost or decision.facts):
                if decision.verdict is None:
                    memory.judged = frozenset(known.outcomes)
                return known, decision
            for attempt in decision.read:
                await self._attempts.read(view, memory, attempt)
            for attempt in decision.lost:
                assert isinstance(attempt.state.kind, FaultKind)
                self._attempts.lose(view, memory, attempt, attempt.state.kind, attempt.state.message)
            for attempt in decision.facts:
                await self._attempts.take_fact(memory, attempt)
        raise RuntimeError(f"{view.name}: no decision after {MAX_TURNS} turns")

    def _known(self, view: ObjectView, memory: Memory) -> Knowledge:
        runs = {run.name: run for run in memory.plan.runs}
        now = time.time()
        pods = [pod for pod in self._cache.pods_of(view.uid) if pod.run in runs and pod.epoch == memory.owner.epoch]
        attempts = [
            *(Attempt(run=runs[pod.run], pod=pod, state=_state_of(runs[pod.run], pod, memory, now)) for pod in pods),
            *(Attempt(run=runs[pod.run], pod=pod, state=VANISHED) for pod in vanished(memory, pods)),
        ]
        return Knowledge(
            task=memory.task,
            plan=memory.plan,
            profile=memory.profile,
            attempts=attempts,
            outcomes=dict(memory.outcomes),
            faults=dict(memory.faults),
            committed=memory.committed,
            judged=memory.judged,
            pinned=memory.pinned,
            suspended=view.suspended,
            cancelled=view.cancelled,
        )

    @staticmethod
    def _worth_writing(memory: Memory, known: Knowledge, verdict: Any) -> bool:
        """Three writes an object: the beginning, the pinned image, the verdict; one more for each fault."""
        written = memory.status
        planned = {run.name for run in known.plan.runs}
        told = {
            entry.name: entry.faults[-1].attempt for entry in runs_in(written) if entry.faults and entry.name in planned
        }
        lost = {name: faults[-1].attempt for name, faults in known.faults.items() if faults}
        pinned = known.plan.first.name in known.outcomes and known.plan.first.name not in known.committed
        suspended = any(condition.reason == "Suspended" for condition in written.conditions)
        return bool(verdict or pinned or told != lost or suspended != known.suspended)

    async def _commit(
        self, view: ObjectView, memory: Memory, known: Knowledge, verdict: Any, report: Artifact | None
    ) -> ObjectView:
        line = self._lines[view.kind]
        status = line.status(memory, known, verdict, report, generation=view.generation, now=time.time())
        first = not memory.status.observed_generation
        view = await self._patch(view, status)
        memory.status, memory.committed = status, frozenset(known.outcomes)
        if verdict:
            self._tell(view, line.ending(verdict))
        elif first:
            self._recorder.normal(view, "TaskAccepted", f"{counted(len(known.plan.runs), 'run')} planned")
        return view

    def _tell(self, view: ObjectView, end: Ending) -> None:
        metrics.ENDINGS[view.kind].labels(*end.labels).inc()
        log.info("%s: %s, %s", view.name, end.reason, end.message)
        self._recorder.normal(view, end.reason, end.message)

    async def _patch(self, view: ObjectView, status: Status) -> ObjectView:
        """Write a status, on the version of the object that the decision was made on."""
        said = dict.fromkeys(unsaid_of(status)) | api.to_wire(status)
        patch = {"metadata": {"resourceVersion": str(view.resource_version)}, "status": said}
        try:
            raw = await self._client.patch_status(self._lines[view.kind].kind, view.namespace, view.name, patch)
        except ApiError as error:
            if error.status == 404:
                self._cache.drop_object(view.uid)
            if error.status == 409:
                self._cache.see_object(await self._client.get(self._lines[view.kind].kind, view.namespace, view.name))
            raise
        return self._cache.see_object(raw)

    def _said(self, memory: Memory) -> list[PodView]:
        return [pod for pod in self._cache.pods_of(memory.owner.uid) if pod.run in memory.committed]

    async def _begin(self, view: ObjectView, memory: Memory, decision: Decision[Any]) -> None:
        """Make the first pods, then write the first status: it tells of them, and holds none of them up."""
        try:
            await self._create_all(view, memory, decision)
        finally:
            await self._commit(view, memory, self._known(view, memory), None, None)

    async def _create_all(self, view: ObjectView, memory: Memory, decision: Decision[Any]) -> None:
        if not decision.create:
            self.withdraw(view.uid)
        for run, attempt in decision.create:
            await self._create(view, memory, run, attempt)

    async def _create(self, view: ObjectView, memory: Memory, run: Run, attempt: int) -> None:
        settings = ready(self.run_settings)
        name = pod_name(uid=view.uid, epoch=memory.owner.epoch, run=run.name, attempt=attempt)
        if not self._slots.take(view.uid, name, priority=view.priority, since=view.created):
            return
        try:
            if not memory.files:
                inputs = self._inputs(memory)
                await ensure_secrets(self._client, inputs.secrets)
                memory.files = inputs.files
            pod = pod_of(
                run,
                attempt,
                owner=memory.owner,
                task=memory.task,
                limits=memory.limits,
                files=memory.files,
                image=memory.pinned or memory.task.image,
                template=self._template,
                settings=settings,
            )
            made = await ensure_pod(self._client, pod)
            self._cache.see_pod(made)
            memory.seen[run.name] = view_of(made)
        except BaseException:
            self.call_next(name)
            raise
        metrics.PODS_CREATED.inc()

    def _inputs(self, memory: Memory) -> Inputs:
        grading = memory.grading
        if grading is None:
            return inputs_of(memory.task, memory.owner, self._scripts, self._inspector)
        assert isinstance(grading.submission, Applied)
        return grading_inputs_of(memory.task, memory.owner, self._scripts, grading.submission, grading.number)

    async def _delete(self, pod: PodView) -> None:
        await self._client.delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace=1)
        self._cache.drop_pod(pod.uid)
        self.call_next(pod.name)

    async def _settle(self, view: ObjectView) -> None:
        """A verdict is final: delete what pods are left, take the last count, and follow the generation."""
        self._forget(view.uid)
        for pod in self._cache.pods_of(view.uid):
            await self._delete(pod)
        if view.uncounted:
            raw = await self._client.get(self._lines[view.kind].kind, view.namespace, view.name)
            closing = await self._lines[view.kind].closing(raw)
            if closing:
                await self._idle(view, raw, closing)
        elif view.observed != view.generation:
            patch = {
                "metadata": {"resourceVersion": str(view.resource_version)},
                "status": {"observedGeneration": view.generation},
            }
            self._cache.see_object(
                await self._client.patch_status(self._lines[view.kind].kind, view.namespace, view.name, patch)
            )

    def call_next(self, pod_name_: str) -> None:
        """Give back a pod's place and look at the object that waits for one."""
        waiting = self._slots.free(pod_name_)
        if waiting:
            self._queue.add(waiting)

    def withdraw(self, uid: str) -> None:
        """Drop the claim of an object that makes no use of it now, and look at the next one; it asks again when it does."""
        self._slots.forget(uid)
        waiting = self._slots.next()
        if waiting:
            self._queue.add(waiting)

    def _release_idle(self, uid: str, memory: Memory) -> None:
        """Drop what can be read again of an object that has only begun to wait, when many are held."""
        begun = memory.outcomes or memory.faults or self._cache.pods_of(uid)
        if not begun and len(self._memories) > IDLE_MEMORIES:
            del self._memories[uid]

    def _forget(self, uid: str) -> None:
        self._memories.pop(uid, None)
        for line in self._lines.values():
            line.forget(uid)
        self.withdraw(uid)
        self._queue.forget(uid)

    async def _put(self, content: bytes) -> Artifact:
        return await asyncio.to_thread(self._store.put, content)


def _state_of(run: Run, pod: PodView, memory: Memory, now: float) -> PodState:
    return state_of(pod, limits_of_run(run, memory.limits), commands_in(run, memory.task), now)
