"""Read a run's record out of its pod, through the kubelet's log API."""

from __future__ import annotations

import asyncio

from assay.kube.client import Client
from assay.witness.record import Record, RecordFault, read_record

TRIES = 12
PAUSE_SECONDS = 0.25
INLINE_BYTES = 256 * 1024
WITNESS = "witness"


async def read_evidence(client: Client, namespace: str, pod: str) -> Record:
    """Return the record that the witness of an ended run printed.

    A log that stops before the record's end is read again for three seconds: the runtime may still be writing it.
    ``RecordFault`` when there is no whole record, ``ApiError`` at once when the log cannot be had: of a node that is
    gone, the API server knows that only after half a minute.
    """
    for attempt in range(1, TRIES + 1):
        try:
            log = await client.log(namespace, pod, WITNESS)
            return await _decoded(log)
        except RecordFault as fault:
            if not fault.incomplete or attempt == TRIES:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
    raise AssertionError("unreachable")


async def _decoded(log: bytes) -> Record:
    return read_record(log) if len(log) < INLINE_BYTES else await asyncio.to_thread(read_record, log)
