"""Time from an object's creation to its verdict on a real node, beside a plain Job's to Complete, and where it goes.

    python benchmarks/pod_overhead.py [--rounds 5]

A cluster of its own with a real kubelet; the image is on the node before the first round.  In each round, one after the
other: a batch/v1 Job whose command is ``true``, and a TaskValidation whose test command prints the one line that makes its
first run the only one (its target passes without the patch).  Both are watched; a stage's time is when the watch told it.
Exits 1 when the TaskValidation's least time is above the Job's least time.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes.aio import client, watch
from stage import NAMESPACE, ROOT, Stage, cluster, machine, operator, output, versions

EXAMPLE = "targets-pass-unpatched"
TARGET = "tests/test_m.py::test_f"
DENY_ALL = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "deny-all", "namespace": NAMESPACE},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
}
Times = dict[str, float]


def example_of(stage: Stage) -> dict[str, Any]:
    """Build and push the example's image; return its manifest with the command that takes no time."""
    environment = {**stage.environment, "PYTHONPATH": str(ROOT / "operator")}
    registry = ("--registry", stage.environment["ASSAY_REGISTRY"])
    with tempfile.TemporaryDirectory() as folder:
        for act in (("images",), ("push", *registry), ("manifests", *registry, "--out", folder)):
            output(sys.executable, "examples/build.py", *act, "--only", EXAMPLE, env=environment)
        manifest: dict[str, Any] = yaml.safe_load((Path(folder) / f"{EXAMPLE}.yaml").read_text())
    manifest["spec"]["runs"] = {"unpatched": 1, "patched": 1}
    manifest["spec"]["task"]["tests"] = {
        "commands": [f"echo PASSED {TARGET}"], "parser": "parse_log_pytest", "failToPass": [TARGET],
    }  # fmt: skip
    return manifest


def job_of(image: str, name: str) -> dict[str, Any]:
    """Return a plain Job on the same image."""
    container = {"name": "task", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "jobs"}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"backoffLimit": 0, "template": template},
    }  # fmt: skip


def pod_stages(pod: Mapping[str, Any]) -> set[str]:
    """Return the stages that a pod's JSON shows as reached."""
    status = pod.get("status") or {}
    reached = {"pod made"}
    if any(c["type"] == "PodScheduled" and c["status"] == "True" for c in status.get("conditions") or ()):
        reached.add("scheduled")
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = container.get("state") or {}
        if "running" in state or "terminated" in state:
            reached.add(f"{container['name']} runs")
        if "terminated" in state:
            reached.add(f"{container['name']} ended")
    return reached


def conditions(resource: Mapping[str, Any]) -> set[str]:
    """Return the true conditions of a Job or a TaskValidation."""
    found = (resource.get("status") or {}).get("conditions") or ()
    return {condition["type"] for condition in found if condition["status"] == "True"}


async def watched(listing: Any, **arguments: Any) -> AsyncIterator[Mapping[str, Any]]:
    """Yield objects as the API server tells of them."""
    async with watch.Watch() as events:
        async for event in events.stream(listing, **arguments):
            yield event["raw_object"]


async def timed(api: client.ApiClient, manifest: dict[str, Any]) -> Times:
    """Create a Job or a TaskValidation and return the seconds until each of its stages."""
    namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    group, _, version = manifest["apiVersion"].partition("/")
    place = (group, version, namespace, f"{manifest['kind'].lower()}s")
    objects, pods = client.CustomObjectsApi(api), client.CoreV1Api(api)
    times: Times = {}

    async def see_pods() -> None:
        async for pod in watched(pods.list_namespaced_pod, namespace=namespace):
            for stage in pod_stages(pod):
                times.setdefault(stage, time.monotonic() - created)

    created = time.monotonic()
    await objects.create_namespaced_custom_object(*place, manifest)
    looking = asyncio.create_task(see_pods())
    try:
        async for resource in watched(
            objects.list_namespaced_custom_object,
            **dict(zip(("group", "version", "namespace", "plural"), place, strict=True)),
        ):
            reached = conditions(resource) if resource["metadata"]["name"] == name else set()
            for stage in reached:
                times.setdefault(stage, time.monotonic() - created)
            if "Complete" in reached:
                return times
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    raise RuntimeError(f"the watch of {name} ended")


async def measure(stage: Stage, example: dict[str, Any], rounds: int) -> dict[str, list[Times]]:
    """Measure both, one after the other, each round; the first round, which pulls, does not count."""
    found: dict[str, list[Times]] = {"Job": [], "TaskValidation": []}
    async with client.ApiClient(stage.login) as api:
        for number in range(rounds + 1):
            name = f"overhead-{number}"
            task = example | {"metadata": {"name": name, "namespace": NAMESPACE}}
            for manifest in (job_of(example["spec"]["task"]["image"], name), task):
                times = await timed(api, manifest)
                if number:
                    found[manifest["kind"]].append(times)
                    print(f"round {number}: {manifest['kind']:14} {times['Complete']:6.2f} s", flush=True)
                stage.kubectl("delete", manifest["kind"], name, "-n", manifest["metadata"]["namespace"], "--wait=true")
                stage.kubectl("wait", "--for=delete", "pods", "--all", "-n", manifest["metadata"]["namespace"])
    return found


def report(found: Mapping[str, list[Times]]) -> int:
    """Print the stages and the comparison; return 1 when the goal is missed."""
    for kind, rounds in found.items():
        print(f"{kind}: seconds from its creation (least, median)")
        stages = sorted(set.intersection(*(set(times) for times in rounds)), key=lambda stage: rounds[0][stage])
        for stage in stages:
            values = [times[stage] for times in rounds]
            print(f"  {stage:26} {min(values):6.2f} {statistics.median(values):6.2f}")
    least = {kind: min(times["Complete"] for times in rounds) for kind, rounds in found.items()}
    ratio = least["TaskValidation"] / least["Job"]
    print(f"to the verdict beside a Job to Complete: {ratio:.2f} (goal: at most 1){'  MISSED' if ratio > 1 else ''}")
    return int(ratio > 1)


def main() -> int:
    """Print the figures; return 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    with cluster("node") as stage:
        print(versions(stage), flush=True)
        archive = output(sys.executable, "dev/image/build.py").strip().splitlines()[-1]
        witness = stage.load(archive, "assay:benchmark")
        example = example_of(stage)
        stage.kubectl("create", "namespace", "jobs")
        stage.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(DENY_ALL))
        with operator(stage, witnessImage=witness, cpuRequestFraction=0.25):
            return report(asyncio.run(measure(stage, example, options.rounds)))


if __name__ == "__main__":
    sys.exit(main())
