"""Episodes whose agent works in a sandbox: one step of one episode, its effects in the order that survives a kill.

The decisions are ``assay.domain.sandboxes``'.  A diff is stored before status tells of the submission, status tells of
it before it is graded, and the sandbox is let go only after status says that nothing was graded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from assay.api import v1alpha1 as api
from assay.controller import metrics
from assay.controller.cache import Cache
from assay.controller.lines import Idle, grade_ending
from assay.controller.sandbox_pods import Episode, SandboxPods, SandboxSettings
from assay.domain.agents import AGENT_RUN
from assay.domain.decide import pinned_image
from assay.domain.goproxy.usage import COUNT_SECONDS, counted_status, egress_of, may_grow
from assay.domain.keys import go_token, sandbox_key, sha256_of
from assay.domain.manifests import LABEL_OBJECT
from assay.domain.outcomes import Artifact
from assay.domain.pods import seconds_since_1970
from assay.domain.sandbox_states import SANDBOX_RUN, AgentState, Sandbox, SandboxStage, agent_state_of, sandbox_state_of
from assay.domain.sandbox_status import Seen, Use, leaks_in, lost_diff, offers_in, sandbox_status, untaken, use_of
from assay.domain.sandboxes import EpisodeLimits, SandboxDecision, SandboxKnowledge, decide_sandbox
from assay.domain.status import artifact_status, rfc3339
from assay.domain.task import seconds_of
from assay.kube.client import PODS, ApiError, Client
from assay.kube.egress import usage_of_runs
from assay.kube.hands import PORT, Hands, HandsError
from assay.kube.services import is_deserted
from assay.store.artifacts import ArtifactLostError, Store
from assay.witness.isolation import target_name

log = logging.getLogger(__name__)

FULL_SECONDS = 5.0
UNREACHABLE_SECONDS = 5.0
TAKE_SECONDS = 5.0
"""How long a pass waits for a diff; the hands go on taking it behind the calls before it, and are asked again."""
AT_ONCE = 0.05
CLOSING_SECONDS = 0.5
"""How often it is seen whether an episode that is over can be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToGrade:
    """A submission that is to be graded now: its number, its bytes, where they are, and the image by digest."""

    number: int
    content: bytes
    diff: Artifact
    pinned: str


class SandboxDriver:
    """Makes sandboxes, watches over them, takes submissions and lets agents go on."""

    def __init__(
        self,
        *,
        client: Client,
        cache: Cache,
        store: Store,
        settings: SandboxSettings,
        pods: SandboxPods,
    ) -> None:
        self._client = client
        self._cache = cache
        self._store = store
        self._settings = settings
        self._pods = pods
        self._uses: dict[str, Use] = {}
        self._lost_at: dict[str, float] = {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections to sandboxes."""
        if self._session:
            await self._session.close()

    async def make_room(self) -> None:
        """See to it that submissions can be graded; called from time to time."""
        await self._pods.make_room()

    async def step(self, episode: Episode) -> ToGrade | Idle:
        """Take one step; what it says is written by the caller before anything else is done to the episode."""
        uid, now = episode.owner.uid, time.time()
        seen = self._seen(episode, now)
        known = self._known(episode, seen, now)
        decision = decide_sandbox(known, infra_retries=self._settings.infra_retries, now=now)
        if decision.look:
            seen = replace(
                seen,
                use=await self._look(episode, seen),
                egress=await self._egress(episode),
                gateway_away=await self._gateway_away(episode, seen),
            )
            decision = decide_sandbox(
                self._known(episode, seen, now), infra_retries=self._settings.infra_retries, now=now
            )
        try:
            return await self._act(episode, seen, decision, now)
        except (HandsError, aiohttp.ClientError, TimeoutError) as error:
            log.warning("%s: the sandbox does not answer: %s", episode.owner.name, error or type(error).__name__)
            self._uses.pop(uid, None)
            return self._idle(episode, seen, again=UNREACHABLE_SECONDS)

    def _seen(self, episode: Episode, now: float) -> Seen:
        pods = [pod for pod in self._cache.pods_of(episode.owner.uid) if pod.epoch == episode.owner.epoch]
        sandboxes = sorted((pod for pod in pods if pod.run.startswith(SANDBOX_RUN)), key=lambda pod: pod.attempt)
        agents = [pod for pod in pods if pod.run == AGENT_RUN]
        seen = Seen(
            use=self._uses.get(episode.owner.uid),
            agent_pod=agents[0].name if agents else "",
            agent=agent_state_of(agents[0]) if agents else None,
        )
        if not sandboxes:
            return seen
        pod = sandboxes[-1]
        state = sandbox_state_of(pod, episode.limits, now)
        return replace(
            seen,
            pod=pod,
            state=state,
            endpoint=_endpoint(state.addresses),
            image=pinned_image(episode.task.image, state.image_id) or state.image_id,
            token_sha256=self._token_sha256(episode),
            go_policy=episode.go_policy,
        )

    def _known(self, episode: Episode, seen: Seen, now: float) -> SandboxKnowledge:
        spec, status = episode.spec, episode.status
        ready = seen.state is not None and seen.state.stage is SandboxStage.READY
        started = seconds_since_1970(status.sandbox.started_at)
        agent = seen.agent
        if agent is None and status.agent.pod:
            code = status.agent.exit_code
            agent = AgentState(exit_code=code) if code is not None else AgentState(lost=True, reason="its pod is gone")
        return SandboxKnowledge(
            limits=EpisodeLimits(
                episode=seconds_of(spec.limits.episode),
                idle=seconds_of(spec.limits.idle),
                submissions=spec.limits.submissions,
            ),
            asked=spec.submit,
            cancelled=spec.cancel,
            suspended=spec.suspend,
            wants_agent=spec.agent is not None,
            sandboxes=(Sandbox(pod=seen.pod, state=seen.state),) if seen.pod and seen.state else (),
            faults=status.faults,
            fault_at=self._lost_at.get(episode.owner.uid, 0.0),
            ready_at=started or (now if ready else 0.0),
            used_at=seen.use.used_at if seen.use else 0.0,
            looked_at=seen.use.looked_at if seen.use else 0.0,
            locked=seen.use.locked if seen.use else 0,
            calls=max(seen.use.calls if seen.use else 0, status.tool_calls.count),
            leaks=max(seen.use.leaks if seen.use else 0, leaks_in(status)),
            gateway_away=seen.gateway_away,
            offers=offers_in(status),
            agent=agent,
        )

    async def _act(self, episode: Episode, seen: Seen, decision: SandboxDecision, now: float) -> ToGrade | Idle:
        status = episode.status
        if decision.ending:
            if seen.state and seen.state.stage is SandboxStage.READY:  # the calls since the last look count, too
                seen = replace(seen, use=await self._look(episode, seen) or seen.use)
            seen = replace(seen, egress=await self._egress(episode))
            ended = sandbox_status(
                status,
                seen,
                requested=episode.task.image,
                faults=status.faults,
                submissions=status.submissions,
                ending=decision.ending,
                generation=episode.generation,
                now=now,
            )
            end = decision.ending
            return Idle(status=ended, ending=grade_ending(end.reward, end.reason, end.message))
        if decision.lost:
            return await self._lose(episode, seen, decision)
        if decision.create:
            return await self._create(episode, seen, decision.create)
        if decision.take:
            return await self._take(episode, seen, decision.take, now)
        if decision.grade:
            return await self._to_grade(episode, seen, decision.grade, now)
        if decision.release:
            await self._hands(episode, seen).release(decision.release)
            seen = replace(seen, use=await self._look(episode, seen))
        if decision.create_agent:
            await self._pods.create_agent(episode)
        again = max(AT_ONCE, decision.wake_at - now) if decision.wake_at else 0.0
        return self._idle(episode, seen, again=again)

    def _idle(
        self,
        episode: Episode,
        seen: Seen,
        *,
        again: float,
        faults: int | None = None,
        submissions: tuple[api.SubmissionStatus, ...] | None = None,
    ) -> Idle:
        status = sandbox_status(
            episode.status,
            seen,
            requested=episode.task.image,
            faults=episode.status.faults if faults is None else faults,
            submissions=episode.status.submissions if submissions is None else submissions,
            generation=episode.generation,
            now=time.time(),
        )
        return Idle(status=status, again_seconds=again)

    async def _lose(self, episode: Episode, seen: Seen, decision: SandboxDecision) -> Idle:
        for sandbox in decision.lost:
            log.warning("%s: a sandbox is lost: %s", episode.owner.name, sandbox.state.message)
            metrics.ATTEMPTS_LOST.labels(sandbox.state.reason).inc()
            await self._pods.delete(sandbox.pod)
        self._lost_at[episode.owner.uid] = time.time()
        self._uses.pop(episode.owner.uid, None)
        unseen = replace(seen, pod=None, use=None, endpoint="")
        return self._idle(episode, unseen, again=AT_ONCE, faults=episode.status.faults + len(decision.lost))

    async def _create(self, episode: Episode, seen: Seen, number: int) -> Idle:
        made = await self._pods.create_sandbox(episode, number)
        return self._idle(episode, seen, again=seconds_of(episode.spec.timeouts.queue) if made else FULL_SECONDS)

    async def _take(self, episode: Episode, seen: Seen, number: int, now: float) -> Idle:
        try:
            content = await self._hands(episode, seen).submission(number, seconds=TAKE_SECONDS)
        except HandsError as error:
            refused = untaken(number, error.reason, error.message, now)
            if refused is None:
                raise
            entry = refused
        else:
            diff = await asyncio.to_thread(self._store.put, content)
            entry = api.SubmissionStatus(
                number=number, time=rfc3339(now), outcome=api.SubmissionOutcome.PENDING, diff=artifact_status(diff)
            )
        seen = replace(seen, use=await self._look(episode, seen), egress=await self._egress(episode))
        before = episode.status.submissions[: number - 1]
        return self._idle(episode, seen, again=AT_ONCE, submissions=(*before, entry))

    async def _to_grade(self, episode: Episode, seen: Seen, number: int, now: float) -> ToGrade | Idle:
        diff = episode.status.submissions[number - 1].diff
        assert diff is not None
        try:
            content = await asyncio.to_thread(self._store.get, diff.sha256)
        except ArtifactLostError as lost:
            return await self._retake(episode, seen, number, str(lost), now)
        return ToGrade(
            number=number,
            content=content,
            diff=Artifact(uri=diff.uri, sha256=diff.sha256, bytes=diff.bytes),
            pinned=episode.pinned or (digest if "@sha256:" in (digest := episode.status.image.digest) else ""),
        )

    async def _retake(self, episode: Episode, seen: Seen, number: int, why: str, now: float) -> Idle:
        """Take a diff again that the store has lost, while its sandbox, which is held for it, is there."""
        log.warning("%s: the diff of submission %d is lost: %s", episode.owner.name, number, why)
        stage = seen.state.stage if seen.state else SandboxStage.LOST
        if stage is SandboxStage.READY:
            return await self._take(episode, seen, number, now)
        if stage is SandboxStage.WAITING:
            return self._idle(episode, seen, again=UNREACHABLE_SECONDS)
        *before, last = episode.status.submissions
        return self._idle(episode, seen, again=AT_ONCE, submissions=(*before, lost_diff(last, why)))

    async def _look(self, episode: Episode, seen: Seen) -> Use | None:
        """Ask the hands for the use of the sandbox; None when they do not answer."""
        try:
            said = await self._hands(episode, seen).state()
        except (HandsError, aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("%s: the sandbox does not answer: %s", episode.owner.name, error or type(error).__name__)
            self._uses.pop(episode.owner.uid, None)
            return None
        use = use_of(said, time.time())
        self._uses[episode.owner.uid] = use
        return use

    async def _egress(self, episode: Episode) -> api.Egress | None:
        if episode.spec.network != "GoProxy":
            return None
        run = f"{episode.owner.namespace}/{episode.owner.name}"
        try:
            counts = await usage_of_runs(self._client, self._http(), self._settings.namespace, [run])
        except ApiError as error:
            log.warning("%s: the module gateway's counts cannot be read: %s", episode.owner.name, error)
            return None
        return egress_of(counts.by_run[run], before=episode.status.egress)

    async def _gateway_away(self, episode: Episode, seen: Seen) -> bool:
        """Return whether an agent that has failed had no gateway to call; False where that cannot be told."""
        if seen.agent is None or not seen.agent.exit_code:
            return False
        try:
            return await is_deserted(self._client, self._settings.namespace, self._settings.gateway_service)
        except ApiError as error:
            log.warning("%s: whether the gateway was there cannot be told: %s", episode.owner.name, error)
            return False

    async def closing(self, raw: Mapping[str, Any], status: api.AgentEpisodeStatus) -> Idle:
        """Take the last count of an episode that is over, once nothing can be added to it; raises ApiError."""
        metadata, now = raw["metadata"], time.time()
        run, mine = f"{metadata['namespace']}/{metadata['name']}", f"{LABEL_OBJECT}={metadata['uid']}"
        pages = self._client.pages(PODS, metadata["namespace"], selector=mine)
        pods = sum([len(page) async for page in pages])
        counts = await usage_of_runs(self._client, self._http(), self._settings.namespace, [run])
        usages = counts.by_run[run]
        doubt = may_grow(usages, silent=counts.silent, pods=pods)
        if doubt and now < seconds_since_1970(status.completed_at) + COUNT_SECONDS:
            return Idle(status=status, again_seconds=CLOSING_SECONDS)
        egress = egress_of(usages, before=status.egress)
        generation = int(metadata.get("generation", 0))
        return Idle(status=counted_status(status, egress, doubt, generation=generation, now=now))

    def _hands(self, episode: Episode, seen: Seen) -> Hands:
        return Hands(self._http(), seen.endpoint, sandbox_key(self._settings.master, episode.owner.uid))

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256))
        return self._session

    def _token_sha256(self, episode: Episode) -> str:
        if episode.spec.network != "GoProxy":
            return ""
        return sha256_of(go_token(self._settings.master, episode.owner.uid))

    def forget(self, uid: str) -> None:
        """Drop what was seen of an episode's sandboxes."""
        self._uses.pop(uid, None)
        self._lost_at.pop(uid, None)


def _endpoint(addresses: tuple[str, ...]) -> str:
    return target_name((addresses[0], PORT)) if addresses else ""
