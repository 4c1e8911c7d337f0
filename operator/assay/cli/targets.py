"""The tasks that predictions are about: a namespace's Valid TaskValidations, manifests of them, or a bundle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
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
    """A task: its id, how an episode names it, its reference patch where it is at hand, its document's hash if it has one."""

    id: str
    reference: Mapping[str, Any]
    gold: str | None
    digest: str = ""


class AmbiguousTaskError(LookupError):
    """Several things that differ go by one task's id, and none of them is the better one."""


def targets_in(path: Path) -> dict[str, Target]:
    """Return the tasks of a bundle's folder, or of manifests (a file or a folder), by id.

    ``BundleError`` for a bundle whose bytes are not those of its index, ``AmbiguousTaskError`` for an id of two tasks that
    differ, ``LookupError`` for a manifest without a task.
    """
    found = _of_bundle(path) if (path / INDEX).is_file() else _of_manifests(path)
    return _by_id(found, advice="give one of them alone")


async def valid_targets(client: Client, namespace: str, selector: str = "") -> dict[str, Target]:
    """Return the tasks of a namespace's Valid TaskValidations, those that a label selector picks, by id.

    ``AmbiguousTaskError`` when two of them are of one task: their lists of tests may differ.
    """
    found = []
    async for page in client.pages(TASK_VALIDATIONS, namespace, selector=selector):
        for raw in page:
            if (raw.get("status") or {}).get("verdict") == "Valid":
                name = raw["metadata"]["name"]
                found.append((name, _target(raw["spec"], name, {"validation": name})))
    return _by_id(found, advice="pick one with --selector, or delete the others")


async def with_gold(targets: Mapping[str, Target], document: Callable[[str], Awaitable[bytes]]) -> Mapping[str, Target]:
    """Return the tasks with the reference patches that only their documents hold; ``document`` reads one by its hash."""
    room = asyncio.Semaphore(ASKED_AT_ONCE)

    async def filled(target: Target) -> Target:
        if target.gold is not None or not target.digest:
            return target
        async with room:
            return _with_document(target, await document(target.digest))

    return dict(zip(targets, await asyncio.gather(*map(filled, targets.values())), strict=True))


def _by_id(found: Iterable[tuple[str, Target]], *, advice: str) -> dict[str, Target]:
    """Return tasks by id; each comes with the name of what it was read from."""
    first: dict[str, tuple[str, Target]] = {}
    for place, target in found:
        before, known = first.setdefault(target.id, (place, target))
        if known != target:
            raise AmbiguousTaskError(f"{before} and {place} are both of task {target.id}: {advice}")
    return {name: target for name, (_, target) in first.items()}


def _of_manifests(path: Path) -> Iterator[tuple[str, Target]]:
    for place, manifest in documents_in([path]):
        if is_validation(manifest):
            named = f"{manifest['metadata'].get('name')} ({place})"
            yield named, _target(manifest["spec"], named)


def _of_bundle(folder: Path) -> Iterator[tuple[str, Target]]:
    """Yield a bundle's tasks, by the hash under which ``assay push`` has stored them."""
    dataset = str(read_index(folder)["dataset"])
    for document in read_bundle(folder):
        reference = {"dataset": dataset, "id": document.id, "digest": document.digest}
        target = _target({"taskFrom": reference}, document.digest)
        yield f"document {document.digest}", _with_document(target, document.content)


def _target(spec: Mapping[str, Any], place: str, reference: Mapping[str, Any] | None = None) -> Target:
    """Return the task of a TaskValidation's spec; an episode names it by ``reference``, or as the spec does."""
    key = next((key for key in ("task", "taskFrom") if spec.get(key)), "")
    if not key:
        raise LookupError(f"{place}: has neither task nor taskFrom")
    task = spec[key]
    return Target(
        id=str(task["id"]),
        reference=reference or {key: task},
        gold=_gold(task) if key == "task" else None,
        digest=str(task.get("digest", "")) if key == "taskFrom" else "",
    )


def _with_document(target: Target, content: bytes) -> Target:
    """Return the task with the reference patch that its document holds."""
    task = task_of_document(content)
    return replace(target, gold=None if isinstance(task, Refusal) else _patch_of(task))


def _gold(task: Mapping[str, Any]) -> str | None:
    return _patch_of(api.Task.model_validate(task)) if task.get("patchBase64") else str(task.get("patch") or "")


def _patch_of(task: api.Task) -> str | None:
    read = task_from_spec(task)
    return None if isinstance(read, Refusal) else read.patch.decode("utf-8", "surrogateescape")
