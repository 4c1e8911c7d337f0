from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from goproxy.stage import Stage, make_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A gateway whose upstream has only what the test gives it."""
    async with make_stage(tmp_path / "cache") as made:
        yield made


@pytest.fixture
async def generous(tmp_path: Path) -> AsyncIterator[Stage]:
    """A gateway whose upstream has every module at every version."""
    async with make_stage(tmp_path / "cache", generous=True) as made:
        yield made


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(record.getMessage()))


@pytest.fixture
def decisions() -> Iterator[list[dict[str, Any]]]:
    """The lines of the decision log, as they are written."""
    handler = _Lines()
    logger = logging.getLogger("assay.goproxy.decisions")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)
