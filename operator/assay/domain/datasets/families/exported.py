"""Rows that ``assay export`` wrote in its own form: they say everything, and their lists are what runs have shown."""

from __future__ import annotations

import base64
import binascii

from assay.domain.datasets.coercions import Row, commands, found, names, patch, required, text
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.datasets.scripts import files_for_runner

COLUMNS = (
    "instance_id", "repo", "base_commit", "language", "image", "workdir", "problem_statement", "interface",
    "patch", "test_patch", "patch_base64", "test_patch_base64", "test_commands", "log_parser",
    "FAIL_TO_PASS", "PASS_TO_PASS",
)  # fmt: skip


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; a patch that is no text lies in the column of its base64."""
    column, value = found(row, "test_commands")
    changed = _patch(row, "test_patch")
    return Draft(
        id=required(row, "instance_id"),
        repo=text(row, "repo"),
        base_commit=text(row, "base_commit").lower(),
        language=text(row, "language"),
        image=text(row, "image"),
        workdir=text(row, "workdir"),
        statement=text(row, "problem_statement"),
        interface=text(row, "interface"),
        patch=_patch(row, "patch"),
        test_patch=changed,
        commands=commands(column, value),
        parser=text(row, "log_parser"),
        fail_to_pass=names(row, "FAIL_TO_PASS"),
        pass_to_pass=names(row, "PASS_TO_PASS"),
        test_files=files_for_runner(changed),
        columns={"image": "image", "tests.commands": column, "tests.parser": "log_parser"},
    )


def _patch(row: Row, name: str) -> bytes:
    encoded = text(row, f"{name}_base64")
    if not encoded:
        return patch(row, name)
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise RowRefusedError(f"{name}_base64", f"is no base64: {error}") from error


FAMILY = Family(
    name="assay",
    title="What assay export wrote in its own form",
    signature=frozenset({"instance_id", "image_digest", "test_commands", "report_sha256"}),
    columns=COLUMNS,
    profile="strict",
    draft_of=draft_of,
)
