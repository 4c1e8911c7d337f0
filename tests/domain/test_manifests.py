"""The pods and Secrets of a task, byte for byte, and what no pod may ever hold."""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.v1alpha1 import Check
from assay.domain.manifests import (
    CHUNK_BYTES,
    SECRET_BYTES,
    Inputs,
    files_of_run,
    inputs_of,
    sandbox_of,
    sandbox_secret_of,
)
from assay.domain.task import Task
from builders import make_limits, make_run, make_task
from conftest import ROOT, Golden
from manifests import INSPECTOR, LARGE, OWNER, SCRIPTS, SETTINGS, SHARED, TEMPLATE, golden_manifests, pod


@pytest.mark.parametrize("name", golden_manifests())
def test_manifests_are_what_they_were_byte_for_byte(golden: Golden, name: str) -> None:
    golden.check(f"manifests/{name}", yaml.safe_dump_all(golden_manifests()[name], sort_keys=True, width=120))


def mounted(run: str, task: Task) -> dict[str, bytes]:
    """The files that a run's pod sees, put together from the manifests alone."""
    inputs = inputs_of(task, OWNER, SCRIPTS, INSPECTOR)
    data = {secret["metadata"]["name"]: secret["data"] for secret in inputs.secrets}
    volumes = pod(run, task)["spec"]["volumes"]
    sources = next(volume for volume in volumes if volume["name"] == "in")["projected"]["sources"]
    return {
        item["path"]: base64.b64decode(data[source["secret"]["name"]][item["key"]])
        for source in sources
        for item in source["secret"]["items"]
    }


def patch_of(files: dict[str, bytes], name: str) -> bytes:
    return b"".join(files[path] for path in sorted(files) if path.startswith(f"{name}.patch."))


def test_a_run_sees_the_patches_that_it_applies_and_no_others() -> None:
    task = make_task()
    assert {path for path in mounted("pristine-1", task) if "patch" in path} == set()
    assert patch_of(mounted("unpatched-1", task), "test") == task.test_patch
    assert patch_of(mounted("unpatched-1", task), "reference") == b""
    patched = mounted("patched-1", task)
    assert (patch_of(patched, "test"), patch_of(patched, "reference")) == (task.test_patch, task.patch)


def test_no_byte_of_the_reference_patch_is_in_an_unpatched_pod_by_any_other_way() -> None:
    task = make_task(patch=b"diff --git a/s b/s\n+the secret answer\n")
    for run in ("pristine-1", "unpatched-1"):
        assert "secret answer" not in yaml.safe_dump(pod(run, task))
        assert all(b"secret answer" not in content for content in mounted(run, task).values())


def test_a_look_into_the_image_has_the_inspector_for_its_one_command_and_no_patch() -> None:
    patch = b"diff --git a/s.go b/s.go\n@@ -1 +1,2 @@\n+func TheSecretAnswer() int { return 42 }\n+short\n"
    task = make_task(patch=patch, checks=frozenset({Check.FUTURE_HISTORY}), commands=("first", "second"))
    assert mounted("inspect-1", task) == {
        **SCRIPTS,
        "commands/001": INSPECTOR,
        "inspect/lines.001": b"func TheSecretAnswer() int { return 42 }\n",
        "inspect/endings.001": b".go\n",
    }
    for run in ("pristine-1", "unpatched-1", "patched-1"):
        files = mounted(run, task)
        assert not [path for path in files if path.startswith("inspect/")]
        assert INSPECTOR not in files.values()


def test_a_task_without_such_checks_carries_no_inspector() -> None:
    task = make_task(checks=frozenset({Check.GO_OFFLINE}))
    assert not [file for file in inputs_of(task, OWNER, SCRIPTS, INSPECTOR).files if "inspect" in file.path]


def test_the_go_command_is_shut_off_in_every_run_of_a_task_that_asks_for_it() -> None:
    for checks, expected in ((frozenset({Check.GO_OFFLINE}), True), (frozenset({Check.MODULE_CACHE}), False)):
        for run in ("unpatched-1", "patched-1"):
            env = pod(run, make_task(checks=checks))["spec"]["containers"][0]["env"]
            assert ({"name": "ASSAY_GO_OFFLINE", "value": "1"} in env) == expected


def test_large_inputs_are_cut_into_secrets_that_the_api_server_takes() -> None:
    inputs = inputs_of(LARGE, OWNER, SCRIPTS)
    assert len(inputs.secrets) > 1
    assert all(_bytes_in(secret) <= SECRET_BYTES for secret in inputs.secrets)
    assert len({secret["metadata"]["name"] for secret in inputs.secrets}) == len(inputs.secrets)
    assert all(secret["immutable"] for secret in inputs.secrets)


def test_an_operator_with_other_scripts_mounts_no_secret_of_its_predecessors() -> None:
    newer = SCRIPTS | {"git.sh": b"# newer\n"}
    (runs, newer_runs) = (inputs_of(make_task(), OWNER, scripts).secrets[0] for scripts in (SCRIPTS, newer))
    (sandbox, newer_sandbox) = (sandbox_secret_of(OWNER, "hex-key", scripts) for scripts in (SCRIPTS, newer))
    made = (runs, newer_runs, sandbox, newer_sandbox)
    assert len({secret["metadata"]["name"] for secret in made}) == 4


def test_a_small_task_has_one_secret() -> None:
    assert len(inputs_of(make_task(), OWNER, SCRIPTS).secrets) == 1


@settings(deadline=None, max_examples=30)
@given(
    sizes=st.tuples(*(st.sampled_from([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES]),) * 2),
    commands=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=12),
)
def test_every_byte_arrives_whatever_the_sizes(sizes: tuple[int, int], commands: list[str]) -> None:
    patch, test_patch = (bytes([65 + at]) * size for at, size in enumerate(sizes))
    task = make_task(patch=patch, test_patch=test_patch, commands=tuple(commands))
    files = mounted("patched-1", task)
    assert (patch_of(files, "reference"), patch_of(files, "test")) == (patch, test_patch)
    assert {name: files[name] for name in SCRIPTS} == SCRIPTS
    assert [files[path].decode() for path in sorted(files) if path.startswith("commands/")] == commands
    assert all(_bytes_in(secret) <= SECRET_BYTES for secret in inputs_of(task, OWNER, SCRIPTS).secrets)


def test_equal_arguments_give_equal_pods_and_leave_the_template_alone() -> None:
    before = copy.deepcopy(TEMPLATE)
    assert pod("patched-1", make_task()) == pod("patched-1", make_task())
    assert before == TEMPLATE


def test_every_attempt_and_run_has_a_name_of_its_own() -> None:
    task = make_task()
    pods = [pod(run, task, attempt=attempt) for run in ("unpatched-1", "patched-1") for attempt in (1, 2, 11)]
    assert len({made["metadata"]["name"] for made in pods}) == 6


@pytest.mark.parametrize("identifier", ["a/B c", "A" * 200, "\N{PARTY POPPER}", "x\n- y: z", '"; drop'])
def test_no_text_of_the_task_becomes_structure(identifier: str) -> None:
    made = pod("unpatched-1", make_task(id=identifier, commands=(f"run {identifier}",)))
    assert made["metadata"]["annotations"]["assay.dev/task-id"] == identifier
    assert identifier not in str(made["spec"]["containers"])
    assert set(made["spec"]) == set(pod("unpatched-1", make_task())["spec"])


def test_a_directory_named_like_a_variable_stays_what_it_is() -> None:
    env = pod("unpatched-1", make_task(workdir="/a/$(ASSAY_PATCHES)/$b"))["spec"]["containers"][0]["env"]
    assert env[0] == {"name": "ASSAY_WORKDIR", "value": "/a/$$(ASSAY_PATCHES)/$b"}


def test_a_pod_has_no_token_no_name_service_and_no_way_to_more_rights() -> None:
    spec = pod("patched-1", make_task(), settings=SHARED)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert (spec["dnsPolicy"], spec["dnsConfig"]["nameservers"]) == ("None", ["127.0.0.1"])
    assert spec["restartPolicy"] == "Never"
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert _mounts(spec["initContainers"][0]) == {"/assay/io", "/assay/record"}
    assert _mounts(spec["containers"][0]) == {"/assay/io", "/assay/in"}


def test_the_kubelets_own_deadline_is_behind_all_of_ours() -> None:
    one, three = (pod("patched-1", make_task(commands=("a",) * count))["spec"] for count in (1, 3))
    assert one["activeDeadlineSeconds"] > 1800 + 600 + 600
    assert three["activeDeadlineSeconds"] - one["activeDeadlineSeconds"] == 2 * 600


def test_a_pod_asks_for_its_share_of_the_processor_and_all_of_its_memory() -> None:
    shared = pod("patched-1", make_task(), settings=SHARED)["spec"]["containers"][0]["resources"]
    assert shared["requests"] == {"cpu": "375m", "memory": "2Gi", "ephemeral-storage": str(256 * 2**20)}
    assert shared["limits"] == {"cpu": "1500m", "memory": "2Gi", "ephemeral-storage": "10Gi"}
    whole = pod("patched-1", make_task(), settings=SETTINGS)["spec"]["containers"][0]["resources"]
    assert whole["requests"]["cpu"] == "1500m"


def test_files_of_a_run_are_a_part_of_the_objects_files() -> None:
    inputs: Inputs = inputs_of(make_task(), OWNER, SCRIPTS)
    for run in ("pristine-1", "unpatched-1", "patched-1"):
        assert set(files_of_run(make_run(run), inputs.files)) <= set(inputs.files)


def _bytes_in(secret: dict[str, Any]) -> int:
    return sum(len(base64.b64decode(content)) for content in secret["data"].values())


def _mounts(container: dict[str, Sequence[dict[str, str]]]) -> set[str]:
    return {mount["mountPath"] for mount in container["volumeMounts"]}


def test_a_sandbox_knows_neither_patch_nor_test_and_its_task_container_not_the_key() -> None:
    task = make_task(patch=b"diff --git a/s b/s\n+the secret answer\n")
    template = yaml.safe_load((ROOT / "job_templates" / "sandbox.yaml").read_text())
    secret = sandbox_secret_of(OWNER, "hex-key", {"serve.sh": b"serve\n", "git.sh": b"git\n"})
    made = sandbox_of(
        1,
        owner=OWNER,
        task=task,
        limits=make_limits(),
        life=3600,
        network="goproxy",
        secret=secret["metadata"]["name"],
        image="image@sha256:1",
        template=template,
        settings=SETTINGS,
    )
    text = yaml.safe_dump(made)
    assert not [name for name in (*task.fail_to_pass, *task.pass_to_pass, "secret answer", "hex-key") if name in text]
    assert not [command for command in task.commands if command in text]
    witness, container = made["spec"]["initContainers"][0], made["spec"]["containers"][0]
    assert [name["name"] for name in container["env"]] == ["ASSAY_WORKDIR", "ASSAY_BASE_COMMIT"]
    reference = {"secretKeyRef": {"name": secret["metadata"]["name"], "key": "key"}}
    assert {"name": "ASSAY_KEY", "valueFrom": reference} in witness["env"]
    (source,) = next(volume for volume in made["spec"]["volumes"] if volume["name"] == "in")["projected"]["sources"]
    assert source["secret"]["items"] == [{"key": name, "path": name} for name in ("serve.sh", "git.sh")]
    assert made["metadata"]["labels"]["assay.dev/network"] == "goproxy"
    assert template["metadata"]["labels"]["assay.dev/network"] == "sandbox"
