"""Policy records from AgentEpisodes: one follower for each run namespace, one table for the gateway.

Fails closed: an episode that is not known, has ended, or cannot be read whole has no route.  While the API server is
away, what was known stays in force: a token opens nothing from any address but its own pod's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from assay.domain.goproxy.records import BadRecord, RunRecord, record_of_episode
from assay.goproxy.policies import TablePolicies
from assay.kube.client import AGENT_EPISODES, Client
from assay.kube.follow import follow

logger = logging.getLogger(__name__)


class EpisodePolicies:
    """The records of all followed namespaces; counted as unread until each of them was listed once."""

    def __init__(self, namespaces: Iterable[str]) -> None:
        self._table = TablePolicies()
        self.followers = {namespace: NamespaceFollower(self._table) for namespace in namespaces}

    async def find(self, token_sha256: str) -> RunRecord | None:
        """Return the record of the token."""
        return await self._table.find(token_sha256)

    def count(self) -> int | None:
        """Return the number of runs, None while a namespace was not listed yet."""
        return self._table.count() if all(each.synced for each in self.followers.values()) else None


class NamespaceFollower:
    """Keeps the table true to one namespace's episodes."""

    def __init__(self, table: TablePolicies) -> None:
        self.synced = False
        self._table = table
        self._known: set[str] = set()
        self._unseen: set[str] = set()

    def begin(self) -> None:
        """Begin a list."""
        self._unseen = set(self._known)

    def see(self, raw: Mapping[str, Any]) -> None:
        """Note an episode as it is now."""
        run = _run_of(raw)
        self._unseen.discard(run)
        record = record_of_episode(raw)
        if isinstance(record, RunRecord):
            self._known.add(run)
            self._table.put(record)
            return
        if isinstance(record, BadRecord):
            logger.warning("episode %s has no route: %s: %s", run, record.field, record.why)
        self._forget(run)

    def drop(self, raw: Mapping[str, Any]) -> None:
        """Forget an episode that is gone."""
        self._forget(_run_of(raw))

    def end(self) -> None:
        """End a list: what was not in it is gone."""
        for run in self._unseen:
            self._forget(run)
        self._unseen = set()
        self.synced = True

    def _forget(self, run: str) -> None:
        self._known.discard(run)
        self._table.drop(run)


def _run_of(raw: Mapping[str, Any]) -> str:
    return f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"


@asynccontextmanager
async def followed(client: Client, namespaces: Iterable[str]) -> AsyncIterator[EpisodePolicies]:
    """Follow the episodes of the namespaces until the context ends."""
    policies = EpisodePolicies(namespaces)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(follow(client, AGENT_EPISODES, namespace, follower))
            for namespace, follower in policies.followers.items()
        ]
        try:
            yield policies
        finally:
            for task in tasks:
                task.cancel()
