from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from witness.hands.sandbox import Sandbox, sandbox_in


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox whose processes have not begun."""
    with sandbox_in(tmp_path / "s") as made:
        yield made


@pytest.fixture(scope="module", params=["bash", "dash", "busybox"])
def ready(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox that serves calls, shared by the tests of a module that leave it usable."""
    with sandbox_in(tmp_path_factory.mktemp("sandbox") / "s") as made:
        yield made.up(request.param)
