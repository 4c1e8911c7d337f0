"""One release with gateways for all tests of episodes, with API keys of two users, and a task that it found valid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chart.installing import Release, installed
from conftest import TestCluster
from gateway.stage import write_keys

EPISODES = "episodes"


@pytest.fixture(scope="session")
def release(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Assay with two gateways, which know the users ``alice`` and ``bob``."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    write_keys(keys)
    system = f"{EPISODES}-system"
    cluster.kubectl("create", "namespace", system)
    cluster.kubectl("create", "secret", "generic", "assay-gateway-keys", "-n", system, f"--from-file={keys}")
    with installed(cluster, EPISODES, "gateway.replicas=2") as release:
        yield release


@pytest.fixture(scope="session")
def task(release: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A task that the release has found valid."""
    manifest = release.apply_example(tmp_path_factory.mktemp("manifests"), "valid")
    found = release.wait(f"tv/{manifest['metadata']['name']}")
    assert found["status"]["verdict"] == "Valid"
    return manifest


@pytest.fixture(scope="session")
def hidden(task: dict[str, Any]) -> tuple[str, ...]:
    """What an agent must not see: names of the tests that grade it, and lines of both patches."""
    spec = task["spec"]["task"]
    lines = [
        next(line[1:].strip() for line in spec[patch].splitlines() if line.startswith("+ ") and len(line) > 20)
        for patch in ("patch", "testPatch")
    ]
    names = [name.rpartition("::")[2] for name in spec["tests"]["failToPass"]]
    return (*names, *lines)
