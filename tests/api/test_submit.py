"""``assay submit`` on a real API server: everything once, refusals told, and on again where it stopped."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from builders import make_manifest
from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

NAMESPACE = "submitted"
COUNT = 600


@pytest.fixture(scope="module")
def folder(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    api_cluster.kubectl("create", "namespace", NAMESPACE)
    folder = tmp_path_factory.mktemp("manifests")
    manifests = [make_manifest(f"lantern-{number}", namespace=NAMESPACE) for number in range(COUNT)]
    (folder / "manifests-00000.yaml").write_text(yaml.safe_dump_all(manifests[:400]))
    (folder / "manifests-00001.yaml").write_text(yaml.safe_dump_all(manifests[400:]))
    yield folder
    api_cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def submit(cluster: TestCluster, *words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    command = (sys.executable, "-m", "assay", "submit", *map(str, words))
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def names(cluster: TestCluster) -> list[str]:
    return cluster.kubectl("get", "tv", "-n", NAMESPACE, "-o", "name").stdout.split()


def test_a_submission_that_was_broken_off_goes_on_and_ends_with_each_object_once(
    api_cluster: TestCluster, folder: Path
) -> None:
    first = submit(api_cluster, folder / "manifests-00000.yaml")
    assert (first.returncode, first.stderr) == (0, "400 applied, 0 there already, 0 refused\n")
    rest = submit(api_cluster, folder)
    assert (rest.returncode, rest.stderr) == (0, f"{COUNT - 400} applied, 400 there already, 0 refused\n")
    assert len(names(api_cluster)) == COUNT
    again = submit(api_cluster, folder, "--again")
    assert again.stderr.startswith(f"{COUNT} applied")
    generations = ("get", "tv", "-n", NAMESPACE, "-o", "jsonpath={.items[*].metadata.generation}")
    assert set(api_cluster.kubectl(*generations).stdout.split()) == {"1"}


def test_a_refused_object_is_told_and_the_others_are_applied(api_cluster: TestCluster, folder: Path) -> None:
    good, bad = (make_manifest(name, namespace=NAMESPACE) for name in ("good", "bad"))
    bad["spec"]["task"]["image"] = "NOT AN IMAGE"
    path = folder / "mixed.json"
    path.write_text(yaml.safe_dump_all([bad, good]))
    done = submit(api_cluster, path)
    assert done.returncode == 1
    assert "bad: " in done.stderr
    assert "image reference" in done.stderr
    assert "1 applied, 0 there already, 1 refused" in done.stderr
    assert "taskvalidation.assay.dev/good" in names(api_cluster)
