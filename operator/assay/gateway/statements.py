"""The tasks' texts: read when they are asked for, from the object that holds them or from the operator's store."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import aiohttp
from pydantic import ValidationError

from assay.api.bundles import BundledTask
from assay.api.v1alpha1 import StatementReview, Task
from assay.domain.ors.episodes import EpisodeView
from assay.domain.screening import statement_of
from assay.gateway.settings import operator_url
from assay.gateway.world import World
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS, ApiError


class StatementError(Exception):
    """A task's text cannot be read now; asking again may help where ``lasting`` is false."""

    def __init__(self, message: str, *, lasting: bool) -> None:
        super().__init__(message)
        self.lasting = lasting


async def task_of(world: World, view: EpisodeView) -> Task:
    """Return the task of an episode, with the statement that a review has put in place of its own."""
    kind, name = (TASK_VALIDATIONS, view.validation) if view.validation else (AGENT_EPISODES, view.name)
    try:
        raw = await world.client.get(kind, view.namespace, name)
    except ApiError as error:
        raise StatementError(f"{name}: {error.message}", lasting=error.status == 404) from error
    spec = raw["spec"]
    content = spec.get("task") or await _stored(world, spec["taskFrom"]["digest"])
    try:
        task = BundledTask.model_validate(content)
        review = spec.get("statementReview") and StatementReview.model_validate(spec["statementReview"])
        return task.model_copy(update={"statement": statement_of(task.statement, review or None)})
    except ValidationError as error:
        raise StatementError(f"{name}: its task cannot be read: {error.errors()[0]['msg']}", lasting=True) from error


async def _stored(world: World, digest: str) -> Mapping[str, Any]:
    base = world.settings.artifacts_url or operator_url(os.environ)
    url = f"{base.rstrip('/')}/artifacts/{digest}"
    try:
        async with world.session.get(url, timeout=aiohttp.ClientTimeout(total=30)) as response:
            content = await response.read()
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise StatementError(f"the store is out of reach: {error}", lasting=False) from error
    if response.status != 200:
        raise StatementError(
            f"the store has no task {digest}: {response.status}", lasting=response.status in (400, 404)
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise StatementError("the store's task has another digest", lasting=True)
    loaded = json.loads(content)
    found: Mapping[str, Any] = loaded.get("task", loaded)
    return found
