"""The work queue: nothing is lost, nothing is worked on twice at a time, failures come back later."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.controller.queue import LONGEST_BACKOFF, WorkQueue


async def taken(queue: WorkQueue[str]) -> str:
    key, _ = await asyncio.wait_for(queue.take(), 5)
    return key


async def empty(queue: WorkQueue[str]) -> bool:
    try:
        await asyncio.wait_for(queue.take(), 0.01)
    except TimeoutError:
        return True
    return False


async def test_keys_come_in_the_order_of_their_arrival() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in ("a", "b", "c"):
        queue.add(key)
    assert [await taken(queue) for _ in range(3)] == ["a", "b", "c"]


async def test_many_events_of_a_waiting_key_are_one_look() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(100):
        queue.add("a")
    assert len(queue) == 1
    assert await taken(queue) == "a"
    assert await empty(queue)


async def test_a_key_under_work_is_looked_at_once_more_afterwards_and_not_meanwhile() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await taken(queue) == "a"
    queue.add("a")
    queue.add("a")
    assert await empty(queue)
    queue.done("a")
    assert await taken(queue) == "a"
    queue.done("a")
    assert await empty(queue)


async def test_a_waiting_worker_is_woken_by_an_event() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(taken(queue))
    await asyncio.sleep(0)
    queue.add("a")
    assert await waiting == "a"


async def test_a_later_look_comes_at_its_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    at = time.monotonic() + 0.05
    queue.add_at("a", at)
    assert len(queue) == 0
    assert await taken(queue) == "a"
    assert time.monotonic() >= at


async def test_the_earlier_of_two_later_looks_wins_and_there_is_only_one() -> None:
    queue: WorkQueue[str] = WorkQueue()
    now = time.monotonic()
    queue.add_at("a", now + 3600)
    queue.add_at("a", now)
    queue.add_at("a", now + 1800)
    assert await taken(queue) == "a"
    queue.done("a")
    assert await empty(queue)


async def test_a_failed_look_comes_back_later_and_later_until_one_ends_well() -> None:
    queue: WorkQueue[str] = WorkQueue()
    pauses = [queue.failed("a") for _ in range(12)]
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert pauses[-1] == LONGEST_BACKOFF
    queue.done("a")
    assert queue.failed("a") == 1.0


async def test_an_event_during_a_look_that_fails_does_not_shorten_the_pause() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await taken(queue)
    queue.add("a")
    queue.failed("a")
    assert await empty(queue)


async def test_one_poison_key_keeps_no_other_from_its_turn() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("poison")
    await taken(queue)
    queue.failed("poison")
    for key in map(str, range(50)):
        queue.add(key)
    for key in map(str, range(50)):
        assert await taken(queue) == key
        queue.done(key)


async def test_a_forgotten_key_never_comes_back_by_itself() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("ready")
    queue.forget("ready")
    queue.add_at("later", time.monotonic())
    queue.forget("later")
    queue.add("busy")
    assert await taken(queue) == "busy"
    queue.add("busy")
    queue.forget("busy")
    queue.done("busy")
    assert await empty(queue)


async def test_a_forgotten_key_may_be_added_anew() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.failed("a")
    queue.forget("a")
    queue.add("a")
    assert await taken(queue) == "a"
    assert queue.failed("a") == 1.0


async def test_the_oldest_wait_is_told() -> None:
    queue: WorkQueue[str] = WorkQueue()
    assert queue.oldest_seconds() == 0.0
    queue.add("a")
    before = queue.oldest_seconds()
    queue.add("b")
    assert queue.oldest_seconds() >= before >= 0.0


STEPS = st.lists(st.tuples(st.sampled_from(["add", "take", "done", "failed", "forget"]), st.sampled_from("abc")))


@settings(deadline=None, max_examples=200)
@given(STEPS)
def test_no_key_is_under_two_workers_and_none_that_was_added_is_lost(steps: list[tuple[str, str]]) -> None:
    asyncio.run(_walk(steps))


async def _walk(steps: list[tuple[str, str]]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    busy: set[str] = set()
    owed: set[str] = set()
    for what, key in steps:
        if what == "add":
            queue.add(key)
            owed.add(key)
        elif what == "take" and len(queue):
            found = await taken(queue)
            assert found not in busy
            busy.add(found)
            owed.discard(found)
        elif what == "forget":
            queue.forget(key)
            owed.discard(key)
        elif key in busy and what in ("done", "failed"):
            busy.discard(key)
            (queue.done if what == "done" else queue.failed)(key)
            if what == "failed":
                owed.discard(key)
    for key in sorted(busy):
        queue.done(key)
    found = {await taken(queue) for _ in range(len(queue))}
    assert owed <= found


@pytest.mark.parametrize("workers", [1, 8])
async def test_workers_side_by_side_do_every_key(workers: int) -> None:
    queue: WorkQueue[int] = WorkQueue()
    seen: list[int] = []
    finished = asyncio.Event()

    async def work() -> None:
        while True:
            key, _ = await queue.take()
            await asyncio.sleep(0)
            seen.append(key)
            queue.done(key)
            if len(seen) == 200:
                finished.set()

    tasks = [asyncio.create_task(work()) for _ in range(workers)]
    for key in range(200):
        queue.add(key)
    await asyncio.wait_for(finished.wait(), 10)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(seen) == list(range(200))


async def test_waiting_for_a_later_key_takes_no_task_of_its_own() -> None:
    """kopf cancels every task that came after it: one of the queue's would end its worker by an error."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add_at("a", time.monotonic() + 60)
    before = asyncio.all_tasks()
    taking = asyncio.create_task(queue.take())
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() - before == {taking}
    taking.cancel()
