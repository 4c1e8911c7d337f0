"""What a pod's status says of its attempt, in statuses as real clusters write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.outcomes import FaultKind, OutcomeKind
from assay.domain.pods import PodState, PodView, Stage, seconds_since_1970, state_of, view_of, waits_of
from assay.domain.task import Limits

CREATED = "2026-03-01T10:00:00Z"
PLACED = "2026-03-01T10:00:05Z"
STARTED = "2026-03-01T10:01:00Z"
ENDED = "2026-03-01T10:02:00Z"
NOW = seconds_since_1970(ENDED)
LIMITS = Limits(queue=3600, pull=600, setup=60, test=120, cpu="1", memory="1Gi", ephemeral_storage="1Gi")
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": PLACED}
IMAGE_ID = "registry.test/acorn/lantern@sha256:" + "a" * 64
RUNNING_WITNESS = {"name": "witness", "restartCount": 0, "state": {"running": {"startedAt": STARTED}}}


def make_pod(
    *,
    task: dict[str, Any] | None = None,
    witness: dict[str, Any] | None = None,
    conditions: list[dict[str, Any]] | None = None,
    deleted: bool = False,
    **status: Any,
) -> PodView:
    """A run's pod as the API server gives it, with these container statuses."""
    metadata: dict[str, Any] = {
        "namespace": "assay-runs",
        "name": "assay-unpatched-1-0",
        "uid": "pod-uid",
        "resourceVersion": "17",
        "creationTimestamp": CREATED,
        "labels": {"assay.dev/object": "owner-uid", "assay.dev/run": "unpatched-1"},
        "annotations": {"assay.dev/attempt": "2", "assay.dev/epoch": "e"},
    }
    if deleted:
        metadata["deletionTimestamp"] = ENDED
    said: dict[str, Any] = {"phase": "Pending", "conditions": conditions if conditions is not None else [SCHEDULED]}
    if witness is not None:
        said["initContainerStatuses"] = [witness]
    if task is not None:
        said["containerStatuses"] = [task]
    return view_of({"metadata": metadata, "spec": {}, "status": {**said, **status}})


def ended(code: int = 0, reason: str = "Completed", **fields: Any) -> dict[str, Any]:
    """The task's container after its end."""
    state = {"exitCode": code, "reason": reason, "startedAt": STARTED, "finishedAt": ENDED, **fields}
    return {"name": "task", "imageID": IMAGE_ID, "restartCount": 0, "state": {"terminated": state}}


def waiting(reason: str, message: str = "", name: str = "task") -> dict[str, Any]:
    """A container that waits."""
    return {
        "name": name,
        "imageID": "",
        "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": message}},
    }


def disruption(reason: str, message: str = "") -> list[dict[str, Any]]:
    """The conditions of a pod that the cluster is taking away."""
    return [SCHEDULED, {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}]


def state(pod: PodView, now: float = NOW, commands: int = 1) -> PodState:
    return state_of(pod, LIMITS, commands, now)


def test_a_view_keeps_who_owns_the_pod_and_which_attempt_it_is() -> None:
    pod = make_pod()
    assert (pod.owner, pod.run, pod.attempt, pod.epoch) == ("owner-uid", "unpatched-1", 2, "e")
    assert (pod.created, pod.resource_version, pod.deleting) == (seconds_since_1970(CREATED), 17, False)


def test_a_pod_is_active_until_its_task_has_ended() -> None:
    assert make_pod(task=waiting("PodInitializing")).active
    assert not make_pod(task=ended(), phase="Running").active
    assert not make_pod(phase="Failed").active


def test_a_pods_waits_are_told_apart() -> None:
    times = [datetime.fromisoformat(said).timestamp() for said in (CREATED, PLACED, STARTED)]
    assert waits_of(make_pod(task=ended())) == (times[1] - times[0], times[2] - times[1])
    assert waits_of(make_pod(conditions=[])) == (0.0, 0.0)


def test_a_new_pod_waits_in_the_queue_until_its_deadline() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}
    found = state(make_pod(conditions=[unplaced]))
    assert (found.stage, found.message) == (Stage.QUEUED, unplaced["message"])
    assert found.deadline == seconds_since_1970(CREATED) + LIMITS.queue
    late = state(make_pod(conditions=[unplaced]), found.deadline + 1)
    assert (late.stage, late.kind, late.message) == (Stage.LOST, FaultKind.QUEUE_TIMEOUT, unplaced["message"])


def test_a_placed_pod_is_starting_until_the_pull_deadline() -> None:
    pod = make_pod(task=waiting("PodInitializing"), witness=waiting("PodInitializing", name="witness"))
    found = state(pod)
    assert (found.stage, found.deadline) == (Stage.STARTING, seconds_since_1970(PLACED) + LIMITS.pull)
    assert state(pod, found.deadline + 1).kind is FaultKind.PULL_TIMEOUT


def test_a_running_task_has_its_deadlines_and_a_grace() -> None:
    task = {"name": "task", "state": {"running": {"startedAt": STARTED}}}
    found = state(make_pod(task=task, witness=RUNNING_WITNESS, phase="Running"), commands=3)
    assert found.stage is Stage.RUNNING
    assert found.deadline > seconds_since_1970(STARTED) + LIMITS.setup + 3 * LIMITS.test


def test_a_node_that_never_tells_the_end_is_lost_after_the_grace() -> None:
    task = {"name": "task", "state": {"running": {"startedAt": STARTED}}}
    pod = make_pod(task=task, witness=RUNNING_WITNESS, phase="Running")
    found = state(pod, state(pod).deadline + 1)
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.NODE_LOST)


@pytest.mark.parametrize(
    ("code", "reason", "oom"), [(0, "Completed", False), (1, "Error", False), (137, "OOMKilled", True)]
)
def test_an_ended_task_is_read_whatever_its_exit_code(code: int, reason: str, oom: bool) -> None:
    found = state(make_pod(task=ended(code, reason), witness=RUNNING_WITNESS, phase="Running"))
    assert (found.stage, found.exit_code, found.oom_killed, found.image_id) == (Stage.ENDED, code, oom, IMAGE_ID)
    assert found.cut is None


def test_a_child_that_was_killed_for_memory_under_a_wrapper_that_ends_well_is_noted() -> None:
    found = state(make_pod(task=ended(0, "OOMKilled"), witness=RUNNING_WITNESS))
    assert (found.stage, found.exit_code, found.oom_killed) == (Stage.ENDED, 0, True)


NOT_FOUND = (
    'Failed to pull image "registry.test/no/such:1": rpc error: code = NotFound desc = failed to pull and unpack image '
    '"registry.test/no/such:1": failed to resolve reference "registry.test/no/such:1": registry.test/no/such:1: not found'
)
DENIED = (
    'Failed to pull image "acorn/private": failed to authorize: failed to fetch anonymous token: unexpected status from '
    "GET request to https://auth.test/token: 401 Unauthorized"
)
TOO_MANY = (
    'Failed to pull image "acorn/lantern": failed to copy: httpReadSeeker: failed open: unexpected status code '
    "https://registry.test/v2/acorn/lantern/manifests/sha256:aa: 429 Too Many Requests - Server message: toomanyrequests"
)
REFUSED = 'Back-off pulling image "registry.test/a": failed to do request: Head "https://registry.test/v2/a": dial tcp '
PULLING = 'rpc error: code = NotFound desc = failed to pull and unpack image "registry.test/manifest/tag:1":'
UNAVAILABLE = "failed to resolve reference: unexpected status from HEAD request: 503 Service Unavailable, not found"


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("ErrImagePull", NOT_FOUND, OutcomeKind.IMAGE_UNAVAILABLE),
        ("ImagePullBackOff", f'Back-off pulling image "x": ErrImagePull: {NOT_FOUND}', OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImagePull", "manifest unknown: manifest unknown", OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImagePull", DENIED, OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImagePull", "pull access denied, repository does not exist", OutcomeKind.IMAGE_UNAVAILABLE),
        ("InvalidImageName", "Failed to apply default image tag", OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImageNeverPull", 'Container image "x" is not present', OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImagePull", NOT_FOUND.replace("no/such", "acme/geofence-timeout-snapshot"), OutcomeKind.IMAGE_UNAVAILABLE),
        ("ErrImagePull", "no match for platform in manifest: not found", OutcomeKind.PLATFORM_MISMATCH),
        ("ErrImagePull", "no matching manifest for linux/arm64 in the manifest list", OutcomeKind.PLATFORM_MISMATCH),
    ],
)
def test_an_image_that_nobody_can_pull_is_a_fact_about_the_task(reason: str, message: str, kind: OutcomeKind) -> None:
    found = state(make_pod(task=waiting(reason, message), witness=RUNNING_WITNESS))
    assert (found.stage, found.kind) == (Stage.FACT, kind)
    assert found.message


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ErrImagePull", TOO_MANY),
        ("ImagePullBackOff", REFUSED + "10.0.0.9:443: connect: connection refused"),
        ("ErrImagePull", REFUSED + "lookup registry.test on 10.0.0.10:53: no such host"),
        ("ErrImagePull", REFUSED + "10.0.0.9:443: i/o timeout"),
        ("ErrImagePull", UNAVAILABLE),
        ("ImagePullBackOff", 'Back-off pulling image "registry.test/a"'),
        ("RegistryUnavailable", "registry is unavailable"),
        ("ErrImagePull", f"{PULLING} failed to get reader from content store: content digest sha256:aa: not found"),
        (
            "ErrImagePull",
            f"{PULLING} failed to prepare extraction: parent snapshot sha256:aa does not exist: not found",
        ),
        ("ErrImagePull", f"{PULLING} unexpected media type text/html for sha256:aa: not found"),
        ("ErrImagePull", 'failed to pull image "registry.test/a": lease "17-abc": not found'),
    ],
)
def test_a_registry_in_trouble_is_waited_for_and_then_costs_an_attempt(reason: str, message: str) -> None:
    pod = make_pod(task=waiting(reason, message), witness=RUNNING_WITNESS)
    found = state(pod)
    assert found.stage is Stage.STARTING
    late = state(pod, found.deadline + 1)
    assert (late.stage, late.kind) == (Stage.LOST, FaultKind.PULL_TIMEOUT)
    assert message in late.message


def test_a_witness_that_cannot_be_pulled_is_never_the_tasks_fault() -> None:
    pod = make_pod(task=waiting("PodInitializing"), witness=waiting("ErrImagePull", NOT_FOUND, name="witness"))
    assert state(pod).stage is Stage.STARTING
    late = state(pod, NOW + LIMITS.pull)
    assert (late.stage, late.kind) == (Stage.LOST, FaultKind.PULL_TIMEOUT)
    assert "the witness" in late.message
    assert "not found" in late.message


@pytest.mark.parametrize("reason", ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"])
def test_a_container_that_cannot_be_made_costs_an_attempt(reason: str) -> None:
    pod = make_pod(task=waiting(reason, 'secret "assay-inputs" not found'), witness=RUNNING_WITNESS)
    assert state(pod).stage is Stage.STARTING
    assert state(pod, NOW + LIMITS.pull).kind is FaultKind.START_FAILED


@pytest.mark.parametrize(
    "why",
    [
        'exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown',
        'exec: "/bin/sh": executable file not found in $PATH: unknown',
        'exec: "/bin/sh": permission denied: unknown',
        "exec /bin/sh: no such file or directory",
    ],
)
def test_an_image_without_a_shell_is_a_fact_about_the_task(why: str) -> None:
    message = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        f"unable to start container process: {why}"
    )
    found = state(make_pod(task=ended(128, "StartError", message=message), witness=RUNNING_WITNESS))
    assert (found.stage, found.kind) == (Stage.FACT, OutcomeKind.SETUP_FAILED)


def test_an_image_for_another_processor_is_a_fact_about_the_task() -> None:
    message = "OCI runtime create failed: unable to start container process: exec /bin/sh: exec format error"
    found = state(make_pod(task=ended(128, "StartError", message=message), witness=RUNNING_WITNESS))
    assert (found.stage, found.kind) == (Stage.FACT, OutcomeKind.PLATFORM_MISMATCH)


@pytest.mark.parametrize(
    "message",
    [
        "failed to create containerd task: failed to mount rootfs component: no space left on device",
        "failed to create shim task: context deadline exceeded: unknown",
        'error mounting "/var/lib/kubelet/pods/x/volumes" to rootfs at "/assay/in": no such file or directory',
        "cannot allocate memory: unknown",
        'OCI runtime create failed: exec: "runc": executable file not found in $PATH',
        'OCI runtime create failed: exec: "nvidia-container-runtime-hook": executable file not found in $PATH',
        "OCI runtime create failed: unable to start container process: exec /bin/sh: resource temporarily unavailable",
        'unable to start container process: exec: "/bin/sh": stat /bin/sh: input/output error: unknown',
    ],
)
def test_a_node_that_cannot_start_the_container_costs_an_attempt(message: str) -> None:
    found = state(make_pod(task=ended(128, "StartError", message=message), witness=RUNNING_WITNESS))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.START_FAILED)
    assert message in found.message


DISRUPTIONS = [
    disruption("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"),
    disruption("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"),
    disruption("EvictionByEvictionAPI", "Eviction API: evicting"),
    disruption("TerminationByKubelet", "The node was low on resource: memory."),
    disruption("DeletionByPodGC", "PodGC: node no longer exists"),
]


@pytest.mark.parametrize("conditions", DISRUPTIONS)
def test_a_pod_that_the_cluster_takes_away_costs_an_attempt(conditions: list[dict[str, Any]]) -> None:
    running = {"name": "task", "state": {"running": {"startedAt": STARTED}}}
    for task in (running, waiting("PodInitializing"), None):
        found = state(make_pod(task=task, witness=RUNNING_WITNESS, conditions=conditions))
        assert (found.stage, found.kind) == (Stage.LOST, FaultKind.DISRUPTED)
        assert conditions[1]["reason"] in found.message


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Evicted", FaultKind.DISRUPTED),
        ("Preempting", FaultKind.DISRUPTED),
        ("NodeShutdown", FaultKind.DISRUPTED),
        ("Terminated", FaultKind.DISRUPTED),
        ("NodeLost", FaultKind.NODE_LOST),
        ("DeadlineExceeded", FaultKind.DEADLINE_EXCEEDED),
        ("UnexpectedAdmissionError", FaultKind.START_FAILED),
        ("OutOfcpu", FaultKind.START_FAILED),
        ("", FaultKind.START_FAILED),
    ],
)
def test_a_pod_that_failed_without_a_task_costs_an_attempt_by_its_reason(reason: str, kind: FaultKind) -> None:
    found = state(make_pod(phase="Failed", reason=reason, message="it was told so"))
    assert (found.stage, found.kind) == (Stage.LOST, kind)
    assert "it was told so" in found.message


@pytest.mark.parametrize("code", [137, 143, 0])
def test_an_end_that_came_from_outside_is_read_but_knows_what_cut_it_off(code: int) -> None:
    """An evicted pod's status may lack the reason: then the condition alone tells it from a plain failure."""
    conditions = disruption("DeletionByTaintManager", "deleting due to NoExecute taint")
    found = state(make_pod(task=ended(code, "Error"), witness=RUNNING_WITNESS, phase="Failed", conditions=conditions))
    assert found.stage is Stage.ENDED
    assert found.cut == (FaultKind.DISRUPTED, "DeletionByTaintManager: deleting due to NoExecute taint")


def test_a_deadline_of_the_pod_is_known_behind_the_tasks_end() -> None:
    found = state(make_pod(task=ended(143, "Error"), phase="Failed", reason="DeadlineExceeded"))
    assert found.stage is Stage.ENDED
    assert found.cut is not None
    assert found.cut[0] is FaultKind.DEADLINE_EXCEEDED


def test_a_container_that_the_node_has_lost_costs_an_attempt() -> None:
    message = "The container could not be located when the pod was terminated"
    lost = ended(137, "ContainerStatusUnknown", message=message)
    found = state(make_pod(task=lost, phase="Failed"))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.NODE_LOST)
    evicted = state(make_pod(task=lost, phase="Failed", reason="Evicted", message="low on disk"))
    assert (evicted.stage, evicted.kind) == (Stage.LOST, FaultKind.DISRUPTED)


def test_a_pod_that_somebody_deletes_costs_an_attempt_and_one_that_has_ended_is_still_read() -> None:
    running = {"name": "task", "state": {"running": {"startedAt": STARTED}}}
    found = state(make_pod(task=running, witness=RUNNING_WITNESS, deleted=True))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.POD_VANISHED)
    done = state(make_pod(task=ended(), witness=RUNNING_WITNESS, deleted=True))
    assert done.stage is Stage.ENDED
    assert done.cut is not None
    assert done.cut[0] is FaultKind.POD_VANISHED


def terminated_witness(code: int, reason: str, *, again: bool) -> dict[str, Any]:
    """A witness that has ended; ``again``: that the kubelet has started anew."""
    end = {"terminated": {"exitCode": code, "reason": reason}}
    if again:
        return {"name": "witness", "restartCount": 1, "state": {"running": {"startedAt": ENDED}}, "lastState": end}
    return {"name": "witness", "restartCount": 0, "state": end}


@pytest.mark.parametrize("again", [False, True])
def test_a_witness_that_cannot_prove_isolation_is_told_apart(again: bool) -> None:
    found = state(make_pod(witness=terminated_witness(70, "Error", again=again), phase="Running"))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.ISOLATION_UNAVAILABLE)


@pytest.mark.parametrize("again", [False, True])
def test_a_witness_that_ran_out_of_memory_is_not_the_tasks_fault(again: bool) -> None:
    found = state(make_pod(task=ended(), witness=terminated_witness(137, "OOMKilled", again=again), phase="Running"))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.WITNESS_FAILED)
    assert "OOMKilled, exit code 137" in found.message


def test_a_witness_that_was_started_again_has_no_record_to_trust() -> None:
    found = state(make_pod(task=ended(), witness=terminated_witness(0, "Completed", again=True)))
    assert (found.stage, found.kind) == (Stage.LOST, FaultKind.WITNESS_FAILED)


def test_a_witness_that_was_told_to_go_leaves_the_ended_task_readable() -> None:
    assert state(make_pod(task=ended(), witness=terminated_witness(0, "Completed", again=False))).stage is Stage.ENDED


STATES = st.one_of(
    st.just({}),
    st.builds(
        lambda reason, message: {"waiting": {"reason": reason, "message": message}},
        st.sampled_from(
            ["PodInitializing", "ContainerCreating", "ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff"]
        ),
        st.sampled_from(["", NOT_FOUND, TOO_MANY, UNAVAILABLE]),
    ),
    st.just({"running": {"startedAt": STARTED}}),
    st.builds(
        lambda code, reason: {"terminated": {"exitCode": code, "reason": reason}},
        st.sampled_from([0, 1, 70, 137, 143]),
        st.sampled_from(["Completed", "Error", "OOMKilled", "StartError", "ContainerStatusUnknown"]),
    ),
)


PODS = st.builds(
    lambda task, witness, restarts, **fields: make_pod(
        task={"name": "task", "state": task, "imageID": ""},
        witness={"name": "witness", "state": witness, "restartCount": restarts},
        **fields,
    ),
    STATES,
    STATES,
    st.integers(0, 2),
    conditions=st.sampled_from([[], [SCHEDULED], *DISRUPTIONS]),
    phase=st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown"]),
    reason=st.sampled_from(["", "Evicted", "DeadlineExceeded", "NodeLost"]),
    deleted=st.booleans(),
)


@given(PODS, st.floats(0, 1e6))
def test_every_status_is_waiting_a_fact_or_a_fault_and_never_two(pod: PodView, later: float) -> None:
    found = state(pod, NOW + later)
    kinds = {Stage.FACT: OutcomeKind, Stage.LOST: FaultKind}
    assert isinstance(found.kind, kinds.get(found.stage, type(None)))
    assert found.deadline > 0 or found.stage in (Stage.FACT, Stage.LOST, Stage.ENDED)
    assert found.cut is None or found.stage is Stage.ENDED
    taken_away = len(pod.status["conditions"]) > 1 or pod.deleting or pod.status["reason"]
    if taken_away and found.stage is Stage.FACT:
        started = pod.status["containerStatuses"][0]["state"]
        assert "waiting" not in started, "a pod that is taken away says nothing of its image"
