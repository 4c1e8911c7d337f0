"""The line of AgentEpisodes: from a prediction to its grade, and from a sandbox's submission to its.

The sandbox itself is ``assay.controller.sandboxes``': it says when there is a submission to grade, which then goes the
way of a prediction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.controller.lines import Ending, Idle, grade_ending
from assay.controller.memory import Memory, refusal_of
from assay.controller.sandbox_pods import Episode
from assay.controller.sandboxes import SandboxDriver
from assay.controller.tasks import TaskUnavailableError, load_bundled
from assay.domain.decide import Knowledge
from assay.domain.episodes import (
    Grading,
    cancelled_episode,
    episode_epoch,
    grade_document,
    grade_in,
    grading_of,
    inline_expectation,
    prediction_bytes,
    prediction_status,
    refused_episode,
    sandbox_grading_status,
    validated_expectation,
    waiting_episode,
)
from assay.domain.goproxy.policies import policy_of_episode
from assay.domain.grading import Expectation, Grade, RewardMode
from assay.domain.manifests import Owner
from assay.domain.outcomes import Artifact
from assay.domain.plan import plan_grading
from assay.domain.status import TASK_UNAVAILABLE
from assay.domain.task import Refusal, Task, limits_of, profile_of, seconds_of, task_from_spec
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, ApiError, Client
from assay.store.artifacts import ArtifactLostError, Store

AGAIN_SECONDS = 15.0
"""How often an episode looks for what it waits for outside of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an episode works on: the task, what is expected of it, its image by digest where that is known, its Go policy."""

    task: Task
    expected: Expectation
    pinned: str = ""
    go_policy: api.GoPolicy | None = None


class EpisodeLine:
    """AgentEpisodes, as ``Reconciler`` drives them."""

    kind = AGENT_EPISODES

    def __init__(self, client: Client, store: Store, sandboxes: SandboxDriver | None = None) -> None:
        self._client = client
        self._store = store
        self._sandboxes = sandboxes
        self._tasks: dict[str, Given] = {}

    async def memory_of(self, raw: Mapping[str, Any]) -> Memory | Idle | Refusal:
        """Return a fresh memory of a prediction, what it waits for, or the field that keeps it from being graded."""
        try:
            spec = api.AgentEpisodeSpec.model_validate(raw.get("spec") or {})
        except ValidationError as error:
            return refusal_of(error)
        if spec.submission is None:
            return await self._sandbox(raw, spec)
        content = await self._prediction(spec.submission)
        given = await self._given(raw, spec)
        if isinstance(given, Refusal | Idle):
            return given
        if isinstance(content, Refusal):
            return content
        return await self._memory(raw, spec, given, content)

    async def _sandbox(self, raw: Mapping[str, Any], spec: api.AgentEpisodeSpec) -> Memory | Idle | Refusal:
        """Take the sandbox's next step; a submission that is to be graded becomes a memory."""
        if self._sandboxes is None:
            message = "the operator has no master key, from which the keys of sandboxes are made"
            return self._waits(raw, "SandboxReady", "MasterKeyMissing", message, AGAIN_SECONDS)
        if spec.agent and not spec.validation:
            return Refusal(
                field="spec.validation", why="must be given with an agent: the gateway serves validated tasks"
            )
        uid = raw["metadata"]["uid"]
        given = self._tasks.get(uid) or await self._given(raw, spec)
        limits = limits_of(spec)
        if isinstance(given, Refusal | Idle):
            return given
        if isinstance(limits, Refusal):
            return limits
        policy = policy_of_episode(spec, given.go_policy)
        if isinstance(policy, Refusal):
            return policy
        self._tasks[uid] = given
        episode = Episode(
            raw=raw,
            spec=spec,
            status=_status_from(raw),
            owner=_owner(raw, spec),
            task=given.task,
            limits=limits,
            pinned=given.pinned,
            go_policy=policy,
        )
        step = await self._sandboxes.step(episode)
        if isinstance(step, Idle):
            return step
        grading = replace(grading_of(step.content, given.task, given.expected, RewardMode(spec.reward)), diff=step.diff)
        return self._grading_memory(raw, spec, given.task, step.pinned, replace(grading, number=step.number))

    async def _memory(
        self, raw: Mapping[str, Any], spec: api.AgentEpisodeSpec, given: Given, content: bytes
    ) -> Memory | Refusal:
        grading = grading_of(content, given.task, given.expected, RewardMode(spec.reward))
        diff = await asyncio.to_thread(self._store.put, content)
        return self._grading_memory(raw, spec, given.task, given.pinned, replace(grading, diff=diff))

    @staticmethod
    def _grading_memory(
        raw: Mapping[str, Any], spec: api.AgentEpisodeSpec, task: Task, pinned: str, grading: Grading
    ) -> Memory | Refusal:
        limits, profile = limits_of(spec), profile_of(spec)
        if isinstance(limits, Refusal):
            return limits
        if isinstance(profile, Refusal):
            return profile
        return Memory(
            owner=_owner(raw, spec),
            task=task,
            limits=replace(limits, test=seconds_of(spec.limits.test)),
            plan=plan_grading(grading.number),
            profile=profile,
            status=_status_from(raw),
            grading=grading,
            pinned=pinned,
            sandboxed=spec.submission is None,
        )

    async def _prediction(self, said: api.Submission) -> bytes | Refusal:
        if said.digest is None or said.patch is not None or said.patch_base64 is not None:
            return prediction_bytes(said)
        try:
            return await asyncio.to_thread(self._store.get, said.digest)
        except ArtifactLostError as lost:
            return Refusal(field="spec.submission.digest", why=str(lost))

    async def _given(self, raw: Mapping[str, Any], spec: api.AgentEpisodeSpec) -> Given | Idle | Refusal:
        if spec.validation is not None:
            return await self._validated(raw, spec.validation)
        said = spec.task or await self._bundled(raw)
        if not isinstance(said, api.Task):
            return said
        task = task_from_spec(said)
        expected = inline_expectation(task) if isinstance(task, Task) else task
        if isinstance(task, Refusal) or isinstance(expected, Refusal):
            return task if isinstance(task, Refusal) else expected  # type: ignore[return-value]
        return Given(task=task, expected=expected)

    async def _validated(self, raw: Mapping[str, Any], name: str) -> Given | Idle | Refusal:
        try:
            found = await self._client.get(TASK_VALIDATIONS, raw["metadata"]["namespace"], name)
        except ApiError as error:
            if error.status != 404:
                raise
            return self._waits(
                raw, "Accepted", "ValidationMissing", f"there is no TaskValidation {name}", AGAIN_SECONDS
            )
        validation = api.TaskValidation.model_validate(found)
        status = validation.status
        if status.verdict is None:
            return self._waits(raw, "Accepted", "ValidationPending", f"{name} has no verdict yet", AGAIN_SECONDS)
        if status.verdict is not api.Verdict.VALID or status.report is None:
            return Refusal(
                field="spec.validation", why=f"{name} is {status.verdict}: {status.reason}: {status.message}"
            )
        given = validation.spec.task or await self._bundled(raw, found)
        if not isinstance(given, api.Task):
            return given
        task = task_from_spec(given)
        if isinstance(task, Refusal):
            return task
        try:
            report = await asyncio.to_thread(self._store.get, status.report.sha256)
        except ArtifactLostError as lost:
            return self._waits(raw, "Accepted", "EvidenceLost", f"the report of {name} is gone: {lost}", AGAIN_SECONDS)
        expected = validated_expectation(task, status, report)
        if isinstance(expected, Refusal):
            return expected
        parser = (status.regrade.parser if status.regrade else "") or task.parser
        return Given(
            task=replace(task, parser=parser),
            expected=expected,
            pinned=status.image.digest if "@sha256:" in status.image.digest else "",
            go_policy=validation.spec.go_policy,
        )

    async def _bundled(
        self, raw: Mapping[str, Any], referring: Mapping[str, Any] | None = None
    ) -> api.Task | Idle | Refusal:
        """Return the task that an object (the episode itself, if none is given) refers to in the store."""
        try:
            found = await load_bundled(referring or raw, self._store)
        except TaskUnavailableError as error:
            return self._waits(raw, "Accepted", TASK_UNAVAILABLE, str(error), AGAIN_SECONDS)
        return found or Refusal(field="spec.task", why="one of task, taskFrom and validation must be given")

    @staticmethod
    def _waits(raw: Mapping[str, Any], condition: str, reason: str, message: str, again: float) -> Idle:
        generation, previous, now = int(raw["metadata"].get("generation", 0)), _status_from(raw), time.time()
        if raw["spec"].get("cancel"):
            ended = cancelled_episode(generation=generation, previous=previous, now=now)
            return Idle(status=ended, ending=grade_ending(None, ended.reason, ended.message))
        status = waiting_episode(condition, reason, message, generation=generation, previous=previous, now=now)
        return Idle(status=status, again_seconds=again)

    def refused(
        self, raw: Mapping[str, Any], refusal: Refusal, *, generation: int, now: float
    ) -> api.AgentEpisodeStatus:
        """Return the final status of an episode that cannot be worked on."""
        return refused_episode(refusal, generation=generation, previous=_status_from(raw), now=now)

    def conclude(self, memory: Memory, known: Knowledge, infra_retries: int) -> Grade | None:
        """Return the grade."""
        assert memory.grading
        return grade_in(known, memory.grading, infra_retries)

    def document(self, memory: Memory, conclusion: Grade) -> bytes:
        """Return the grade's report."""
        assert memory.grading
        outcome = memory.outcomes.get(memory.plan.first.name)
        return grade_document(memory.task.id, memory.profile.name, memory.grading, conclusion, outcome)

    def status(  # noqa: PLR0913 - each argument is one source of the status
        self,
        memory: Memory,
        known: Knowledge,
        conclusion: Grade | None,
        report: Artifact | None,
        *,
        generation: int,
        now: float,
    ) -> api.AgentEpisodeStatus:
        """Return the whole status."""
        assert memory.grading
        assert isinstance(memory.status, api.AgentEpisodeStatus)
        status_of = sandbox_grading_status if memory.sandboxed else prediction_status
        return status_of(
            known,
            memory.grading,
            generation=generation,
            previous=memory.status,
            grade=conclusion,
            report=report,
            platform=memory.platform,
            now=now,
        )

    def ending(self, conclusion: Grade) -> Ending:
        """Return what the grade is told as."""
        return grade_ending(conclusion.reward, conclusion.reason, conclusion.message)

    async def closing(self, raw: Mapping[str, Any]) -> Idle | None:
        """Take the last count of what the sandbox of an episode that is over has used of the module gateway."""
        if self._sandboxes is None:
            return None
        return await self._sandboxes.closing(raw, _status_from(raw))

    def forget(self, uid: str) -> None:
        """Drop an episode's task, and what is known of its sandbox."""
        self._tasks.pop(uid, None)
        if self._sandboxes:
            self._sandboxes.forget(uid)


def _owner(raw: Mapping[str, Any], spec: api.AgentEpisodeSpec) -> Owner:
    metadata = raw["metadata"]
    return Owner(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        epoch=episode_epoch(spec),
        kind="AgentEpisode",
    )


def _status_from(raw: Mapping[str, Any]) -> api.AgentEpisodeStatus:
    """Return the status of an episode's JSON; one that does not parse is as none."""
    try:
        return api.AgentEpisodeStatus.model_validate(raw.get("status") or {})
    except ValidationError:
        return api.AgentEpisodeStatus()
