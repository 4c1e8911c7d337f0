"""The rules of the schema on a real API server: what is refused and why, what is taken, what may change."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import TestCluster

pytestmark = pytest.mark.api

PATCH = "diff --git a/a b/a\n"
DIGEST = "0" * 64
ABSENT = object()


def manifest(spec: dict[str, Any] | None = None, *, name: str = "rules") -> dict[str, Any]:
    """A good object, with these paths of its spec set (``ABSENT``: removed)."""
    made: dict[str, Any] = {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "TaskValidation",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "task": {"id": "a", "image": "x:1", "tests": {"commands": ["true"], "parser": "parse_log_gotest"}},
        },
    }
    for path, value in (spec or {}).items():
        place = made["spec"]
        *parents, last = path.split(".")
        for part in parents:
            place = place.setdefault(part, {})
        if value is ABSENT:
            place.pop(last)
        else:
            place[last] = copy.deepcopy(value)
    return made


def refusal(cluster: TestCluster, spec: dict[str, Any]) -> str:
    """What ``kubectl apply`` says of a bad object."""
    done = cluster.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=json.dumps(manifest(spec)), check=False
    )
    assert done.returncode != 0
    return done.stderr


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no command": ({"task.tests.commands": []}, "spec.task.tests.commands", "at least 1"),
    "empty command": ({"task.tests.commands": ["true", ""]}, "spec.task.tests.commands[1]", "at least 1"),
    "blank command": ({"task.tests.commands": [" \n\t"]}, "spec.task.tests.commands[0]", "should match"),
    "command missing": ({"task.tests.commands": ABSENT}, "spec.task.tests.commands", "Required value"),
    "too many commands": ({"task.tests.commands": ["true"] * 51}, "spec.task.tests.commands", "50"),
    "no parser": ({"task.tests.parser": ""}, "spec.task.tests.parser", "at least 1"),
    "empty test name": ({"task.tests.failToPass": [""]}, "spec.task.tests.failToPass[0]", "at least 1"),
    "no id": ({"task.id": ""}, "spec.task.id", "at least 1"),
    "endless id": ({"task.id": "é" * 501}, "spec.task.id", "500"),
    "image with spaces": ({"task.image": "not an image"}, "spec.task.image", "must be an image reference"),
    "image with capitals": ({"task.image": "Team/Name:tag"}, "spec.task.image", "must be an image reference"),
    "short digest": ({"task.image": "x@sha256:abc"}, "spec.task.image", "64 hexadecimal digits"),
    "other digest": ({"task.image": f"x@md5:{DIGEST}"}, "spec.task.image", "64 hexadecimal digits"),
    "relative workdir": ({"task.workdir": "work"}, "spec.task.workdir", "should match"),
    "commit": ({"task.baseCommit": "main"}, "spec.task.baseCommit", "should match"),
    "both patches": ({"task.patch": PATCH, "task.patchBase64": "ZA=="}, "spec.task.patchBase64", "exclude each other"),
    "both test patches": (
        {"task.testPatch": PATCH, "task.testPatchBase64": "ZA=="},
        "spec.task.testPatchBase64",
        "exclude each other",
    ),
    "not base64": ({"task.patchBase64": "diff --git"}, "spec.task.patchBase64", "must be base64"),
    "patch over the limit": ({"task.patch": "x" * 700_001}, "spec.task.patch", "700000"),
    "all too large": (
        {"task.patch": "x" * 600_000, "task.testPatch": "y" * 600_000},
        "spec.task",
        "put larger ones into the store and use taskFrom",
    ),
    "5 MB patch": ({"task.patch": "x" * 5_000_000}, "limit", "3145728"),
    "neither task nor taskFrom": ({"task": ABSENT}, "spec.task", "one of task and taskFrom must be given"),
    "task and taskFrom": (
        {"taskFrom": {"dataset": "d", "id": "i", "digest": DIGEST}},
        "spec.taskFrom",
        "exclude each other",
    ),
    "zero unpatched runs": ({"runs.unpatched": 0}, "spec.runs.unpatched", "greater than or equal to 1"),
    "zero patched runs": ({"runs.patched": 0}, "spec.runs.patched", "greater than or equal to 1"),
    "negative runs": ({"runs.pristine": -1}, "spec.runs.pristine", "greater than or equal to 0"),
    "negative timeout": ({"timeouts.test": "-5s"}, "spec.timeouts.test", "should match"),
    "no time at all": ({"timeouts.setup": "0s"}, "spec.timeouts.setup", "longer than nothing"),
    "longer than a year": ({"timeouts.queue": "8761h"}, "spec.timeouts.queue", "at most a year"),
    "time without a unit": ({"timeouts.pull": "90"}, "spec.timeouts.pull", "should match"),
    "time as a number": ({"timeouts.pull": 90}, "spec.timeouts.pull", "string"),
    "quantity in words": ({"resources.memory": "lots"}, "spec.resources.memory", "more than nothing"),
    "unknown suffix": ({"resources.memory": "2GB"}, "spec.resources.memory", "more than nothing"),
    "negative quantity": ({"resources.cpu": "-1"}, "spec.resources.cpu", "more than nothing"),
    "exponent": ({"resources.memory": "1e9"}, "spec.resources.memory", "more than nothing"),
    "endless quantity": ({"resources.memory": "9" * 21}, "spec.resources.memory", "more than 20"),
    "negative number": ({"resources.cpu": -1}, "spec.resources.cpu", "more than nothing"),
    "no memory": ({"resources.memory": 0}, "spec.resources.memory", "more than nothing"),
    "no disk": ({"resources.ephemeralStorage": "0Gi"}, "spec.resources.ephemeralStorage", "more than nothing"),
    "fraction as a number": ({"resources.cpu": 0.5}, "spec.resources.cpu", "integer"),
    "profile": ({"profile": "Not A Profile"}, "spec.profile", "should match"),
    "network": ({"network": "Open"}, "spec.network", '"Offline"'),
    "check": ({"checks": ["Typo"]}, "spec.checks[0]", "GoOffline"),
    "split": ({"split": "test"}, "spec.split", '"train"'),
    "decision": ({"statementReview": {"decision": "Maybe"}}, "spec.statementReview.decision", "Accepted"),
    "taskFrom without digest": (
        {"task": ABSENT, "taskFrom": {"dataset": "d", "id": "i"}},
        "spec.taskFrom.digest",
        "Required value",
    ),
    "unknown field": ({"timeout": "5m"}, "timeout", "field not declared in schema"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_its_field_and_its_reason(api_cluster: TestCluster, case: str) -> None:
    spec, field, reason = BAD[case]
    said = refusal(api_cluster, spec)
    assert field in said, said[:2000]
    assert reason in said, said[:2000]


@pytest.mark.parametrize(
    "spec",
    [
        {"task.id": "Team/Name " + "é" * 200 + " \N{PARTY POPPER}"},
        {"task.image": f"registry.test:5000/team/sub/name:v1.2_3@sha256:{DIGEST}"},
        {"task.image": f"[2001:db8::1]:5000/name@sha256:{DIGEST}"},
        {"task.patchBase64": base64.encodebytes(bytes(range(256)) * 40).decode()},
        {"task.patchBase64": ""},
        {"task.patch": "x" * 700_000},
        {"task.patch": PATCH + "\r\n\tTab, CR and \N{SNOWMAN}"},
        {"resources.cpu": 2, "resources.memory": 2_147_483_648},
        {"resources.cpu": "500m", "resources.ephemeralStorage": "1.5Gi"},
        {"timeouts.test": "1h30m", "timeouts.queue": "8760h", "timeouts.pull": "1m5s"},
        {"task": ABSENT, "taskFrom": {"dataset": "d", "id": "é/\N{PARTY POPPER}", "digest": DIGEST}},
        {"split": "eval", "checks": ["GoOffline", "FutureHistory"], "statementReview.decision": "Accepted"},
    ],
)
def test_good_input_is_taken_as_it_is(api_cluster: TestCluster, spec: dict[str, Any]) -> None:
    wanted = manifest(spec)
    done = api_cluster.kubectl(
        "apply", "--server-side", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(wanted)
    )
    stored = json.loads(done.stdout)["spec"]
    for path in spec:
        assert _value(stored, path) == _value(wanted["spec"], path)


def _value(spec: dict[str, Any], path: str) -> Any:
    for part in path.split("."):
        spec = spec.get(part, {}) if isinstance(spec, dict) else spec
    return spec


@pytest.fixture(scope="module")
def stored(api_cluster: TestCluster) -> Iterator[str]:
    """The name of an object that has a value in every optional field but ``taskFrom``."""
    full = {
        "task.patch": PATCH,
        "split": "eval",
        "statementReview": {"decision": "Accepted"},
    }
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest(full, name="stored")))
    yield "stored"
    api_cluster.kubectl("delete", "tv", "stored")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"task": {"image": "y:2"}}, "spec.task"),
        ({"task": {"patch": PATCH + "more"}}, "spec.task"),
        ({"task": {"patch": None}}, "spec.task"),
        ({"task": {"testPatch": PATCH}}, "spec.task"),
        ({"task": {"tests": {"failToPass": ["TestA"]}}}, "spec.task"),
        ({"task": {"tests": {"commands": ["false"]}}}, "spec.task"),
        ({"task": None, "taskFrom": {"dataset": "d", "id": "i", "digest": DIGEST}}, "spec.taskFrom"),
        ({"runs": {"pristine": 1}}, "spec.runs"),
        ({"runs": None, "timeouts": {"test": "11m"}}, "spec.timeouts"),
        ({"profile": "swebench"}, "spec.profile"),
        ({"resources": {"memory": "3Gi"}}, "spec.resources"),
        ({"checks": ["GoOffline"]}, "spec.checks"),
        ({"split": "train"}, "spec.split"),
        ({"split": None}, "spec.split"),
    ],
)
def test_what_was_asked_for_cannot_be_changed(
    api_cluster: TestCluster, stored: str, change: dict[str, Any], field: str
) -> None:
    patch = json.dumps({"spec": change | {"priority": 5}})
    done = api_cluster.kubectl("patch", "tv", stored, "--type=merge", "-p", patch, check=False)
    assert done.returncode != 0
    assert f"{field}: Forbidden: immutable: make a new object" in done.stderr


def test_optional_fields_cannot_be_added_later(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest(name="bare")))
    try:
        patch = json.dumps({"spec": {"split": "eval"}})
        done = api_cluster.kubectl("patch", "tv", "bare", "--type=merge", "-p", patch, check=False)
        assert "spec.split: Forbidden: immutable" in done.stderr
    finally:
        api_cluster.kubectl("delete", "tv", "bare")


def test_a_go_policy_may_come_later_once_and_stays(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest(name="policy")))
    try:
        for policy, said in (
            ({"forkNames": ["a"]}, "spec.goPolicy: Required value: must say in owned"),
            ({"owned": ["x.dev/a"]}, ""),
            ({"owned": ["x.dev/a", "x.dev/b"]}, "spec.goPolicy: Forbidden: immutable once given"),
            (None, "spec.goPolicy: Forbidden: immutable once given"),
        ):
            patch = json.dumps({"spec": {"goPolicy": policy}})
            done = api_cluster.kubectl("patch", "tv", "policy", "--type=merge", "-p", patch, check=False)
            assert (done.returncode == 0, said in done.stderr) == (not said, True), done.stderr
    finally:
        api_cluster.kubectl("delete", "tv", "policy")


def test_a_decision_on_the_statement_may_come_later_and_change(api_cluster: TestCluster) -> None:
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest(name="reviewed")))
    try:
        for decision in ("Accepted", "Rejected"):
            patch = json.dumps({"spec": {"statementReview": {"decision": decision}}})
            api_cluster.kubectl("patch", "tv", "reviewed", "--type=merge", "-p", patch)
        told = json.loads(api_cluster.kubectl("get", "tv", "reviewed", "-o", "json").stdout)
        assert (told["spec"]["statementReview"]["decision"], told["metadata"]["generation"]) == ("Rejected", 3)
    finally:
        api_cluster.kubectl("delete", "tv", "reviewed")


def test_the_same_manifest_may_be_applied_again(api_cluster: TestCluster, stored: str) -> None:
    again = json.loads(api_cluster.kubectl("get", "tv", stored, "-o", "json").stdout)
    assert again["spec"]["runs"] == {"pristine": 0, "unpatched": 3, "patched": 2}
    same = {"apiVersion": again["apiVersion"], "kind": again["kind"], "spec": again["spec"]}
    same["metadata"] = {"name": stored, "namespace": "default"}
    api_cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(same))


def test_the_largest_task_fits_the_cost_budget_and_can_still_be_suspended(api_cluster: TestCluster) -> None:
    spec = {
        "task.patch": "x" * 250_000,
        "task.testPatch": "y" * 250_000,
        "task.tests.failToPass": [f"TestTarget/{number:08}" for number in range(10_000)],
        "task.tests.passToPass": [f"TestOther/{number:08}" for number in range(10_000)],
    }
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest(spec, name="large")))
    try:
        api_cluster.kubectl("patch", "tv", "large", "--type=merge", "-p", '{"spec":{"suspend":true,"priority":-3}}')
        told = json.loads(api_cluster.kubectl("get", "tv", "large", "-o", "json").stdout)
        assert (told["spec"]["suspend"], told["spec"]["priority"]) == (True, -3)
        patch = json.dumps({"spec": {"task": {"tests": {"passToPass": []}}}})
        done = api_cluster.kubectl("patch", "tv", "large", "--type=merge", "-p", patch, check=False)
        assert "spec.task: Forbidden: immutable" in done.stderr
    finally:
        api_cluster.kubectl("delete", "tv", "large")
