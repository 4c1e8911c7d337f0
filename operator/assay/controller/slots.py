"""Who may have a pod: at most so many at a time, by priority, then age; one who asked and had none is called back."""

from __future__ import annotations

import heapq


class Slots:
    """Places for pods.  A pod holds its place from the decision to make it until it is known to have ended."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[str, str] = {}
        self._waiting: list[tuple[int, float, str]] = []
        self._asked: dict[str, tuple[int, float, str]] = {}

    @property
    def held(self) -> int:
        """Places taken."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """Keys that wait for a place."""
        return len(self._asked)

    def take(self, key: str, pod: str, *, priority: int, since: float) -> bool:
        """Take a place for a pod of a key; False when there is none, or one with a better claim waits for it."""
        if pod in self._held:
            return True
        claim = (-priority, since, key)
        first = self._first()
        if len(self._held) < self._size and (first is None or claim <= first):
            self._held[pod] = key
            self._asked.pop(key, None)
            return True
        if self._asked.get(key) != claim:
            self._asked[key] = claim
            heapq.heappush(self._waiting, claim)
        return False

    def hold(self, key: str, pod: str) -> None:
        """Note a pod that exists, whether or not there is a place for it."""
        self._held[pod] = key

    def free(self, pod: str) -> str | None:
        """Give back the place of a pod; return the key to call, if one waits."""
        if self._held.pop(pod, None) is None:
            return None
        return self.next()

    def next(self) -> str | None:
        """Return the key with the best claim, when there is a place for it."""
        first = self._first()
        return first[2] if first and len(self._held) < self._size else None

    def forget(self, key: str) -> None:
        """Drop a key's claim; its pods keep their places until they end."""
        self._asked.pop(key, None)

    def _first(self) -> tuple[int, float, str] | None:
        while self._waiting and self._asked.get(self._waiting[0][2]) != self._waiting[0]:
            heapq.heappop(self._waiting)
        return self._waiting[0] if self._waiting else None
