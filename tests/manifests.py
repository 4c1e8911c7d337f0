"""The manifests that the golden files and the API server see: a few objects, with everything that can differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from assay.api.v1alpha1 import Check
from assay.domain.manifests import Owner, RunSettings, inputs_of, pod_of
from assay.domain.task import Limits, Task
from builders import make_run, make_task

TEMPLATE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "job_templates" / "run.yaml").read_text(encoding="utf-8")
)
SCRIPTS = {"run.sh": b"#!/bin/sh\nexit 0\n", "git.sh": b"# git\n"}
INSPECTOR = b"echo done\n"
OWNER = Owner(
    namespace="assay-runs", name="lantern-7", uid="6f2d9a52-0b8e-4e0f-9f5c-1f1e2d3c4b5a", epoch="0123456789ab"
)
LIMITS = Limits(queue=86400, pull=1800, setup=600, test=600, cpu="1500m", memory="2Gi", ephemeral_storage="10Gi")
SETTINGS = RunSettings(
    witness_image="registry.test/assay@sha256:" + "c" * 64, targets=("10.96.0.1:443", "[fd00::1]:443")
)
SHARED = RunSettings(
    witness_image="registry.test/assay:1",
    targets=("10.96.0.1:443",),
    gate_seconds=60,
    sample_seconds=5,
    pull_secrets=("registry-a", "registry-b"),
    pull_policy="Always",
    cpu_request_fraction=0.25,
)
LARGE = make_task(
    patch=b"diff --git a/m b/m\n" + b"+" * 1_500_000, commands=("first", "second\n\tline \xc3\xa9".encode().decode())
)


SOLUTION = b"""diff --git a/m.go b/m.go
--- a/m.go
+++ b/m.go
@@ -1 +1,2 @@
 package m
+func Solution() int { return 1234567890 }
"""


def pod(run: str, task: Task, *, attempt: int = 1, image: str = "", settings: RunSettings = SETTINGS) -> dict[str, Any]:
    """Return one pod of the task."""
    return pod_of(
        make_run(run),
        attempt,
        owner=OWNER,
        task=task,
        limits=LIMITS,
        files=inputs_of(task, OWNER, SCRIPTS, INSPECTOR).files,
        image=image or task.image,
        template=TEMPLATE,
        settings=settings,
    )


def golden_manifests() -> dict[str, list[dict[str, Any]]]:
    """Return manifests by the name of their golden file."""
    small, checked = make_task(), make_task(checks=frozenset(Check), patch=SOLUTION)
    return {
        "pod-pristine.yaml": [pod("pristine-1", small)],
        "pod-unpatched.yaml": [pod("unpatched-1", small, image="registry.test/acorn/lantern:1")],
        "pod-patched-third-attempt.yaml": [pod("patched-2", small, attempt=3)],
        "pod-shared-node.yaml": [pod("unpatched-1", small, settings=SHARED)],
        "pod-without-patches.yaml": [
            pod("patched-1", make_task(patch=b"", test_patch=b"\n", base_commit="", workdir=""))
        ],
        "pod-large.yaml": [pod("patched-1", LARGE)],
        "pod-inspect.yaml": [pod("inspect-1", checked)],
        "pod-patched-go-offline.yaml": [pod("patched-1", checked)],
        "secrets-inspect.yaml": list(inputs_of(checked, OWNER, SCRIPTS, INSPECTOR).secrets),
        "secrets.yaml": list(inputs_of(small, OWNER, SCRIPTS).secrets),
    }
