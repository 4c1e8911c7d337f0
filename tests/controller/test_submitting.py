"""A submission on its way from the sandbox to its grading: not waited for long, taken again when lost, void by a leak."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from assay.api import v1alpha1 as api
from assay.controller.cache import Cache
from assay.controller.lines import Idle
from assay.controller.sandbox_pods import Episode, SandboxPods, SandboxSettings, Templates
from assay.controller.sandboxes import UNREACHABLE_SECONDS, SandboxDriver
from assay.domain.manifests import Owner
from assay.domain.status import rfc3339
from assay.store.artifacts import Store
from builders import make_limits, make_task

UID = "uid-e"
DIFF = b"diff --git a/a b/a\n"
SETTINGS = SandboxSettings(master=b"key", namespace="assay", gateway_service="g", most=1, infra_retries=1)
READY = {"conditions": [{"type": "Ready", "status": "True"}], "podIPs": [{"ip": "127.0.0.1"}]}


class Sandbox:
    """A sandbox's hands; without a diff they hold the request as long as it asks them to."""

    def __init__(self, diff: bytes | None) -> None:
        self.diff = diff

    async def submission(self, request: web.Request) -> web.Response:
        if self.diff is None:
            await asyncio.sleep(float(request.query["wait"]))
            return web.json_response({"state": "queued"}, status=202)
        return web.Response(body=self.diff, headers={"X-Sha256": hashlib.sha256(self.diff).hexdigest()})

    async def state(self, _: web.Request) -> web.Response:
        return web.json_response({"calls": 1, "locked": 1})


@pytest.fixture
async def sandbox(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    sandbox, app = Sandbox(DIFF), web.Application()
    app.router.add_post("/v1/submissions/1", sandbox.submission)
    app.router.add_get("/v1/state", sandbox.state)
    async with TestServer(app) as server:
        monkeypatch.setattr("assay.controller.sandboxes.PORT", server.port)
        yield sandbox


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}")


async def stepped(
    store: Store,
    *submissions: api.SubmissionStatus,
    status: dict[str, Any],
    conditions: tuple[api.Condition, ...] = (),
) -> Idle:
    """Return what the step of an episode that asks for one submission says, within a few seconds."""
    labels, annotations = {"assay.dev/object": UID, "assay.dev/run": "sandbox-1"}, {"assay.dev/epoch": "1"}
    metadata = {"namespace": "runs", "name": "s", "uid": "uid-s", "labels": labels, "annotations": annotations}
    cache = Cache()
    cache.see_pod({"metadata": metadata | {"creationTimestamp": rfc3339(time.time())}, "status": status})
    templates = Templates(sandbox={}, scripts={}, agent={})
    pods = SandboxPods(None, cache, SETTINGS, run_settings=lambda: None, templates=templates)  # type: ignore[arg-type]
    driver = SandboxDriver(
        client=None,  # type: ignore[arg-type]
        cache=cache,
        store=store,
        settings=SETTINGS,
        pods=pods,
    )
    episode = Episode(
        raw={"metadata": {}},
        spec=api.AgentEpisodeSpec(validation="v", submit=1),
        status=api.AgentEpisodeStatus(submissions=submissions, conditions=conditions),
        owner=Owner(namespace="runs", name="e", uid=UID, epoch="1", kind="AgentEpisode"),
        task=make_task(),
        limits=make_limits(),
        pinned="",
    )
    try:
        async with asyncio.timeout(10):
            step = await driver.step(episode)
    finally:
        await driver.close()
    assert isinstance(step, Idle)
    return step


def told(step: Idle) -> tuple[api.SubmissionStatus, ...]:
    assert isinstance(step.status, api.AgentEpisodeStatus)
    return step.status.submissions


async def test_a_submission_behind_a_running_call_is_left_and_asked_for_again(
    store: Store, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.controller.sandboxes.TAKE_SECONDS", 0.2)
    sandbox.diff = None
    step = await stepped(store, status=READY)
    assert (told(step), step.again_seconds) == ((), UNREACHABLE_SECONDS)


def pending(digest: str) -> api.SubmissionStatus:
    diff = api.Artifact(uri="file:///gone", sha256=digest, bytes=1)
    return api.SubmissionStatus(number=1, time="2026-01-01T00:00:00Z", outcome=api.SubmissionOutcome.PENDING, diff=diff)


@pytest.mark.usefixtures("sandbox")
async def test_a_diff_that_the_store_has_lost_is_taken_from_the_sandbox_again(store: Store) -> None:
    (entry,) = told(await stepped(store, pending("0" * 64), status=READY))
    assert entry.outcome is api.SubmissionOutcome.PENDING
    assert entry.diff
    assert store.get(entry.diff.sha256) == DIFF


async def test_a_lost_diff_waits_for_a_sandbox_that_is_not_ready_for_a_moment(store: Store) -> None:
    lost = pending("0" * 64)
    step = await stepped(store, lost, status={"phase": "Pending"})
    assert (told(step), step.again_seconds) == ((lost,), UNREACHABLE_SECONDS)


async def test_a_diff_that_is_lost_with_its_sandbox_is_not_graded(store: Store) -> None:
    (entry,) = told(await stepped(store, pending("0" * 64), status={"phase": "Failed", "reason": "Evicted"}))
    assert (entry.outcome, entry.reason, entry.reward) == (api.SubmissionOutcome.NOT_GRADED, "Infrastructure", None)


@pytest.mark.usefixtures("sandbox")
async def test_a_leak_that_an_operator_before_told_of_voids_the_submission(store: Store) -> None:
    leak = api.Condition.model_validate(
        {
            "type": "NetworkIsolationVerified",
            "status": "False",
            "reason": "IsolationLeak",
            "message": "3 probes got out",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    )
    diff = store.put(DIFF)
    step = await stepped(store, pending(diff.sha256), status=READY, conditions=(leak,))
    assert isinstance(step.status, api.AgentEpisodeStatus)
    assert (step.status.phase, step.status.reason, step.status.reward) == ("Failed", "IsolationLeak", None)
    assert "3 probes got out" in step.status.message
