"""What kubectl shows of TaskValidations: columns, names, selectors, explanations, status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import TestCluster

pytestmark = pytest.mark.api

STATUS: dict[str, Any] = {
    "phase": "Complete",
    "verdict": "Invalid",
    "reason": "TargetTestsPassUnpatched",
    "image": {"requested": "x:1", "digest": "x@sha256:" + "a" * 64},
    "tests": {"failToPass": {"count": 3}, "passToPass": {"count": 40}, "flaky": {"count": 1}},
    "observedGeneration": 1,
}
CONDITION = {
    "type": "Accepted",
    "status": "True",
    "reason": "Accepted",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
}


@pytest.fixture(scope="module", autouse=True)
def views(api_cluster: TestCluster) -> Iterator[None]:
    """A namespace with one finished object, ``done``, and one that was just made, ``fresh``."""
    api_cluster.kubectl("create", "namespace", "views")
    for name in ("done", "fresh"):
        made = {
            "apiVersion": "assay.dev/v1alpha1",
            "kind": "TaskValidation",
            "metadata": {"name": name, "namespace": "views"},
            "spec": {
                "task": {"id": "a", "image": "x:1", "tests": {"commands": ["true"], "parser": "parse_log_gotest"}}
            },
        }
        api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(made))
    patch_status(api_cluster, "done", STATUS)
    yield
    api_cluster.kubectl("delete", "namespace", "views")


def patch_status(cluster: TestCluster, name: str, status: dict[str, Any], *, check: bool = True) -> str:
    """Merge into an object's status; what kubectl said on standard error."""
    patch = json.dumps({"status": status})
    options = ("-n", "views", "--subresource=status", "--type=merge", "-p", patch)
    return cluster.kubectl("patch", "tv", name, *options, check=check).stderr


def listed(cluster: TestCluster, *options: str) -> list[list[str]]:
    """The words of each line of ``kubectl get``."""
    said = cluster.kubectl("get", "-n", "views", *options).stdout
    return [line.split() for line in said.splitlines()]


def test_get_answers_the_first_question(api_cluster: TestCluster) -> None:
    head, done, fresh = listed(api_cluster, "taskvalidations")
    assert head == ["NAME", "VERDICT", "REASON", "F2P", "P2P", "FLAKY", "AGE"]
    assert done[:-1] == ["done", "Invalid", "TargetTestsPassUnpatched", "3", "40", "1"]
    assert fresh[0] == "fresh"
    assert len(fresh) == 2


def test_wide_adds_phase_profile_and_image(api_cluster: TestCluster) -> None:
    head, done, fresh = listed(api_cluster, "tv", "-o", "wide")
    assert head == ["NAME", "VERDICT", "REASON", "F2P", "P2P", "FLAKY", "PHASE", "PROFILE", "IMAGE", "AGE"]
    assert done[6:9] == ["Complete", "strict", STATUS["image"]["digest"]]
    assert "strict" in fresh


def test_short_name_singular_and_category_name_them_too(api_cluster: TestCluster) -> None:
    for name in ("tv", "taskvalidation", "assay"):
        assert [line[0].rpartition("/")[2] for line in listed(api_cluster, name)[1:]] == ["done", "fresh"]


def test_they_can_be_selected_by_verdict_and_reason(api_cluster: TestCluster) -> None:
    for selector in ("status.verdict=Invalid", "status.reason=TargetTestsPassUnpatched", "status.phase!="):
        assert [line[0] for line in listed(api_cluster, "tv", "--field-selector", selector)[1:]] == ["done"]


def test_every_field_is_explained(api_cluster: TestCluster) -> None:
    for part in ("spec", "status"):
        said = api_cluster.kubectl("explain", "--recursive", f"taskvalidation.{part}").stdout
        assert "<no description>" not in said
    tests = api_cluster.kubectl("explain", "taskvalidation.spec.task.tests").stdout
    assert "How the tests are run and read." in tests
    assert "must fail in every unpatched run" in " ".join(tests.split())
    assert "enum: Accepted, Rewritten, Rejected" in api_cluster.kubectl("explain", "tv.spec.statementReview").stdout


def test_wait_sees_a_condition_that_turns_true_later(api_cluster: TestCluster) -> None:
    waiting = ("wait", "-n", "views", "--for=condition=Complete", "tv/fresh")
    assert api_cluster.kubectl(*waiting, "--timeout=1s", check=False).returncode != 0
    patch_status(api_cluster, "fresh", {"conditions": [CONDITION | {"type": "Complete"}]})
    api_cluster.kubectl(*waiting, "--timeout=5s")


def test_conditions_are_one_of_a_type(api_cluster: TestCluster) -> None:
    said = patch_status(api_cluster, "done", {"conditions": [CONDITION, CONDITION]}, check=False)
    assert "status.conditions[1]: Duplicate value" in said


def test_a_condition_needs_a_time_and_a_known_status(api_cluster: TestCluster) -> None:
    bad = CONDITION | {"status": "Maybe", "lastTransitionTime": "yesterday"}
    said = patch_status(api_cluster, "done", {"conditions": [bad]}, check=False)
    assert "status.conditions[0].status" in said
    assert "status.conditions[0].lastTransitionTime" in said


def test_status_is_a_subresource_of_its_own(api_cluster: TestCluster) -> None:
    before = api_cluster.kubectl("get", "tv", "done", "-n", "views", "-o", "jsonpath={.metadata.generation}").stdout
    ignored = json.dumps({"status": {"verdict": "Valid"}})
    api_cluster.kubectl("patch", "tv", "done", "-n", "views", "--type=merge", "-p", ignored)
    told = json.loads(api_cluster.kubectl("get", "tv", "done", "-n", "views", "-o", "json").stdout)
    assert told["status"]["verdict"] == "Invalid"
    assert str(told["metadata"]["generation"]) == before
