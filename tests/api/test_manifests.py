"""The pods and Secrets of the golden files before a real API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from conftest import TestCluster
from manifests import OWNER, golden_manifests

pytestmark = pytest.mark.api


@pytest.fixture(scope="module")
def runs(api_cluster: TestCluster) -> Iterator[None]:
    """The namespace of the runs, with the Pod Security level that the chart gives it."""
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWNER.namespace, "labels": labels}}
    api_cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(namespace))
    yield
    api_cluster.kubectl("delete", "namespace", OWNER.namespace)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("name", golden_manifests())
def test_the_api_server_takes_every_golden_manifest_without_a_warning(api_cluster: TestCluster, name: str) -> None:
    text = yaml.safe_dump_all(golden_manifests()[name])
    done = api_cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
    assert "Warning" not in done.stderr
    assert done.stdout.count("(server dry run)") == len(golden_manifests()[name])
