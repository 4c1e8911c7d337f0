"""What a real API server says of TaskValidations, good and bad."""

from __future__ import annotations

import copy
import json

import pytest

from conftest import TestCluster

pytestmark = pytest.mark.api

GOOD = {
    "apiVersion": "assay.dev/v1alpha1",
    "kind": "TaskValidation",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"task": {"id": "A/b c", "image": "x:1", "tests": {"commands": ["true"], "parser": "parse_log_gotest"}}},
}


def changed(path: str, value: object) -> str:
    """The good object with one field of its spec set."""
    manifest = copy.deepcopy(GOOD)
    place = manifest["spec"]
    *parents, last = path.split(".")
    for part in parents:
        place = place.setdefault(part, {})  # type: ignore[attr-defined]
    place[last] = value  # type: ignore[index]
    return json.dumps(manifest)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("task.tests.commands", [], "spec.task.tests.commands"),
        ("task.tests.commands", ["  "], "spec.task.tests.commands"),
        ("runs.unpatched", 0, "spec.runs.unpatched"),
        ("runs.patched", 0, "spec.runs.patched"),
        ("timeouts.test", "-5s", "spec.timeouts.test"),
        ("resources.memory", "lots", "spec.resources.memory"),
        ("profile", "Not A Profile", "spec.profile"),
        ("task.workdir", "relative", "spec.task.workdir"),
        ("taskFrom", {"dataset": "d", "id": "i", "digest": "0" * 64}, "spec"),
    ],
)
def test_bad_input_is_refused_and_the_field_is_named(
    api_cluster: TestCluster, path: str, value: object, named: str
) -> None:
    done = api_cluster.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=changed(path, value), check=False
    )
    assert done.returncode != 0
    assert named in done.stderr


def test_only_suspend_and_priority_may_change(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(GOOD))
    try:
        for patch in ('{"spec":{"suspend":true}}', '{"spec":{"priority":7}}'):
            api_cluster.kubectl("patch", "tv", "a", "--type=merge", "-p", patch)
        for patch in (
            '{"spec":{"task":{"image":"y:2"}}}',
            '{"spec":{"runs":{"unpatched":9}}}',
            '{"spec":{"profile":"live"}}',
        ):
            done = api_cluster.kubectl("patch", "tv", "a", "--type=merge", "-p", patch, check=False)
            assert done.returncode != 0, patch
            assert "immutable" in done.stderr
    finally:
        api_cluster.kubectl("delete", "tv", "a")


def test_every_field_that_people_set_is_explained(api_cluster: TestCluster) -> None:
    said = api_cluster.kubectl("explain", "taskvalidation.spec.task.tests").stdout
    assert "How the tests are run and read." in said
    assert "failToPass" in said


def test_kubectl_wait_sees_the_condition_complete(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(GOOD))
    try:
        condition = {
            "type": "Complete",
            "status": "True",
            "reason": "VerdictReached",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
        patch = json.dumps({"status": {"conditions": [condition]}})
        api_cluster.kubectl("patch", "tv", "a", "--subresource=status", "--type=merge", "-p", patch)
        api_cluster.kubectl("wait", "--for=condition=Complete", "tv/a", "--timeout=5s")
    finally:
        api_cluster.kubectl("delete", "tv", "a")
