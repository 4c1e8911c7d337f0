"""An episode that ends has the calls of its sandbox counted to the last, whatever the last regular look saw."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.lines import Idle
from assay.controller.sandbox_pods import Episode, SandboxPods, SandboxSettings, Templates
from assay.controller.sandboxes import SandboxDriver
from assay.domain.manifests import Owner
from assay.domain.sandbox_status import Use
from assay.store.artifacts import Store
from builders import make_limits, make_task

UID = "uid-e"
SETTINGS = SandboxSettings(master=b"key", namespace="assay", gateway_service="g", most=1, infra_retries=1)


def pod(run: str, status: dict[str, Any]) -> dict[str, Any]:
    labels, annotations = {"assay.dev/object": UID, "assay.dev/run": run}, {"assay.dev/epoch": "1"}
    metadata = {"namespace": "runs", "name": run, "uid": f"uid-{run}", "labels": labels, "annotations": annotations}
    return {"metadata": metadata, "status": status}


@pytest.mark.parametrize(("last", "told"), [(Use(looked_at=0.0, used_at=0.0, calls=14), 14), (None, 9)])
async def test_the_last_look_counts_and_one_that_fails_keeps_the_count_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Use | None, told: int
) -> None:
    cache = Cache()
    cache.see_pod(
        pod("sandbox-1", {"conditions": [{"type": "Ready", "status": "True"}], "podIPs": [{"ip": "10.0.0.9"}]})
    )
    ended = {"name": "agent", "state": {"terminated": {"exitCode": 0}}}
    cache.see_pod(pod("agent", {"containerStatuses": [ended]}))
    templates = Templates(sandbox={}, scripts={}, agent={})
    pods = SandboxPods(None, cache, SETTINGS, run_settings=lambda: None, templates=templates)  # type: ignore[arg-type]
    driver = SandboxDriver(
        client=None,  # type: ignore[arg-type]
        cache=cache,
        store=Store(f"file://{tmp_path}"),
        settings=SETTINGS,
        pods=pods,
    )
    now = time.time()
    driver._uses[UID] = Use(looked_at=now, used_at=now, calls=9)

    async def look(*_: object) -> Use | None:
        return last

    monkeypatch.setattr(driver, "_look", look)
    episode = Episode(
        raw={"metadata": {}},
        spec=api.AgentEpisodeSpec(validation="v", agent=api.Agent(image="agent")),
        status=api.AgentEpisodeStatus(),
        owner=Owner(namespace="runs", name="e", uid=UID, epoch="1", kind="AgentEpisode"),
        task=make_task(),
        limits=make_limits(),
        pinned="",
    )
    step = await driver.step(episode)
    assert isinstance(step, Idle)
    assert isinstance(step.status, api.AgentEpisodeStatus)
    assert (step.status.reason, step.status.tool_calls.count) == ("NothingSubmitted", told)
