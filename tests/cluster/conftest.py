"""One operator and one set of examples for all tests on the real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.stage import Manifest, Stage, load_examples, load_image, working_operator
from conftest import TestCluster

EXAMPLES = (
    "valid",
    "valid-odd-patches",
    "flaky-pass-to-pass",
    "targets-pass-unpatched",
    "test-patch-does-not-apply",
    "image-missing",
    "out-of-memory",
    "regression",
    "cachetools-5-4-0",
    "unidiff-0-7-1",
    "go-humanize-1-0-1",
    "go-humanize-planted",
    "planted-release",
    "planted-tag",
)


@pytest.fixture(scope="session")
def witness_image(cluster: TestCluster) -> str:
    """Assay's image, by digest."""
    return load_image(cluster)


@pytest.fixture(scope="session")
def stage(cluster: TestCluster, witness_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """An operator at work on the session's node."""
    with working_operator(cluster, tmp_path_factory.mktemp("operator"), witness_image) as stage:
        yield stage


@pytest.fixture(scope="session")
def examples(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Manifest]:
    """The manifests of the examples, whose images are in the cluster's registry."""
    return load_examples(cluster, tmp_path_factory.mktemp("manifests"), EXAMPLES)
