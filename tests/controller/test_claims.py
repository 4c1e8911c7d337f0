"""Claims on places for pods: one that its object cannot use now keeps nobody else waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.episodes import EpisodeLine
from assay.controller.lines import NotReadyError
from assay.controller.operator import Operator
from assay.controller.queue import WorkQueue
from assay.controller.settings import Settings
from assay.controller.slots import Slots
from assay.store.artifacts import Store
from builders import make_spec
from reconciling import make_reconciler


def call_first_of_two(slots: Slots) -> None:
    """Two wait for the only place, which becomes free; the first is called."""
    slots.hold("before", "before-1")
    assert not slots.take("first", "first-1", priority=0, since=1)
    assert not slots.take("second", "second-1", priority=0, since=2)
    assert slots.free("before-1") == "first"


async def test_an_object_whose_pass_fails_leaves_its_place_to_the_next(tmp_path: Path) -> None:
    operator = Operator(Settings(namespace="n", max_pods=1), object(), Store(f"file://{tmp_path}"))  # type: ignore[arg-type]
    call_first_of_two(operator._slots)
    operator._queue.add("first")
    uid, _ = await operator._queue.take()
    operator._queue_again(uid, NotReadyError("not now"))
    assert (await operator._queue.take())[0] == "second"
    assert operator._slots.take("second", "second-1", priority=0, since=2)


class Server:
    """An API server with one episode, whose sandbox was promised and is not there."""

    def __init__(self) -> None:
        task = make_spec(f2p=("f",), p2p=("p",)).task
        assert task
        metadata = {"namespace": "runs", "name": "e", "uid": "first", "generation": 1, "resourceVersion": "5"}
        self.raw = {"kind": "AgentEpisode", "metadata": metadata, "spec": {"task": api.to_wire(task)}}

    async def get(self, *_: Any) -> dict[str, Any]:
        return self.raw

    async def patch_status(self, *_: Any) -> dict[str, Any]:
        return self.raw


async def test_an_object_that_has_nothing_to_run_now_leaves_its_place_to_the_next(tmp_path: Path) -> None:
    cache, queue, slots, store, server = Cache(), WorkQueue[str](), Slots(1), Store(f"file://{tmp_path}"), Server()
    cache.see_object(server.raw)
    call_first_of_two(slots)
    reconciler = make_reconciler(
        server,
        {"AgentEpisode": EpisodeLine(server, store)},  # type: ignore[arg-type]
        cache=cache,
        store=store,
        queue=queue,
        slots=slots,
    )
    await reconciler.reconcile("first")
    assert slots.take("second", "second-1", priority=0, since=2)
