"""Objects that wait for a place for a pod: they are told so, and do not fill the operator's memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.controller import reconcile
from assay.controller.cache import Cache
from assay.controller.memory import Memory
from assay.controller.queue import WorkQueue
from assay.controller.reconcile import Reconciler
from assay.controller.slots import Slots
from assay.controller.validations import ValidationLine
from assay.domain.manifests import RunSettings
from assay.kube.client import ApiError, Kind
from assay.store.artifacts import Store
from builders import make_manifest
from reconciling import make_reconciler


class Server:
    """An API server that knows TaskValidations alone, as far as the reconciler asks."""

    def __init__(self, count: int) -> None:
        names = [f"task-{number}" for number in range(count)]
        self.objects = {name: make_manifest(name) for name in names}
        for version, (name, manifest) in enumerate(self.objects.items(), 1):
            manifest["metadata"] |= {"uid": f"uid-{name}", "generation": 1, "resourceVersion": str(version)}
        self.asked = 0
        self.deleted: list[str] = []

    async def create(self, *_: Any) -> Mapping[str, Any]:
        raise ApiError(403, "Forbidden", "exceeded quota")

    async def delete(self, _kind: Kind, _namespace: str, name: str, **_: Any) -> None:
        self.deleted.append(name)

    async def get(self, _kind: Kind, _namespace: str, name: str) -> Mapping[str, Any]:
        self.asked += 1
        return self.objects[name]

    async def patch_status(
        self, _kind: Kind, _namespace: str, name: str, patch: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        self.objects[name]["status"] = patch["status"]
        return self.objects[name]


def reconciler_of(server: Server, store: Path, *, slots: int = 0) -> Reconciler:
    cache, queue = Cache(), WorkQueue[str]()
    for manifest in server.objects.values():
        cache.see_object(manifest)
    made = make_reconciler(
        server,
        {"TaskValidation": ValidationLine(Store(f"file://{store}"), cache)},
        cache=cache,
        store=Store(f"file://{store}"),
        queue=queue,
        slots=Slots(slots),
        infra_retries=3,
    )
    made.run_settings = RunSettings(witness_image="witness", targets=("127.0.0.1:1",))
    return made


async def test_many_waiting_objects_are_accepted_and_only_a_few_of_them_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "IDLE_MEMORIES", 3)
    server = Server(10)
    reconciler = reconciler_of(server, tmp_path)
    for manifest in server.objects.values():
        await reconciler.reconcile(manifest["metadata"]["uid"])
    accepted = [condition for made in server.objects.values() for condition in made["status"]["conditions"]]
    assert sum(condition["type"] == "Accepted" and condition["status"] == "True" for condition in accepted) == 10
    assert len(reconciler._memories) == 3


async def test_a_waiting_object_that_is_no_longer_held_is_read_again_and_its_status_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "IDLE_MEMORIES", 0)
    server = Server(1)
    reconciler = reconciler_of(server, tmp_path)
    await reconciler.reconcile("uid-task-0")
    status = server.objects["task-0"]["status"]
    await reconciler.reconcile("uid-task-0")
    assert server.asked == 2
    assert server.objects["task-0"]["status"] is status


async def test_a_place_whose_pod_could_not_be_made_goes_to_the_next_at_once(tmp_path: Path) -> None:
    server = Server(2)
    reconciler = reconciler_of(server, tmp_path, slots=1)
    reconciler._slots.hold("before", "before-1")
    for uid in ("uid-task-0", "uid-task-1"):
        await reconciler.reconcile(uid)
    reconciler.call_next("before-1")
    assert (await reconciler._queue.take())[0] == "uid-task-0"
    with pytest.raises(ApiError):
        await reconciler.reconcile("uid-task-0")
    assert len(reconciler._queue) == 1
    assert (await reconciler._queue.take())[0] == "uid-task-1"


def pod_of_first_run(memory: Memory, attempt: int = 1) -> dict[str, Any]:
    name = f"pod-{attempt}"
    labels = {"assay.dev/object": memory.owner.uid, "assay.dev/run": memory.plan.first.name}
    annotations = {"assay.dev/epoch": memory.owner.epoch, "assay.dev/attempt": str(attempt)}
    metadata = {"namespace": "default", "name": name, "uid": name, "labels": labels, "annotations": annotations}
    return {"metadata": metadata | {"creationTimestamp": "2100-01-01T00:00:00Z"}}


async def test_a_pod_that_is_gone_without_a_word_costs_an_attempt_and_is_told(tmp_path: Path) -> None:
    server = Server(1)
    reconciler = reconciler_of(server, tmp_path)
    await reconciler.reconcile("uid-task-0")
    memory = reconciler._memories["uid-task-0"]
    for attempt in (1, 2):
        reconciler._cache.see_pod(pod_of_first_run(memory, attempt))
        await reconciler.reconcile("uid-task-0")
        reconciler._cache.drop_pod(f"pod-{attempt}")
        await reconciler.reconcile("uid-task-0")
        await reconciler.reconcile("uid-task-0")
        faults = memory.faults[memory.plan.first.name]
        assert [(fault.attempt, fault.kind) for fault in faults] == [(n, "PodVanished") for n in range(1, attempt + 1)]
    assert [fault["attempt"] for fault in server.objects["task-0"]["status"]["runs"][0]["faults"]] == [1, 2]


async def test_a_pod_that_is_gone_after_its_attempt_was_lost_costs_nothing_more(tmp_path: Path) -> None:
    server = Server(1)
    reconciler = reconciler_of(server, tmp_path)
    await reconciler.reconcile("uid-task-0")
    memory = reconciler._memories["uid-task-0"]
    lost = pod_of_first_run(memory) | {"status": {"phase": "Failed", "reason": "Evicted"}}
    reconciler._cache.see_pod(lost)
    await reconciler.reconcile("uid-task-0")
    await reconciler.reconcile("uid-task-0")
    assert server.deleted == ["pod-1"]
    assert [fault.kind for fault in memory.faults[memory.plan.first.name]] == ["Disrupted"]
