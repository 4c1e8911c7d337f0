"""The operator with its store on an S3 server that fails: no verdict before its evidence is stored, and no run twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.verify import artifacts_of
from assay.store.artifacts import Store
from conftest import TestCluster
from operating import Site, operating, validation
from store.s3 import Disk, S3Server

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]


@pytest.fixture
def site(api_cluster: TestCluster, server: S3Server, tmp_path: Path) -> Iterator[Site]:
    """An operator whose store is on the server."""
    folder = tmp_path / "operator"
    folder.mkdir()
    with operating(api_cluster, folder, store=server.uri) as site:
        yield site


def until_refused(site: Site, why: str) -> None:
    """Wait until the operator's log tells of a new refusal by the store."""

    def refusals() -> int:
        return sum(why in line for line in site.operator.lines("WARNING"))

    before = refusals()
    site.until(lambda: refusals() > before, why)


def assert_nothing_is_told(site: Site, name: str) -> None:
    """The status names no artifact, and the evidence is still in its pod."""
    status = site.status(name)
    assert status.verdict is None
    assert list(artifacts_of(status)) == []
    assert [pod["metadata"].get("deletionTimestamp") for pod in site.pods()] == [None]


def test_a_verdict_waits_for_the_store_through_every_kind_of_failure(site: Site, server: S3Server, disk: Disk) -> None:
    server.stop()
    site.apply(validation("acorn-1", "store"))
    until_refused(site, "Could not connect")
    assert_nothing_is_told(site, "acorn-1")
    server.start(readonly=True)
    until_refused(site, "ACCESS_DENIED")
    assert_nothing_is_told(site, "acorn-1")
    server.stop()
    disk.fill()
    server.start()
    until_refused(site, "No space left")
    assert_nothing_is_told(site, "acorn-1")
    disk.clear()
    status = site.until_status("acorn-1", lambda status: status.verdict is not None)
    assert (status.verdict, status.reason) == ("Invalid", "TargetTestsPassUnpatched")
    assert [(run.name, run.attempt, run.faults) for run in status.runs if run.log] == [("unpatched-1", 1, ())]
    store, artifacts = Store(server.uri), list(artifacts_of(status))
    assert [what for what, _ in artifacts] == ["unpatched-1 log", "unpatched-1 results", "report"]
    for _, artifact in artifacts:
        assert len(store.get(artifact.sha256)) == artifact.bytes
    assert site.operator.lines("ERROR") == []
