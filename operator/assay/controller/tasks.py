"""The task of an object: inline, or a bundle's document in the artifact store, with the bytes that its hash says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.domain.datasets.digests import task_of_document
from assay.domain.task import Refusal
from assay.store.artifacts import ArtifactChangedError, ArtifactLostError, Store


class TaskUnavailableError(Exception):
    """The store does not give the task now: it is out of reach, or the bundle was not pushed yet.  Try again later."""


async def load_bundled(raw: Mapping[str, Any], store: Store) -> api.Task | Refusal | None:
    """Return the task that an object's ``spec.taskFrom`` refers to, or why the reference is refused.

    None for an object without a reference.  ``TaskUnavailableError`` when nothing can be told yet.
    """
    try:
        said = api.TaskFrom.model_validate((raw.get("spec") or {}).get("taskFrom"))
    except ValidationError:
        return None
    try:
        content = await asyncio.to_thread(store.get, said.digest)
    except ArtifactChangedError as changed:
        return Refusal(field="spec.taskFrom.digest", why=str(changed))
    except (ArtifactLostError, OSError) as error:
        raise TaskUnavailableError(str(error)) from error
    found = await asyncio.to_thread(task_of_document, content)
    if isinstance(found, Refusal):
        return Refusal(field="spec.taskFrom.digest", why=f"the document is no task: {found}")
    if found.id != said.id:
        return Refusal(field="spec.taskFrom.id", why=f"the document of the digest is the task {found.id[:200]!r}")
    return found
