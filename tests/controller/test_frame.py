"""kopf as the frame alone: it keeps nothing of an object and asks for no change of it."""

from __future__ import annotations

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
