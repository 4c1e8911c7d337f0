"""The addresses that a run must not reach, each proven alive from here: a shut door means nothing if nobody is behind.

The operator is the positive control: it is under no policy of the runs, so an address that does not answer it cannot
tell a run's isolation from the target's absence, and is left out.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable

from assay.controller import metrics
from assay.kube.client import ENDPOINT_SLICES, ApiError, Client
from assay.witness.isolation import target_name

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0


async def live_targets(client: Client, *, extra: Iterable[str], own_port: int) -> tuple[str, ...]:
    """Return the ``address:port`` targets that answer now: API server, this operator, and the configured ones."""
    wanted = {*await _api_servers(client), *extra}
    own = os.environ.get("POD_IP")
    if own and own_port:
        wanted.add(target_name((own, own_port)))
    service, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if service and port:
        wanted.add(target_name((service, int(port))))
    answers = await asyncio.gather(*(_answers(target) for target in sorted(wanted)))
    alive = tuple(target for target, answer in zip(sorted(wanted), answers, strict=True) if answer)
    silent = sorted(wanted - set(alive))
    if silent:
        log.warning("these isolation targets do not answer and are left out: %s", ", ".join(silent))
    metrics.ISOLATION_TARGETS.set(len(alive))
    return alive


async def _api_servers(client: Client) -> set[str]:
    try:
        piece = await client.get(ENDPOINT_SLICES, "default", "kubernetes")
    except ApiError as error:
        log.warning("the addresses of the API server are not to be had: %s", error)
        return set()
    ports = [port["port"] for port in piece.get("ports") or () if port.get("port")]
    addresses = [address for endpoint in piece.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return {target_name((address, port)) for address in addresses for port in ports}


async def _answers(target: str) -> bool:
    host, _, port = target.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
