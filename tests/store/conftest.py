"""The S3 server that the tests of the store break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.s3 import ENVIRONMENT, Disk, S3Server, built_server


@pytest.fixture(scope="session")
def program() -> Path:
    """The server's program."""
    return built_server()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 24 MiB."""
    made = Disk(tmp_path / "disk", size="24m")
    yield made
    made.close()


@pytest.fixture
def server(program: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A running server whose files lie on the small disk, and its credentials in the environment."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    made = S3Server(program, disk.folder)
    made.start()
    yield made
    made.stop()
