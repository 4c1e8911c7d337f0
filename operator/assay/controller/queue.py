"""A keyed work queue: one worker a key at a time, events of a waiting key are one, failures come back later.

An event is only a hint that a key is worth a look.  ``add`` while a key is being worked on marks it for one more look;
``add_at`` looks later; ``failed`` comes back after 1, 2, 4 ... 300 s.  Nothing is ever dropped but by ``forget``.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

LONGEST_BACKOFF = 300.0


class WorkQueue(Generic[Key]):
    """Keys that are worth a look, in order of arrival."""

    def __init__(self) -> None:
        self._ready: OrderedDict[Key, float] = OrderedDict()
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._later: list[tuple[float, int, Key]] = []
        self._later_at: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._sequence = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    def oldest_seconds(self) -> float:
        """Return how long the oldest ready key has waited."""
        return time.monotonic() - next(iter(self._ready.values())) if self._ready else 0.0

    def add(self, key: Key) -> None:
        """Look at a key as soon as a worker is free."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = time.monotonic()
            self._changed.set()

    def add_at(self, key: Key, at: float) -> None:
        """Look at a key at a time of the monotonic clock, or earlier if it was to be looked at earlier."""
        if self._later_at.get(key, float("inf")) <= at:
            return
        self._later_at[key] = at
        self._sequence += 1
        heapq.heappush(self._later, (at, self._sequence, key))
        self._changed.set()

    def forget(self, key: Key) -> None:
        """Drop what is known of a key; a look under way ends as it does."""
        self._ready.pop(key, None)
        self._again.discard(key)
        self._later_at.pop(key, None)
        self._failures.pop(key, None)

    async def take(self) -> tuple[Key, float]:
        """Wait for a key that nobody works on; return it and how many seconds it waited.  ``done`` must follow."""
        while True:
            self._promote()
            if self._ready:
                key, since = self._ready.popitem(last=False)
                self._busy.add(key)
                return key, time.monotonic() - since
            self._changed.clear()
            pause = max(0.0, self._later[0][0] - time.monotonic()) if self._later else None
            # Not wait_for: before Python 3.12 it waits in a task of its own, and kopf cancels every task that it finds
            # at its end, which would end a worker by an error in the middle of an orderly stop.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()

    def done(self, key: Key) -> None:
        """Say that a look ended well."""
        self._failures.pop(key, None)
        self._release(key)

    def failed(self, key: Key, *, longest: float = LONGEST_BACKOFF) -> float:
        """Say that a look ended in an error; return the seconds until the next one, at most ``longest``."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(longest, 2.0 ** (count - 1))
        self._again.discard(key)
        self._release(key)
        self.add_at(key, time.monotonic() + pause)
        return pause

    def _release(self, key: Key) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _promote(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            at, _, key = heapq.heappop(self._later)
            if self._later_at.get(key) == at:
                del self._later_at[key]
                self.add(key)
