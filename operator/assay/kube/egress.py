"""The module gateway as the operator sees it: its address for sandboxes, and what its replicas have counted."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiohttp

from assay.domain.goproxy.usage import Counts, Usage, usage_of_answer
from assay.kube.client import ENDPOINT_SLICES, SERVICES, Client
from assay.witness.isolation import target_name

log = logging.getLogger(__name__)

SERVICE = "assay-goproxy"
HEALTH_SERVICE = "assay-goproxy-health"
_SECONDS = aiohttp.ClientTimeout(total=10)


async def gateway_url(client: Client, namespace: str, service: str = SERVICE) -> str:
    """Return ``http://address:port`` of a gateway's Service; pods there have no name service.  Raises ApiError."""
    spec = (await client.get(SERVICES, namespace, service))["spec"]
    return f"http://{target_name((str(spec['clusterIP']), int(spec['ports'][0]['port'])))}"


async def usage_of_runs(client: Client, session: aiohttp.ClientSession, namespace: str, runs: Iterable[str]) -> Counts:
    """Ask every replica of the gateway for its counts of these runs (``namespace/name``); raises ApiError.

    A replica that does not answer in 10 seconds, or nonsense, is silent and logged: what it counts comes next time.
    """
    wanted = tuple(runs)
    replicas = await _replicas(client, namespace)
    answers = await asyncio.gather(*(_asked(session, replica, wanted) for replica in replicas))
    told = [answer for answer in answers if answer is not None]
    return Counts(
        by_run={run: tuple(answer[run] for answer in told if run in answer) for run in wanted},
        silent=tuple(replica for replica, answer in zip(replicas, answers, strict=True) if answer is None),
    )


async def _replicas(client: Client, namespace: str) -> Sequence[str]:
    """Return ``address:port`` of the health port of each replica, also of one that is not ready."""
    found: set[str] = set()
    selector = f"kubernetes.io/service-name={HEALTH_SERVICE}"
    async for slices in client.pages(ENDPOINT_SLICES, namespace, selector=selector):
        for piece in slices:
            found |= _addresses(piece)
    return sorted(found)


def _addresses(piece: Mapping[str, Any]) -> set[str]:
    ports = [int(port["port"]) for port in piece.get("ports") or () if port.get("port")]
    endpoints = [endpoint.get("addresses") or () for endpoint in piece.get("endpoints") or ()]
    return {target_name((address, port)) for addresses in endpoints for address in addresses[:1] for port in ports}


async def _asked(session: aiohttp.ClientSession, replica: str, runs: Sequence[str]) -> Mapping[str, Usage] | None:
    try:
        async with session.post(f"http://{replica}/usage", json={"runs": runs}, timeout=_SECONDS) as response:
            response.raise_for_status()
            return usage_of_answer(json.loads(await response.read()))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        log.warning("the module gateway at %s did not say what was used: %s", replica, error or type(error).__name__)
        return None
