"""Follow a collection for ever: list it, watch it, list again when the watch's thread is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Protocol

from assay.kube.client import ApiError, Client, Kind

log = logging.getLogger(__name__)

_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


class Follower(Protocol):
    """Whoever wants to know a collection; its methods do not wait."""

    def begin(self) -> None:
        """A new list begins."""

    def see(self, raw: Mapping[str, Any]) -> object:
        """An object was listed, made or changed."""

    def drop(self, raw: Mapping[str, Any]) -> None:
        """An object was deleted."""

    def end(self) -> None:
        """The list is complete: an object that was not seen since it began is gone."""


async def follow(client: Client, kind: Kind, namespace: str, follower: Follower, *, page: int = 200) -> None:
    """Tell ``follower`` of a namespace's objects until cancelled; faults are logged and overcome."""
    pause = _PAUSE
    while True:
        try:
            version = await _listed(client, kind, namespace, follower, page)
            pause = _PAUSE
            while True:
                version = await _watched(client, kind, namespace, follower, version)
        except ApiError as error:
            if error.status != 410:
                log.warning("watching %s: %s; listing again in %.0f s", kind.plural, error, pause)
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)


async def _listed(client: Client, kind: Kind, namespace: str, follower: Follower, page: int) -> str:
    follower.begin()
    version = ""
    async for items, version in client.versioned_pages(kind, namespace, size=page):  # noqa: B007 - the last one counts
        for raw in items:
            follower.see(raw)
    follower.end()
    return version


async def _watched(client: Client, kind: Kind, namespace: str, follower: Follower, version: str) -> str:
    try:
        async for event, raw in client.watch(kind, namespace, version=version):
            version = str(raw["metadata"]["resourceVersion"])
            if event == "DELETED":
                follower.drop(raw)
            elif event != "BOOKMARK":
                follower.see(raw)
    except ApiError as error:
        if error.status:
            raise
        log.info("watching %s: %s; going on", kind.plural, error)
        await asyncio.sleep(_PAUSE)
    return version
