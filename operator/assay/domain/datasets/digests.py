"""Content addresses: a task's canonical document and its hash, and the hash of the row that it came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import date, datetime

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.domain.datasets.coercions import Row
from assay.domain.task import Refusal


def canonical(said: object) -> bytes:
    """Return JSON with sorted keys and without blanks, in UTF-8: equal content gives equal bytes."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_written)
    return text.encode("utf-8", "surrogatepass")


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def document_of(task: BundledTask) -> bytes:
    """Return the task's document: what a bundle holds, what ``taskFrom.digest`` is the hash of.

    Fields with their default are left out, so that a later version with more fields gives the same bytes.
    """
    return canonical(task.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True))


def task_of_document(content: bytes) -> BundledTask | Refusal:
    """Return the task of a document, or what keeps it from being one; fields are paths in the document."""
    try:
        return BundledTask.model_validate_json(content)
    except ValidationError as error:
        path, why = api.first_error(error)
        return Refusal(field=path or "document", why=why)


def row_digest(row: Row, columns: Sequence[str]) -> str:
    """Return the hash of a row's columns that a family reads."""
    return digest_of(canonical({name: row[name] for name in columns if row.get(name) is not None}))


def _written(value: object) -> object:
    """Return what JSON has no form for: times as ISO text, bytes by their hash."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"sha256:{digest_of(value)}"
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return str(value)
