"""Whether anybody answers for a Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.kube.client import ENDPOINT_SLICES, Client


async def is_deserted(client: Client, namespace: str, service: str) -> bool:
    """Return whether a Service has endpoints of which none is ready; raises ApiError.

    One that the cluster keeps no endpoints of may be answered for elsewhere: of that nothing is known.
    """
    slices: list[Mapping[str, Any]] = []
    async for page in client.pages(ENDPOINT_SLICES, namespace, selector=f"kubernetes.io/service-name={service}"):
        slices += page
    ready = [
        (endpoint.get("conditions") or {}).get("ready") is not False  # not said: ready
        for piece in slices
        for endpoint in piece.get("endpoints") or ()
    ]
    return bool(slices) and not any(ready)
