"""kopf as the frame alone: it keeps nothing of an object, asks for no change of it, and leaves no watch open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from unittest import mock

import pytest
from kopf._cogs.clients import watching
from kopf._cogs.structs.references import Resource

from assay.controller.frame import STREAM, streams_closed
from assay.controller.handlers import frame_settings
from builders import make_manifest


def test_the_frame_neither_copies_nor_compares_objects() -> None:
    persistence = frame_settings().persistence
    body = make_manifest()
    assert persistence.diffbase_storage.build(body=body) == {}
    assert persistence.diffbase_storage.fetch(body=body) is None
    assert persistence.progress_storage.fetch(key="on_object", body=body) is None
    assert persistence.progress_storage.clear(essence=body) is body


def test_the_frame_writes_nothing_into_objects() -> None:
    persistence = frame_settings().persistence
    body, patch = make_manifest(), {}
    persistence.diffbase_storage.store(body=body, patch=patch, essence={})
    persistence.progress_storage.store(key="on_object", record={}, body=body, patch=patch)
    persistence.progress_storage.purge(key="on_object", body=body, patch=patch)
    persistence.progress_storage.touch(body=body, patch=patch, value="now")
    assert (patch, body) == ({}, make_manifest())


async def events(**_: object) -> AsyncIterator[object]:
    """What a watch tells, without a cluster."""
    while True:
        await asyncio.sleep(0)
        yield {"type": "MODIFIED", "object": {}}


def leave_watches_open(*, closed: bool) -> None:
    """Take an event of each of many watches of kopf's own, and end the loop while all are still referred to."""
    kept = []

    async def handing_on() -> None:
        async with streams_closed() if closed else contextlib.nullcontext():
            for _ in range(20):
                stream = watching.infinite_watch(
                    settings=frame_settings(), resource=Resource("", "v1", "pods"), namespace="n"
                )
                assert stream.__name__ == STREAM  # type: ignore[attr-defined]
                kept.append(stream)
                await anext(stream)

    with mock.patch.object(watching, "continuous_watch", events):
        asyncio.run(handing_on())


@pytest.mark.parametrize("closed", [True, False])
def test_watches_that_are_open_at_the_end_are_closed_without_an_error(
    caplog: pytest.LogCaptureFixture, *, closed: bool
) -> None:
    leave_watches_open(closed=closed)
    assert bool(caplog.records) is not closed
