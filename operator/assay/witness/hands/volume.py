"""The private volume beside the journal: requests that still wait, and the outputs, the oldest of which make room."""

from __future__ import annotations

import os
from collections import deque
from json import dumps, loads

from assay.witness.hands.spool import Limits, Spool


class Volume:
    """Files by a call's number."""

    def __init__(self, private: str, limits: Limits, budget: int) -> None:
        """Keep at most ``budget`` bytes of finished calls' output."""
        self._folder = f"{private}/calls"
        self._limits = limits
        self._budget = budget
        self._kept: deque[int] = deque()
        self._kept_bytes = 0
        os.makedirs(self._folder, exist_ok=True)

    def keep_request(self, number: int, body: object) -> None:
        """Write a request down."""
        with open(f"{self._folder}/{number}.request", "wb") as file:
            file.write(dumps(body).encode())

    def request(self, number: int) -> object:
        """Return a request that waits or runs."""
        with open(f"{self._folder}/{number}.request", "rb") as file:
            return loads(file.read())

    def forget_request(self, number: int) -> None:
        """Remove a request that is done."""
        if os.path.exists(path := f"{self._folder}/{number}.request"):
            os.unlink(path)

    def spool(self, number: int) -> Spool:
        """Return the call's output, made if need be."""
        return Spool(f"{self._folder}/{number}", self._limits)

    def holds(self, number: int) -> bool:
        """Whether there is any output of the call."""
        return os.path.isdir(f"{self._folder}/{number}")

    def settle(self, number: int) -> None:
        """Count a finished call's output; remove the oldest ones when there is too much, never the newest."""
        if not self.holds(number):
            return
        self._kept.append(number)
        self._kept_bytes += self.spool(number).stored
        while self._kept_bytes > self._budget and len(self._kept) > 1:
            oldest = self.spool(self._kept.popleft())
            self._kept_bytes -= oldest.stored
            oldest.remove()
