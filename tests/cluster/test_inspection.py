"""What the checks find in real images: a Go task that passes all three, and three images that hold their solution."""

from __future__ import annotations

import hashlib
import json

import pytest

from cluster.stage import Manifest, Stage

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

CLEAN = "go-humanize-1-0-1"
PLANTED = {
    "go-humanize-planted": (
        "ModuleCacheHoldsTask",
        "github.com/dustin/go-humanize@v1.0.1 in /root/go/pkg/mod/github.com/dustin/go-humanize@v1.0.1",
    ),
    "planted-release": (
        "FutureHistory",
        "elsewhere holds lines of the reference patch: /usr/local/lib/python3.11/dist-packages/ledger/book.py",
    ),
    "planted-tag": ("FutureHistory", "objects outside of the base's ancestry, first: commit "),
}


@pytest.fixture(scope="module")
def inspected(stage: Stage, examples: dict[str, Manifest]) -> dict[str, Manifest]:
    """The status of each example that is looked into, by name."""
    for name in (CLEAN, *PLANTED):
        stage.apply(examples[name])
    return {name: stage.finished(name) for name in (CLEAN, *PLANTED)}


def run_of(status: Manifest, name: str) -> Manifest:
    found: Manifest = next(run for run in status["runs"] if run["name"] == name)
    return found


def stored(stage: Stage, said: Manifest) -> bytes:
    """What the store has of a log or a document, proven by its hash."""
    content = stage.operator.store.get(said["sha256"])
    assert hashlib.sha256(content).hexdigest() == said["sha256"]
    return content


def test_a_clean_go_task_is_valid_under_all_three_checks(stage: Stage, inspected: dict[str, Manifest]) -> None:
    status = inspected[CLEAN]
    assert status["verdict"] == "Valid", status["message"]
    assert sum(run["name"].startswith("patched-") for run in status["runs"]) == 2
    found = json.loads(stored(stage, run_of(status, "inspect-1")["results"]))["inspection"]
    assert found["complete"]
    assert not found["missing"]
    assert found["own_modules"] == ["github.com/dustin/go-humanize"]
    assert found["outside"] == 0
    assert found["lines"] > 2
    assert stage.log(CLEAN, "inspect-1") == stored(stage, run_of(status, "inspect-1")["log"])


@pytest.mark.parametrize("name", PLANTED)
def test_a_solution_in_the_image_drops_the_task_and_says_where(inspected: dict[str, Manifest], name: str) -> None:
    status, (reason, place) = inspected[name], PLANTED[name]
    assert (status["verdict"], status["reason"]) == ("Invalid", reason), status["message"]
    assert place in status["message"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert (conditions["Valid"], conditions["NetworkIsolationVerified"]) == ("False", "True")


@pytest.mark.parametrize("name", [CLEAN, *PLANTED])
def test_a_look_into_an_image_is_a_run_with_evidence_isolated_as_any_other(
    stage: Stage, inspected: dict[str, Manifest], name: str
) -> None:
    run = run_of(inspected[name], "inspect-1")
    assert (run["outcome"], run["exitCode"], run["attempt"]) == ("Finished", 0, 1)
    log = stored(stage, run["log"])
    assert len(log) == run["log"]["bytes"]
    assert log.endswith(b"done\t1\n")
    assert run["isolation"]["targets"] > 0
    assert run["isolation"]["leaks"] == 0
