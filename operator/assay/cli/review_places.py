"""Where tasks lie that are to be reviewed: manifests in files, with their bundle beside them, or objects of the cluster."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.cli.manifests import documents_of, is_validation, paths_in
from assay.cli.stored import Reader
from assay.datasets.bundles import document_in
from assay.datasets.outputs import manifest_text
from assay.domain.datasets.digests import task_of_document
from assay.domain.task import Refusal

BUNDLE = "bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewable:
    """A task that a reviewer looks at; ``place`` is the file that its manifest is in, None on the cluster."""

    found: api.TaskValidation
    task: api.Task
    place: Path | None = None


class Place(Protocol):
    """Tasks to review."""

    def waiting(self) -> AsyncIterator[Reviewable]:
        """Iterate over the tasks that nobody has decided on, in order."""

    async def named(self, name: str) -> Reviewable:
        """Return a task by its object's name or its own id.  ``LookupError``."""

    async def keep(self, reviewed: Reviewable, review: api.StatementReview) -> None:
        """Write a review to where the task lies."""


class FilePlace:
    """Manifests in a file, or in the directory that an import wrote; a bundled task lies in ``bundle`` beside them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bundle = (path if path.is_dir() else path.parent) / BUNDLE

    async def waiting(self) -> AsyncIterator[Reviewable]:
        """Iterate over the manifests in order."""
        for path in paths_in(self._path):
            for document in documents_of(path):
                if is_validation(document) and not (document.get("spec") or {}).get("statementReview"):
                    yield self._reviewable(path, document)

    async def named(self, name: str) -> Reviewable:
        """Return the first manifest of that name or task."""
        for path in paths_in(self._path):
            for document in documents_of(path):
                if is_validation(document) and name in names_of(document):
                    return self._reviewable(path, document)
        raise LookupError(f"{self._path}: no TaskValidation and no task is named {name!r}")

    async def keep(self, reviewed: Reviewable, review: api.StatementReview) -> None:
        """Write the file anew, with the review in its manifest; the file is whole at any time."""
        assert reviewed.place is not None
        documents = documents_of(reviewed.place)
        for document in documents:
            if is_validation(document) and document["metadata"].get("name") == reviewed.found.metadata.name:
                document["spec"]["statementReview"] = review.model_dump(
                    mode="json", by_alias=True, exclude_defaults=True
                )
        fresh = reviewed.place.with_name(f".{reviewed.place.name}.part")
        fresh.write_text(_text_of(documents, reviewed.place), encoding="utf-8", newline="")
        fresh.replace(reviewed.place)

    def _reviewable(self, path: Path, document: Mapping[str, Any]) -> Reviewable:
        try:
            found = api.TaskValidation.model_validate(document)
        except ValidationError as error:
            where, why = api.first_error(error)
            raise LookupError(f"{path}: {document['metadata'].get('name')}: {where}: {why}") from error
        return Reviewable(found=found, task=found.spec.task or self._bundled(found), place=path)

    def _bundled(self, found: api.TaskValidation) -> api.Task:
        if found.spec.task_from is None:
            raise LookupError(f"{found.metadata.name}: has neither task nor taskFrom")
        document = document_in(self._bundle, found.spec.task_from.digest)
        if document is None:
            raise LookupError(f"{self._bundle} has no task of the digest {found.spec.task_from.digest}")
        task = task_of_document(document.content)
        if isinstance(task, Refusal):
            raise LookupError(f"{self._bundle}: {found.metadata.name}: {task}")  # noqa: TRY004 - of the file
        return task


class ClusterPlace:
    """Objects of one namespace."""

    def __init__(self, source: Reader) -> None:
        self._source = source

    async def waiting(self) -> AsyncIterator[Reviewable]:
        """Iterate over the objects by name."""
        async for raw in self._source.objects():
            if not (raw.get("spec") or {}).get("statementReview"):
                found = api.TaskValidation.model_validate(raw)
                yield Reviewable(found=found, task=await self._source.task(found))

    async def named(self, name: str) -> Reviewable:
        """Return the object of that name."""
        found = await self._source.validation(name)
        return Reviewable(found=found, task=await self._source.task(found))

    async def keep(self, reviewed: Reviewable, review: api.StatementReview) -> None:
        """Change the object, unless somebody else has changed it meanwhile."""
        await self._source.change(reviewed.found, {"statementReview": api.to_wire(review)})


def names_of(document: Mapping[str, Any]) -> set[str]:
    """Return what a manifest may be called by: its own name, and the id of its task."""
    spec = document["spec"]
    ids = {(spec.get(key) or {}).get("id") for key in ("task", "taskFrom")}
    return {name for name in (document["metadata"].get("name"), *ids) if name}


def _text_of(documents: list[Any], path: Path) -> str:
    if path.suffix == ".json" and len(documents) == 1:
        return json.dumps(documents[0], ensure_ascii=True, indent=2) + "\n"
    return "".join(map(manifest_text, documents))
