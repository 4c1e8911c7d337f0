"""``assay operator``: hold the Lease, know the world, then let workers reconcile until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import kopf
import yaml
from aiohttp import web

from assay.controller import metrics
from assay.controller.cache import Cache
from assay.controller.episodes import EpisodeLine
from assay.controller.events import Recorder
from assay.controller.frame import streams_closed
from assay.controller.handlers import frame_settings, registry_of
from assay.controller.isolation import live_targets
from assay.controller.lines import NotReadyError
from assay.controller.queue import LONGEST_BACKOFF, WorkQueue
from assay.controller.reconcile import Reconciler
from assay.controller.sandbox_pods import SandboxPods, SandboxSettings, Templates
from assay.controller.sandboxes import SandboxDriver
from assay.controller.serve import application
from assay.controller.settings import Settings
from assay.controller.slots import Slots
from assay.controller.tasks import TaskUnavailableError
from assay.controller.templates import read_template
from assay.controller.validations import ValidationLine
from assay.domain.manifests import LABEL_MANAGED, MANAGED_BY, RUN_SCRIPTS, SANDBOX_SCRIPTS, RunSettings
from assay.domain.sandbox_states import is_of_run
from assay.kube.client import AGENT_EPISODES, PODS, TASK_VALIDATIONS, ApiError, Client
from assay.kube.lease import Lease
from assay.store.artifacts import Store

log = logging.getLogger(__name__)

TARGETS_SECONDS = 60.0
ROOM_SECONDS = 30.0
LAG_LIMIT = 60.0
UNAVAILABLE_SECONDS = 30.0
"""Longest wait before the artifact store is asked again for a task that is not there yet: somebody is pushing it."""
LEASE_NAME = "assay-operator"


class Operator:
    """All the parts of one operator process, and what flows between them."""

    def __init__(self, settings: Settings, client: Client, store: Store) -> None:
        self._settings = settings
        self._client = client
        self._cache = Cache(settings.renamed_repos)
        self._queue: WorkQueue[str] = WorkQueue()
        self._slots = Slots(settings.max_pods)
        self._recorder = Recorder(client)
        self._store = store
        self._synced = False
        self._beat = time.monotonic()
        identity = settings.identity or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._lease = Lease(client, namespace=settings.lease_namespace, name=LEASE_NAME, identity=identity)
        self._sandboxes = self._sandbox_driver()
        self._reconciler = Reconciler(
            client=client,
            cache=self._cache,
            queue=self._queue,
            slots=self._slots,
            store=store,
            recorder=self._recorder,
            lines={
                "TaskValidation": ValidationLine(store, self._cache, review_required=settings.review_required),
                "AgentEpisode": EpisodeLine(client, store, self._sandboxes),
            },
            template=yaml.safe_load(read_template(settings.templates, "run.yaml")),
            scripts={name: read_template(settings.templates, name) for name in RUN_SCRIPTS},
            inspector=read_template(settings.templates, "inspect.sh"),
            infra_retries=settings.infra_retries,
        )

    def _sandbox_driver(self) -> SandboxDriver | None:
        """Return what drives sandboxes; None without a master key."""
        settings = self._settings
        try:
            master = Path(settings.master_key_file).read_bytes().strip()
        except FileNotFoundError:
            log.warning("no master key in %s: episodes with sandboxes have to wait", settings.master_key_file)
            return None
        chosen = SandboxSettings(
            master=master,
            namespace=settings.lease_namespace,
            gateway_service=settings.gateway_service,
            most=settings.max_sandboxes,
            infra_retries=settings.infra_retries,
            default_environment=settings.default_environment,
            sumdb=settings.go_sumdb,
        )
        templates = Templates(
            sandbox=yaml.safe_load(read_template(settings.templates, "sandbox.yaml")),
            scripts={name: read_template(settings.templates, name) for name in SANDBOX_SCRIPTS},
            agent=yaml.safe_load(read_template(settings.templates, "agent.yaml")),
        )
        pods = SandboxPods(
            self._client,
            self._cache,
            chosen,
            run_settings=lambda: self._reconciler.run_settings,
            templates=templates,
        )
        return SandboxDriver(client=self._client, cache=self._cache, store=self._store, settings=chosen, pods=pods)

    async def run(self) -> None:
        """Work until a signal, a lost lease or a broken watch ends the process."""
        async with self._serving():
            await self._lease.acquire()
            metrics.LEADER.set(1)
            try:
                await self._work()
            finally:
                metrics.LEADER.set(0)
                if self._sandboxes:
                    await self._sandboxes.close()
                await self._lease.release()

    async def _work(self) -> None:
        await self._find_targets()
        await self._resync()
        self._synced = True
        log.info("know %s objects, start working", len(self._cache))
        tasks = [
            asyncio.create_task(self._watch(), name="watch"),
            asyncio.create_task(self._lease.keep(), name="lease"),
            asyncio.create_task(self._recorder.run(), name="events"),
            asyncio.create_task(self._repeat(self._settings.resync_seconds, self._resync), name="resync"),
            asyncio.create_task(self._repeat(TARGETS_SECONDS, self._find_targets), name="targets"),
            asyncio.create_task(self._repeat(ROOM_SECONDS, self._make_room), name="room"),
            asyncio.create_task(self._heart(), name="heart"),
            *(asyncio.create_task(self._worker(), name=f"worker-{n}") for n in range(self._settings.workers)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                log.info("%s has ended, stopping", task.get_name())
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self) -> None:
        registry = registry_of(object_seen=self._object_seen, pod_seen=self._pod_seen)
        async with streams_closed():
            await kopf.operator(
                registry=registry, settings=frame_settings(), standalone=True, namespaces=[self._settings.namespace]
            )

    def _object_seen(self, kind: str | None, raw: Mapping[str, Any]) -> None:
        uid = raw["metadata"]["uid"]
        if kind == "DELETED":
            self._cache.drop_object(uid)
        else:
            self._cache.see_object(raw)
        self._queue.add(uid)

    def _pod_seen(self, kind: str | None, raw: Mapping[str, Any]) -> None:
        gone = kind == "DELETED"
        view = self._cache.drop_pod(raw["metadata"]["uid"]) if gone else self._cache.see_pod(raw)
        if view is None:
            return
        if gone or not view.active:
            self._reconciler.call_next(view.name)
        self._queue.add(view.owner)

    async def _worker(self) -> None:
        while True:
            uid, waited = await self._queue.take()
            metrics.QUEUE_SECONDS.observe(waited)
            started = time.monotonic()
            try:
                await self._look_at(uid)
            except Exception as error:  # a poison object must harm only itself
                self._queue_again(uid, error)
                result = "error"
            else:
                self._queue.done(uid)
                result = "ok"
            metrics.RECONCILE_SECONDS.labels(result).observe(time.monotonic() - started)

    async def _look_at(self, uid: str) -> None:
        if not self._lease.held:
            raise NotReadyError("the lease is not held")
        await self._reconciler.reconcile(uid)

    def _queue_again(self, uid: str, error: Exception) -> None:
        view = self._cache.get(uid)
        unavailable = isinstance(error, TaskUnavailableError)
        pause = self._queue.failed(uid, longest=UNAVAILABLE_SECONDS if unavailable else LONGEST_BACKOFF)
        self._reconciler.withdraw(uid)
        name = view.name if view else uid
        if isinstance(error, ApiError | NotReadyError | TaskUnavailableError | OSError):
            level = logging.INFO if getattr(error, "status", 0) == 409 else logging.WARNING
            log.log(level, "%s: %s; again in %.0f s", name, error, pause)
        else:
            log.error("%s: the pass failed; again in %.0f s", name, pause, exc_info=error)

    async def _resync(self) -> None:
        """List everything and compare: a deletion that no watch reported is found here.

        Only what was known before the list was asked for can be missing from it: what the watch tells meanwhile is newer.
        """
        known = {view.uid for view in self._cache.objects()}
        known_pods = {pod.uid for pod in self._cache.pods()}
        objects: set[str] = set()
        for kind in (TASK_VALIDATIONS, AGENT_EPISODES):
            async for page in self._client.pages(kind, self._settings.namespace):
                for raw in page:
                    objects.add(raw["metadata"]["uid"])
                    view = self._cache.see_object(raw)
                    if view.uncounted or not view.complete:
                        self._queue.add(view.uid)
        pods: set[str] = set()
        async for page in self._client.pages(PODS, self._settings.namespace, selector=f"{LABEL_MANAGED}={MANAGED_BY}"):
            for raw in page:
                pods.add(raw["metadata"]["uid"])
                pod = self._cache.see_pod(raw)
                if pod:
                    self._queue.add(pod.owner)
        for view in self._cache.objects():
            if view.uid in known - objects:
                metrics.RESYNC_DIFFERENCES.labels(f"{view.kind.lower()}s").inc()
                self._cache.drop_object(view.uid)
                self._queue.add(view.uid)
        for pod in self._cache.pods():
            if pod.uid in known_pods - pods:
                metrics.RESYNC_DIFFERENCES.labels("pods").inc()
                self._cache.drop_pod(pod.uid)
                self._reconciler.call_next(pod.name)
                self._queue.add(pod.owner)
        self._hold_places()

    def _hold_places(self) -> None:
        """Count the pods of runs that are there, also of objects that nobody has looked at since the start."""
        for pod in self._cache.pods():
            if pod.active and is_of_run(pod):
                self._slots.hold(pod.owner, pod.name)

    async def _find_targets(self) -> None:
        isolation = self._settings.isolation
        targets = await live_targets(self._client, extra=isolation.targets, own_port=self._settings.http_port)
        self._reconciler.run_settings = (
            RunSettings(
                witness_image=self._settings.witness_image,
                targets=targets,
                gate_seconds=isolation.gate_seconds,
                sample_seconds=isolation.sample_seconds,
                pull_secrets=self._settings.pull_secrets,
                pull_policy=self._settings.pull_policy,
                cpu_request_fraction=self._settings.cpu_request_fraction,
            )
            if targets
            else None
        )

    async def _make_room(self) -> None:
        if self._sandboxes:
            await self._sandboxes.make_room()

    @staticmethod
    async def _repeat(seconds: float, act: Any) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await act()
            except (ApiError, OSError) as error:
                log.warning("%s failed: %s", act.__name__, error)

    async def _heart(self) -> None:
        while True:
            asked = time.monotonic()
            await asyncio.sleep(1)
            self._beat = time.monotonic()
            metrics.LOOP_LAG.set(self._beat - asked - 1)

    @contextlib.asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        app = application(
            self._store,
            healthy=self._unhealthy,
            ready=self._unready,
            measure=self._measure,
            upload_bytes=self._settings.upload_bytes,
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, self._settings.http_address, self._settings.http_port)
        try:
            await site.start()
            yield
        finally:
            await runner.cleanup()

    def _unhealthy(self) -> str:
        silent = time.monotonic() - self._beat
        return f"no heartbeat for {silent:.0f} s" if self._synced and silent > LAG_LIMIT else ""

    def _unready(self) -> str:
        return "" if self._synced else "waiting for the lease and the first list"

    def _measure(self) -> None:
        metrics.QUEUE_DEPTH.set(len(self._queue))
        metrics.QUEUE_OLDEST.set(self._queue.oldest_seconds())
        metrics.OBJECTS.set(len(self._cache))
        metrics.PODS_HELD.set(self._slots.held)
        metrics.CLAIMS_WAITING.set(self._slots.waiting)


async def run_operator(settings: Settings, store: Store) -> None:
    """Run an operator until it is told to stop."""
    client = await Client.connect()
    try:
        await Operator(settings, client, store).run()
    finally:
        await client.close()
