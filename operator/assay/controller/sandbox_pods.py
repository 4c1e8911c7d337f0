"""An episode's pods: the sandbox that an agent works in, and the agent's own, with the Secrets that they mount."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller import metrics
from assay.controller.cache import Cache
from assay.controller.lines import ready
from assay.domain.agents import AgentPlace, agent_of, agent_secret_of
from assay.domain.goproxy.environment import go_environment
from assay.domain.keys import agent_key, go_token, sandbox_key
from assay.domain.manifests import Owner, RunSettings, sandbox_of, sandbox_secret_of
from assay.domain.ors.tasks import environment_of, split_of
from assay.domain.pods import PodView
from assay.domain.sandbox_states import SANDBOX_RUN, in_the_way
from assay.domain.task import Limits, Task, seconds_of
from assay.kube.client import PODS, TASK_VALIDATIONS, Client
from assay.kube.egress import gateway_url
from assay.kube.pods import ensure_pod, ensure_secrets

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """What the driver adds to every sandbox; ``most`` is the number of sandboxes at a time."""

    master: bytes
    namespace: str
    """The operator's own: that of the gateways."""
    gateway_service: str
    most: int
    infra_retries: int
    default_environment: str = "assay"
    sumdb: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """What pods are made of: the sandbox's manifest, its scripts by name, the agent's manifest."""

    sandbox: Mapping[str, Any]
    scripts: Mapping[str, bytes]
    agent: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One episode as a step sees it."""

    raw: Mapping[str, Any]
    spec: api.AgentEpisodeSpec
    status: api.AgentEpisodeStatus
    owner: Owner
    task: Task
    limits: Limits
    pinned: str
    go_policy: api.GoPolicy | None = None
    """What the module gateway refuses to its sandbox; None without a way there."""

    @property
    def generation(self) -> int:
        """The object's generation."""
        return int(self.raw["metadata"].get("generation", 0))


class SandboxPods:
    """Makes the pods of episodes; each has one name, so that making it twice makes it once."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        settings: SandboxSettings,
        *,
        run_settings: Callable[[], RunSettings | None],
        templates: Templates,
    ) -> None:
        self._client = client
        self._cache = cache
        self._settings = settings
        self._run_settings = run_settings
        self._templates = templates
        self._making: set[str] = set()

    async def create_sandbox(self, episode: Episode, number: int) -> bool:
        """Make a sandbox; False when there are as many as may be.  ``NotReadyError``: isolation cannot be proven yet."""
        settings = ready(self._run_settings())
        uid = episode.owner.uid
        held = {pod.owner for pod in self._cache.pods() if pod.run.startswith(SANDBOX_RUN) and pod.active}
        if len(held | self._making - {uid}) >= self._settings.most:
            return False
        self._making.add(uid)  # nothing is awaited since the count: others see this one before its pod is there
        try:
            await self._make_sandbox(episode, number, settings)
        finally:
            self._making.discard(uid)
        return True

    async def _make_sandbox(self, episode: Episode, number: int, settings: RunSettings) -> None:
        owner, spec = episode.owner, episode.spec
        secret = sandbox_secret_of(owner, sandbox_key(self._settings.master, owner.uid), self._templates.scripts)
        await ensure_secrets(self._client, [secret])
        environment: Mapping[str, str] = {}
        doors: tuple[str, ...] = ()
        if spec.network == "GoProxy":
            address = await gateway_url(self._client, self._settings.namespace)
            token = go_token(self._settings.master, owner.uid)
            environment = go_environment(gateway=address, token=token, sumdb=self._settings.sumdb)
            doors = (address.removeprefix("http://"),)
        pod = sandbox_of(
            number,
            owner=owner,
            task=episode.task,
            limits=episode.limits,
            life=seconds_of(spec.limits.episode),
            network="goproxy" if spec.network == "GoProxy" else "sandbox",
            secret=secret["metadata"]["name"],
            image=episode.pinned or episode.task.image,
            template=self._templates.sandbox,
            settings=settings,
            environment=environment,
            doors=doors,
        )
        self._cache.see_pod(await ensure_pod(self._client, pod))
        metrics.PODS_CREATED.inc()

    async def make_room(self) -> None:
        """Delete the sandboxes whose own submission finds no node to be graded on."""
        for pod in in_the_way(tuple(self._cache.pods()), time.time()):
            log.warning("%s is deleted: the grading of its submission found no node", pod.name)
            await self.delete(pod)

    async def delete(self, pod: PodView) -> None:
        """Delete a pod if it is still the one that was seen."""
        await self._client.delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace=1)
        self._cache.drop_pod(pod.uid)

    async def create_agent(self, episode: Episode) -> None:
        """Make the agent's pod, which knows the gateway by its address: it has no name service."""
        agent, owner = episode.spec.agent, episode.owner
        assert agent is not None
        assert episode.spec.validation is not None
        found = await self._client.get(TASK_VALIDATIONS, owner.namespace, episode.spec.validation)
        place = AgentPlace(
            url=await gateway_url(self._client, self._settings.namespace, self._settings.gateway_service),
            environment=environment_of(found, self._settings.default_environment),
            split=split_of(found["spec"]),
            task=episode.spec.validation,
        )
        key = agent_key(self._settings.master, namespace=owner.namespace, name=owner.name, uid=owner.uid)
        await ensure_secrets(self._client, [agent_secret_of(owner, key)])
        settings = self._run_settings()
        pod = agent_of(
            agent,
            owner=owner,
            place=place,
            deadline=seconds_of(episode.spec.limits.episode),
            template=self._templates.agent,
            pull_secrets=settings.pull_secrets if settings else (),
        )
        self._cache.see_pod(await ensure_pod(self._client, pod))
