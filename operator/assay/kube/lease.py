"""One active operator at a time, by a Lease: acquired, renewed, and given back at the end.

The holder trusts its own monotonic clock: a lease that it has not renewed for ``DURATION`` seconds is lost, whatever
the API server would say, because another may have it by then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

from assay.kube.client import LEASES, ApiError, Client

DURATION = 15
RENEW = 4
RETRY = 2

log = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """Another operator may be active now: stop writing at once."""


class Lease:
    """The Lease of a name, for one identity."""

    def __init__(self, client: Client, *, namespace: str, name: str, identity: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._renewed = float("-inf")
        self._seen: tuple[str, float] = ("", 0.0)

    @property
    def held(self) -> bool:
        """Whether this process may write."""
        return time.monotonic() < self._renewed + DURATION

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while not await self._try():  # noqa: ASYNC110 - the other holder cannot tell us
            await asyncio.sleep(RETRY)
        log.info("holding the lease %s/%s as %s", self._namespace, self._name, self._identity)

    async def keep(self) -> None:
        """Renew until it is no longer possible, then raise ``LeaseLostError``."""
        while True:
            await asyncio.sleep(RENEW if self.held else 0)
            if not await self._try() and not self.held:
                raise LeaseLostError(f"the lease {self._namespace}/{self._name} is no longer held by {self._identity}")

    async def release(self) -> None:
        """Give the lease back, so that the next operator need not wait for its end."""
        if not self.held:
            return
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._client.replace(LEASES, self._namespace, self._name, lease)
        except ApiError as error:
            log.warning("the lease could not be given back: %s", error)
        self._renewed = float("-inf")

    async def _try(self) -> bool:
        asked = time.monotonic()
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if not self._free(lease):
                return False
            lease["spec"] = self._spec(lease["spec"])
            await self._client.replace(LEASES, self._namespace, self._name, lease)
        except ApiError as error:
            if error.status != 404:
                log.warning("the lease could not be renewed: %s", error)
                return False
            return await self._create(asked)
        self._renewed = asked
        return True

    async def _create(self, asked: float) -> bool:
        manifest = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": self._spec({}),
        }
        try:
            await self._client.create(LEASES, self._namespace, manifest)
        except ApiError as error:
            log.warning("the lease could not be made: %s", error)
            return False
        self._renewed = asked
        return True

    def _free(self, lease: dict[str, Any]) -> bool:
        """Whether the lease may be taken: ours, nobody's, or unchanged for longer than its holder asked for."""
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder in ("", self._identity):
            return True
        version = lease["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, time.monotonic())
            return False
        return time.monotonic() > self._seen[1] + float(spec.get("leaseDurationSeconds") or DURATION)

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = before.get("holderIdentity") == self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION,
            "acquireTime": before.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (not ours),
        }
