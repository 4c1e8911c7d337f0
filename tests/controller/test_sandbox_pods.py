"""The pods of episodes: never more sandboxes than there may be, and none in the way of its own grading."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import yaml

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.sandbox_pods import Episode, SandboxPods, SandboxSettings, Templates
from assay.domain.manifests import Owner, RunSettings
from assay.kube.client import Kind
from builders import make_limits, make_task
from conftest import ROOT

MOST = 3
SETTINGS = SandboxSettings(master=b"key", namespace="assay", gateway_service="g", most=MOST, infra_retries=1)


class Server:
    """An API server that takes its time to make what it is asked for."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.deleted: list[str] = []

    async def create(self, kind: Kind, _namespace: str, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(0.01)
        if kind.plural == "pods":
            self.made.append(manifest["metadata"]["name"])
        return {**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{manifest['metadata']['name']}"}}

    async def delete(self, _kind: Kind, _namespace: str, name: str, **_options: Any) -> None:
        self.deleted.append(name)


def episode(number: int) -> Episode:
    owner = Owner(namespace="runs", name=f"e{number}", uid=f"uid-{number}", epoch="1", kind="AgentEpisode")
    return Episode(
        raw={"metadata": {}},
        spec=api.AgentEpisodeSpec(validation="v"),
        status=api.AgentEpisodeStatus(),
        owner=owner,
        task=make_task(),
        limits=make_limits(),
        pinned="",
    )


async def test_sandboxes_that_are_asked_for_at_once_are_no_more_than_there_may_be() -> None:
    server, cache = Server(), Cache()
    settings = RunSettings(witness_image="registry.test/assay:1", targets=("10.96.0.1:443",))
    template = yaml.safe_load((ROOT / "job_templates" / "sandbox.yaml").read_text())
    pods = SandboxPods(
        server,  # type: ignore[arg-type]
        cache,
        SETTINGS,
        run_settings=lambda: settings,
        templates=Templates(sandbox=template, scripts={}, agent={}),
    )
    made = await asyncio.gather(*(pods.create_sandbox(episode(number), 1) for number in range(10)))
    assert (made.count(True), len(server.made)) == (MOST, MOST)
    cache.drop_pod(next(cache.pods()).uid)
    made = await asyncio.gather(*(pods.create_sandbox(episode(number), 1) for number in range(10, 20)))
    assert made.count(True) == 1


async def test_room_is_made_for_a_grading_that_finds_no_node() -> None:
    server, cache = Server(), Cache()
    for run, conditions in (("sandbox-1", []), ("graded-1", [{"type": "PodScheduled", "status": "False"}])):
        labels = {"assay.dev/object": "uid-e", "assay.dev/run": run}
        metadata = {"namespace": "runs", "name": run, "uid": f"uid-{run}", "labels": labels}
        cache.see_pod({"metadata": metadata, "status": {"phase": "Pending", "conditions": conditions}})
    templates = Templates(sandbox={}, scripts={}, agent={})
    pods = SandboxPods(server, cache, SETTINGS, run_settings=lambda: None, templates=templates)  # type: ignore[arg-type]
    await pods.make_room()
    await pods.make_room()
    assert server.deleted == ["sandbox-1"]
    assert [pod.run for pod in cache.pods()] == ["graded-1"]
