"""Real tasks on a real node: verdicts, whole lists of tests beside those of direct execution, evidence."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import EXAMPLES
from cluster.stage import Manifest, Stage
from conftest import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

COMPARED = ("valid", "valid-odd-patches", "cachetools-5-4-0", "unidiff-0-7-1", "go-humanize-1-0-1")
FLAKY = "flaky-pass-to-pass"
COIN = "tests/test_coin.py::test_coin"


@pytest.fixture(scope="module")
def applied(stage: Stage, examples: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All examples applied; meanwhile the same ones are run directly, into this folder."""
    folder = tmp_path_factory.mktemp("direct")
    for manifest in examples.values():
        stage.apply(manifest)
    command = (sys.executable, "examples/direct.py", "--out", str(folder), *COMPARED, FLAKY)
    with subprocess.Popen(command, cwd=ROOT) as direct:
        assert direct.wait() == 0
    return folder


def test_every_example_gets_the_verdict_that_it_is_made_for(
    stage: Stage, examples: dict[str, Manifest], applied: Path
) -> None:
    assert applied
    assert set(examples) == set(EXAMPLES)
    for name, manifest in examples.items():
        status = stage.finished(name)
        expected = manifest["metadata"]["annotations"]["examples.assay.dev/expected"]
        said = status["verdict"] if status["verdict"] == "Valid" else f"{status['verdict']}/{status['reason']}"
        assert said == expected, (name, status["message"])


@pytest.mark.parametrize("name", COMPARED)
def test_the_whole_lists_equal_those_of_direct_execution(stage: Stage, applied: Path, name: str) -> None:
    direct = json.loads((applied / f"{name}.json").read_text())
    report = stage.report(stage.finished(name))
    assert report["verdict"] == direct["verdict"]
    assert len(direct["failToPass"]) > 0
    assert len(direct["passToPass"]) > 0
    for kind in ("failToPass", "passToPass", "excluded", "flaky", "unstable"):
        assert set(report[kind]) == set(direct[kind]), kind
        assert len(report[kind]) == len(direct[kind]), kind


def test_a_flaky_test_is_in_neither_list_and_all_others_equal_direct_execution(stage: Stage, applied: Path) -> None:
    """The coin falls otherwise each time: what it showed on the cluster is compared with the cluster's own runs."""
    direct = json.loads((applied / f"{FLAKY}.json").read_text())
    report = stage.report(stage.finished(FLAKY))
    for kind in ("failToPass", "passToPass"):
        assert set(report[kind]) == set(direct[kind])
        assert COIN not in report[kind]
    faces = {state: [] for state in ("unpatched", "patched")}
    for run in report["runs"]:
        results = json.loads(stage.operator.store.get(run["results"]["sha256"]))["results"]
        faces[run["name"].partition("-")[0]].append(results.get(COIN, "absent"))
    assert any(len(set(seen)) > 1 for seen in faces.values())
    appearances = sum(face != "absent" for seen in faces.values() for face in seen)
    assert COIN in report["unstable" if appearances == 1 else "flaky"]


def test_a_valid_task_was_isolated_pinned_and_its_logs_have_the_hashes_in_status(stage: Stage, applied: Path) -> None:
    assert applied
    status = stage.finished("valid")
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == dict.fromkeys(
        ("Accepted", "ImageResolved", "NetworkIsolationVerified", "BaseCommitFound", "Complete", "Valid"), "True"
    )
    assert "@sha256:" in status["image"]["digest"]
    assert (status["tests"]["failToPass"]["count"], status["tests"]["passToPass"]["count"]) == (2, 14)
    assert len(status["runs"]) == 5
    for run in status["runs"]:
        content = stage.operator.store.get(run["log"]["sha256"])
        assert hashlib.sha256(content).hexdigest() == run["log"]["sha256"]
        assert len(content) == run["log"]["bytes"]
        assert run["isolation"]["targets"] > 0
        assert run["isolation"]["leaks"] == 0


def test_an_object_that_is_no_task_is_refused_with_its_field(stage: Stage, examples: dict[str, Manifest]) -> None:
    manifest = json.loads(json.dumps(examples["valid"]))
    manifest["spec"]["task"]["tests"]["parser"] = "parse_log_pytset"
    stage.apply(manifest, "refused")
    status = stage.finished("refused")
    assert status["reason"] == "MalformedTask"
    assert "spec.task.tests.parser" in status["message"]
