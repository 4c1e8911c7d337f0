"""A row's task -> the manifest that a user applies: the task inline, or by reference to a bundle's document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.api import v1alpha1 as api
from assay.domain.datasets.digests import digest_of
from assay.domain.datasets.rows import RowTask, inline_task
from assay.domain.denylist import DenyEntry, episode_fields, is_go, policy_fields
from assay.domain.manifests import LABEL_DATASET
from assay.domain.task import Refusal

LABEL_FAMILY = "assay.dev/family"
LABEL_LANGUAGE = "assay.dev/language"
LABEL_SOURCE = "assay.dev/source"
ANNOTATION_DATASET = "assay.dev/dataset"
ANNOTATION_ID = "assay.dev/task-id"
NAME_CHARS = 40
HASH_CHARS = 12
LABEL_CHARS = 63
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSettings:
    """What all manifests of an import have in common; ``profile`` empty: that of the row's family.

    ``deny_list`` holds an entry for each Go task, by its id; None where none was given.
    """

    dataset: str
    revision: str = ""
    namespace: str = ""
    kind: Literal["TaskValidation", "AgentEpisode"] = "TaskValidation"
    profile: str = ""
    runs: api.Runs | None = None
    inline: bool = False
    deny_list: Mapping[str, DenyEntry] | None = None


def object_name(dataset: str, id_: str) -> str:
    """Return the object's name of a task: readable letters of its id, and a hash that keeps any two ids apart."""
    words = re.sub(r"[^a-z0-9]+", "-", id_.lower()).strip("-")[:NAME_CHARS].strip("-")
    mark = digest_of(f"{dataset}\0{id_}".encode("utf-8", "surrogatepass"))[:HASH_CHARS]
    return f"{words}-{mark}" if words else f"task-{mark}"


def label_value(text: str) -> str:
    """Return a text as a label's value: itself when it is one, else its letters and a hash."""
    if not text or LABEL_VALUE.fullmatch(text):
        return text
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[: LABEL_CHARS - HASH_CHARS - 1].strip("-._")
    mark = digest_of(text.encode("utf-8", "surrogatepass"))[:HASH_CHARS]
    return f"{words}-{mark}" if words else mark


def manifest_of(
    row: RowTask, settings: ManifestSettings, *, digest: str, profile: str, provenance: api.Provenance
) -> dict[str, Any] | Refusal:
    """Return the manifest of a task; a refusal when it is to be inline and too large for that."""
    if settings.inline:
        inline = inline_task(row.task)
        if isinstance(inline, Refusal):
            return inline
        task = {"task": inline.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)}
    else:
        task = {"taskFrom": {"dataset": settings.dataset, "id": row.task.id, "digest": digest}}
    labels = {
        LABEL_DATASET: label_value(settings.dataset),
        LABEL_FAMILY: row.family,
        LABEL_LANGUAGE: label_value(row.task.language),
        LABEL_SOURCE: label_value(row.task.repo.lower()),
    }
    metadata: dict[str, Any] = {
        "name": object_name(settings.dataset, row.task.id),
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {ANNOTATION_DATASET: settings.dataset, ANNOTATION_ID: row.task.id},
    }
    if settings.namespace:
        metadata["namespace"] = settings.namespace
    spec: dict[str, Any] = task | {"profile": settings.profile or profile} | _go_fields(row, settings)
    if settings.kind == "TaskValidation":
        spec["provenance"] = provenance.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        if settings.runs:
            spec["runs"] = api.to_wire(settings.runs)
        if row.split:
            spec["split"] = row.split
        if row.review:
            spec["statementReview"] = row.review.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"apiVersion": api.API_VERSION, "kind": settings.kind, "metadata": metadata, "spec": spec}


def lacking_entry(row: RowTask, settings: ManifestSettings) -> Refusal | None:
    """Return why a Go task is not taken by an import with a deny list: it has no entry there."""
    if settings.deny_list is None or row.task.id in settings.deny_list or not is_go(row.task.language):
        return None
    return Refusal(field="instance_id", why="is a Go task without an entry in the deny list")


def _go_fields(row: RowTask, settings: ManifestSettings) -> dict[str, object]:
    entry = (settings.deny_list or {}).get(row.task.id)
    if entry is None:
        return {}
    return {"goPolicy": policy_fields(entry)} if settings.kind == "TaskValidation" else episode_fields(entry)
