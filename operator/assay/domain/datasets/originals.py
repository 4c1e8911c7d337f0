"""A row as its data set publishes it, with what the runs have shown in place of what it declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.domain.datasets.coercions import Row

LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
PLAIN = ("split", "statement_review")
"""Columns that an import reads under these names, whatever the family."""
EVIDENCE = (
    "image_digest", "platform", "flaky", "unstable", "excluded", "new_targets", "profile", "verdict", "reason", "message",
    "runs", "dataset", "dataset_revision", "dataset_family", "dataset_row", "row_sha256", "report_sha256", "object",
)  # fmt: skip
"""Columns of our own form that a row gets, with ``PREFIX`` before their names: no column of its own is lost."""
PREFIX = "assay_"


def with_evidence(values: Row, said: Mapping[str, Any], *, rewritten: bool) -> dict[str, Any]:
    """Return a row's own columns with the verified lists and the evidence of its task's row in our own form, ``said``.

    A list keeps the column's name and form, JSON text or list; a statement that was ``rewritten`` takes the place of the
    row's own.
    """
    row = dict(values)
    for name in LISTS:
        column = name if name in values or name.lower() not in values else name.lower()
        row[column] = json.dumps(said[name]) if isinstance(values.get(column), str) else list(said[name])
    if rewritten and "problem_statement" in values:
        row["problem_statement"] = said["problem_statement"]
    row |= {name: said[name] for name in PLAIN if said[name]}
    return row | {f"{PREFIX}{name}": said[name] for name in EVIDENCE}
