"""Events for people never hold up the work, and never flood the log."""

from __future__ import annotations

import logging
import re

import pytest

from assay.controller import events
from assay.controller.cache import Cache
from assay.controller.events import MAX_WAITING, Recorder


async def test_thousands_of_dropped_events_are_told_by_their_number(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = {"namespace": "runs", "name": "v", "uid": "u", "generation": 1, "resourceVersion": "1"}
    view = Cache().see_object({"kind": "TaskValidation", "metadata": metadata, "spec": {}})
    recorder = Recorder(client=None)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        for number in range(MAX_WAITING + 3_000):
            recorder.normal(view, "TaskAccepted", str(number))
        monkeypatch.setattr(events, "TELL_SECONDS", 0.0)
        recorder.normal(view, "Valid", "all is well")
    told = [int(found[1]) for line in caplog.messages if (found := re.search(r"(\d+) events dropped", line))]
    assert told == [1, 3_000]
