"""Accounts of runs: what each may still use, and what it has used (for ``status.egress`` of its episode)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from assay.goproxy.settings import Settings

MAX_RUNS = 20_000
MAX_MODULES = 1_000


@dataclass(slots=True, kw_only=True)
class Account:
    """One run's use of this replica.

    ``modules`` are the first module paths served; ``rules`` counts denials by rule, ``active`` requests under way.
    """

    slots: asyncio.Semaphore
    requests: int = 0
    denied: int = 0
    bytes: int = 0
    waiting: int = 0
    active: int = 0
    modules: set[str] = field(default_factory=set)
    rules: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return the counts as JSON: requests, denied, bytes, modules (sorted), rules, active."""
        return {
            "requests": self.requests,
            "denied": self.denied,
            "bytes": self.bytes,
            "modules": sorted(self.modules),
            "rules": dict(self.rules),
            "active": self.active,
        }

    def deny(self, rule: str) -> None:
        """Count a denial."""
        self.denied += 1
        self.rules[rule] = self.rules.get(rule, 0) + 1

    def serve(self, module: str, sent: int) -> None:
        """Count bytes sent, and the module that they are of."""
        self.bytes += sent
        if module and len(self.modules) < MAX_MODULES:
            self.modules.add(module)


class ExhaustedError(Exception):
    """A run has used up a budget or waits in too many places; the client gets 429 with this text."""


class Ledger:
    """The accounts of all runs, the longest unused out first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._accounts: OrderedDict[str, Account] = OrderedDict()

    def account(self, run: str) -> Account:
        """Return the run's account, a new one at its first request."""
        account = self._accounts.get(run)
        if account is None:
            account = Account(slots=asyncio.Semaphore(self._settings.run_concurrency))
            self._accounts[run] = account
            if len(self._accounts) > MAX_RUNS:
                self._accounts.popitem(last=False)
        self._accounts.move_to_end(run)
        return account

    def usage(self, runs: Collection[str] | None = None) -> dict[str, dict[str, object]]:
        """Return the counts by run, of all or of those named; a run that never asked has none."""
        chosen = self._accounts if runs is None else [run for run in runs if run in self._accounts]
        return {run: self._accounts[run].as_dict() for run in chosen}

    @asynccontextmanager
    async def slot(self, account: Account) -> AsyncIterator[None]:
        """Hold one of the run's places while a request is answered; raises ExhaustedError instead of waiting for ever."""
        account.requests += 1
        account.active += 1
        try:
            await self._enter(account)
            try:
                yield
            finally:
                account.slots.release()
        finally:
            account.active -= 1

    async def _enter(self, account: Account) -> None:
        settings = self._settings
        if account.requests > settings.run_requests:
            raise ExhaustedError("this run has made all the requests that it may make")
        if account.bytes >= settings.run_bytes:
            raise ExhaustedError("this run has fetched all the bytes that it may fetch")
        if account.waiting >= settings.run_queue:
            raise ExhaustedError("this run asks for too much at once")
        account.waiting += 1
        try:
            async with asyncio.timeout(settings.run_queue_seconds):
                await account.slots.acquire()
        except TimeoutError as error:
            raise ExhaustedError("this run's earlier requests take too long") from error
        finally:
            account.waiting -= 1
