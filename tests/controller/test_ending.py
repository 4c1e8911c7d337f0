"""An object that has come to its end keeps no pod, whenever the events of its own end arrive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.episodes import EpisodeLine
from assay.controller.memory import Memory, memory_of
from assay.controller.queue import WorkQueue
from assay.controller.validations import ValidationLine
from assay.kube.client import Kind
from assay.store.artifacts import Store
from builders import make_manifest, make_spec
from reconciling import make_reconciler

UID = "uid-e"


class Server:
    """An API server with one episode, whose watch is quick: it tells of a write before the write is answered."""

    def __init__(self, cache: Cache, queue: WorkQueue[str]) -> None:
        task = make_spec(f2p=("f",), p2p=("p",)).task
        assert task
        metadata = {"namespace": "runs", "name": "e", "uid": UID, "generation": 1, "resourceVersion": "5"}
        spec = {"task": api.to_wire(task), "submission": {"patch": ""}}
        self.raw: dict[str, Any] = {"kind": "AgentEpisode", "metadata": metadata, "spec": spec}
        self.deleted: list[str] = []
        self._cache, self._queue = cache, queue

    async def get(self, _kind: Kind, _namespace: str, _name: str) -> Mapping[str, Any]:
        return self.raw

    async def patch_status(self, _kind: Kind, _space: str, _name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        version = str(int(self.raw["metadata"]["resourceVersion"]) + 1)
        metadata = self.raw["metadata"] | {"resourceVersion": version}
        self.raw = self.raw | {"metadata": metadata, "status": patch["status"]}
        self._cache.see_object(self.raw)
        self._queue.add(UID)
        return self.raw

    async def delete(self, _kind: Kind, _namespace: str, name: str, **_options: Any) -> None:
        self.deleted.append(name)


async def test_a_pod_that_is_left_is_deleted_also_when_the_end_is_told_in_the_middle_of_the_pass(
    tmp_path: Path,
) -> None:
    cache, queue, store = Cache(), WorkQueue[str](), Store(f"file://{tmp_path}")
    server = Server(cache, queue)
    cache.see_object(server.raw)
    labels = {"assay.dev/object": UID, "assay.dev/run": "sandbox-1"}
    cache.see_pod({"metadata": {"namespace": "runs", "name": "sandbox", "uid": "uid-s", "labels": labels}})
    reconciler = make_reconciler(
        server,
        {"AgentEpisode": EpisodeLine(server, store)},  # type: ignore[arg-type]
        cache=cache,
        store=store,
        queue=queue,
    )
    queue.add(UID)
    while len(queue):
        uid, _ = await queue.take()
        await reconciler.reconcile(uid)
        queue.done(uid)
    assert server.raw["status"]["reward"] == 0.0
    assert server.deleted == ["sandbox"]


class EditedServer:
    """An API server with one validation, to which somebody gives other rules while its last pod is deleted."""

    def __init__(self, cache: Cache, queue: WorkQueue[str]) -> None:
        self.raw = make_manifest("v", namespace="runs")
        self.raw["metadata"] |= {"uid": UID, "generation": 1, "resourceVersion": "5"}
        self._cache, self._queue = cache, queue

    async def get(self, _kind: Kind, _namespace: str, _name: str) -> Mapping[str, Any]:
        return self.raw

    async def patch_status(self, _kind: Kind, _space: str, _name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        self._change(status=patch["status"])
        return self.raw

    async def delete(self, _kind: Kind, _namespace: str, _name: str, **_options: Any) -> None:
        self._change(spec=self.raw["spec"] | {"regrade": {"profile": "live"}}, metadata={"generation": 2})
        self._cache.see_object(self.raw)
        self._queue.add(UID)

    def _change(self, metadata: Mapping[str, Any] | None = None, **parts: Any) -> None:
        version = str(int(self.raw["metadata"]["resourceVersion"]) + 1)
        changed = self.raw["metadata"] | {"resourceVersion": version} | (metadata or {})
        self.raw = self.raw | parts | {"metadata": changed}


async def test_an_edit_that_arrives_while_the_last_pod_is_deleted_is_looked_at(tmp_path: Path) -> None:
    cache, queue, store = Cache(), WorkQueue[str](), Store(f"file://{tmp_path}")
    server = EditedServer(cache, queue)
    cache.see_object(server.raw)
    memory = memory_of(server.raw)
    assert isinstance(memory, Memory)
    labels = {"assay.dev/object": UID, "assay.dev/run": memory.plan.first.name}
    metadata = {"namespace": "runs", "name": "p", "uid": "uid-p", "labels": labels}
    waits = {"name": "task", "state": {"waiting": {"reason": "InvalidImageName", "message": "no such name"}}}
    annotations = {"annotations": {"assay.dev/epoch": memory.owner.epoch}}
    cache.see_pod({"metadata": metadata | annotations, "status": {"containerStatuses": [waits]}})
    reconciler = make_reconciler(
        server,
        {"TaskValidation": ValidationLine(store, cache)},
        cache=cache,
        store=store,
        queue=queue,
    )
    queue.add(UID)
    uid, _ = await queue.take()
    server.raw["status"] = {"observedGeneration": 1}
    await reconciler.reconcile(uid)
    queue.done(uid)
    assert server.raw["status"]["verdict"] == "Invalid"
    assert len(queue) == 1
