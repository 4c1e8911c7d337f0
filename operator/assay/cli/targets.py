"""The tasks that predictions are about: a namespace's Valid TaskValidations, manifests of them, or a bundle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.api import v1alpha1 as api
from assay.cli.manifests import documents_in, is_validation
from assay.datasets.bundles import INDEX, read_bundle, read_index
from assay.domain.datasets.digests import task_of_document
from assay.domain.task import Refusal, task_from_spec
from assay.kube.client import TASK_VALIDATIONS, Client

ASKED_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A task: how an episode names it, its reference patch where it is at hand, and its document's hash where it has one."""

    reference: Mapping[str, Any]
    gold: str | None
    digest: str = ""


def targets_in(path: Path) -> dict[str, Target]:
    """Return the tasks of a bundle's folder, or of manifests (a file or a folder), by id.

    ``BundleError`` for a bundle whose bytes are not those of its index.
    """
    if (path / INDEX).is_file():
        return _from_bundle(path)
    found = {}
    for _, manifest in documents_in([path]):
        if is_validation(manifest):
            spec = manifest["spec"]
            key = "task" if spec.get("task") else "taskFrom"
            found[str(spec[key]["id"])] = Target(reference={key: spec[key]}, gold=_gold(spec), digest=_digest(spec))
    return found


async def valid_targets(client: Client, namespace: str) -> dict[str, Target]:
    """Return the tasks of a namespace's Valid TaskValidations by id."""
    found = {}
    async for page in client.pages(TASK_VALIDATIONS, namespace):
        for raw in page:
            if (raw.get("status") or {}).get("verdict") != "Valid":
                continue
            spec = raw["spec"]
            name = str((spec.get("task") or spec.get("taskFrom"))["id"])
            reference = {"validation": raw["metadata"]["name"]}
            found[name] = Target(reference=reference, gold=_gold(spec), digest=_digest(spec))
    return found


async def with_gold(targets: Mapping[str, Target], document: Callable[[str], Awaitable[bytes]]) -> Mapping[str, Target]:
    """Return the tasks with the reference patches that only their documents hold; ``document`` reads one by its hash."""
    room = asyncio.Semaphore(ASKED_AT_ONCE)

    async def filled(target: Target) -> Target:
        if target.gold is not None or not target.digest:
            return target
        async with room:
            task = task_of_document(await document(target.digest))
        return replace(target, gold=None if isinstance(task, Refusal) else _patch_of(task))

    return dict(zip(targets, await asyncio.gather(*map(filled, targets.values())), strict=True))


def _from_bundle(folder: Path) -> dict[str, Target]:
    """A bundle's tasks, by the hash under which ``assay push`` has stored them."""
    dataset = str(read_index(folder)["dataset"])
    found = {}
    for document in read_bundle(folder):
        task = task_of_document(document.content)
        gold = None if isinstance(task, Refusal) else _patch_of(task)
        reference = {"dataset": dataset, "id": document.id, "digest": document.digest}
        found[document.id] = Target(reference={"taskFrom": reference}, gold=gold, digest=document.digest)
    return found


def _digest(spec: Mapping[str, Any]) -> str:
    return str((spec.get("taskFrom") or {}).get("digest", ""))


def _gold(spec: Mapping[str, Any]) -> str | None:
    task = spec.get("task")
    if not task:
        return None
    return _patch_of(api.Task.model_validate(task)) if task.get("patchBase64") else str(task.get("patch") or "")


def _patch_of(task: api.Task) -> str | None:
    read = task_from_spec(task)
    return None if isinstance(read, Refusal) else read.patch.decode("utf-8", "surrogateescape")
