"""Events for people: each tells one step of an object's story once, and never holds up the work.

An event's name is derived from what it says, so a repeated one is a conflict, which is a success.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from typing import Any

from assay.controller.cache import ObjectView
from assay.domain.status import rfc3339
from assay.kube.client import EVENTS, ApiError, Client

log = logging.getLogger(__name__)

MAX_WAITING = 5_000
MESSAGE_CHARS = 1_000
TELL_SECONDS = 60.0
"""How often it is logged that events are dropped: a large batch drops thousands."""


class Recorder:
    """Writes events in the background, one at a time; when too many wait, new ones are dropped, and their number is logged."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(MAX_WAITING)
        self._dropped = 0
        self._told_at = float("-inf")

    def normal(self, view: ObjectView, reason: str, message: str) -> None:
        """Tell a step that went as it should."""
        self._tell("Normal", view, reason, message)

    def warning(self, view: ObjectView, reason: str, message: str) -> None:
        """Tell a step that somebody may want to look at."""
        self._tell("Warning", view, reason, message)

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            namespace, event = await self._waiting.get()
            try:
                await self._client.create(EVENTS, namespace, event)
            except ApiError as error:
                if error.status != 409:
                    log.warning("an event was not written: %s", error)

    def _tell(self, kind: str, view: ObjectView, reason: str, message: str) -> None:
        said = hashlib.sha256(f"{view.uid}/{reason}/{message}".encode("utf-8", "backslashreplace")).hexdigest()[:16]
        now = rfc3339(time.time())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{view.name[:200]}.{said}", "namespace": view.namespace},
            "involvedObject": {
                "apiVersion": "assay.dev/v1alpha1",
                "kind": view.kind,
                "namespace": view.namespace,
                "name": view.name,
                "uid": view.uid,
            },
            "type": kind,
            "reason": reason,
            "message": message[:MESSAGE_CHARS],
            "source": {"component": "assay"},
            "reportingComponent": "assay.dev/operator",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._waiting.put_nowait((view.namespace, event))
        except asyncio.QueueFull:
            self._drop(view, reason)

    def _drop(self, view: ObjectView, reason: str) -> None:
        self._dropped += 1
        now = time.monotonic()
        if now < self._told_at + TELL_SECONDS:
            return
        log.warning("%s: %d events dropped, %d wait already, last: %s", view.name, self._dropped, MAX_WAITING, reason)
        self._dropped, self._told_at = 0, now
