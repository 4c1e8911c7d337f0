"""Many things at a time, but not too many."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def finished(
    at_once: int, act: Callable[[Item], Awaitable[Result]], items: Iterable[Item]
) -> AsyncIterator[Result]:
    """Act on all items, so many at a time; yield each result when it is there.  The first error ends it."""
    waiting = iter(items)
    running: set[asyncio.Future[Result]] = set()
    try:
        while True:
            for item in itertools.islice(waiting, at_once - len(running)):
                running.add(asyncio.ensure_future(act(item)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
