"""An object that has come to its end keeps no pod, whenever the events of its own end arrive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.episodes import EpisodeLine
from assay.controller.events import Recorder
from assay.controller.queue import WorkQueue
from assay.controller.reconcile import Reconciler
from assay.controller.slots import Slots
from assay.kube.client import Kind
from assay.store.artifacts import Store
from builders import make_spec

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
    reconciler = Reconciler(
        client=server,  # type: ignore[arg-type]
        cache=cache,
        queue=queue,
        slots=Slots(0),
        store=store,
        recorder=Recorder(server),  # type: ignore[arg-type]
        lines={"AgentEpisode": EpisodeLine(server, store)},  # type: ignore[arg-type]
        template={},
        scripts={},
        infra_retries=1,
    )
    queue.add(UID)
    while len(queue):
        uid, _ = await queue.take()
        await reconciler.reconcile(uid)
        queue.done(uid)
    assert server.raw["status"]["reward"] == 0.0
    assert server.deleted == ["sandbox"]
