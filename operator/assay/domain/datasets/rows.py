"""A row of a data set -> a task, or the column that keeps it from being one."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import ValidationError

from assay.api import v1alpha1 as api
from assay.api.bundles import MAX_PATCH_BYTES, BundledTask
from assay.domain.datasets.coercions import Row, once
from assay.domain.datasets.decisions import decisions_of
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.images import is_windows
from assay.domain.datasets.recipes import Recipe, completed
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.logs import is_dialect, nearest_dialects
from assay.domain.patches import fault_of_patch
from assay.domain.task import REPLACED, Refusal, task_from_spec

REPLACEMENT = "\ufffd"
PROGRAM_TEXT = ("\n", "def ", "import ", "lambda ", "exec(", "eval(")
"""What gives program text away where a parser's name is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTask:
    """The task of a row, what selections may ask about it, and what was changed on the way (``notes``)."""

    task: BundledTask
    family: str
    quality: tuple[str, ...] = ()
    difficulty: str = ""
    created: datetime | None = None
    notes: tuple[str, ...] = ()
    split: str = ""
    review: api.StatementReview | None = None


def task_from_row(row: Row, family: Family, recipes: Mapping[str, Recipe] | None = None) -> RowTask | Refusal:
    """Return a row's task; a refusal names the row's column.  ``recipes`` fill in what rows of a repository do not say."""
    try:
        draft = completed(family.draft_of(row), recipes or {})
        decided = decisions_of(row, draft.statement)
        made = _task(replace(draft, statement=decided.statement), family)
        notes = (*made.notes, *decided.notes)
        return replace(made, split=decided.split, review=decided.review, notes=notes)
    except RowRefusedError as refused:
        return Refusal(field=refused.field, why=refused.why)


def _task(draft: Draft, family: Family) -> RowTask:
    _check(draft, family)
    fail_to_pass, pass_to_pass = once(draft.fail_to_pass), once(draft.pass_to_pass)
    notes = [*draft.notes, *_notes(draft)]
    fields = {
        "id": draft.id,
        "repo": draft.repo,
        "baseCommit": draft.base_commit,
        "language": draft.language,
        "image": draft.image,
        "workdir": draft.workdir or draft.usual_workdir,
        "statement": draft.statement,
        "interface": draft.interface,
        **_patch_field("patch", draft.patch),
        **_patch_field("testPatch", draft.test_patch),
        "tests": {
            "commands": draft.commands,
            "parser": draft.parser,
            "failToPass": fail_to_pass,
            "passToPass": pass_to_pass,
        },
    }
    try:
        task = BundledTask.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise RowRefusedError(_column(draft, first["loc"]), first["msg"]) from error
    refusal = task_from_spec(task)
    if isinstance(refusal, Refusal):
        raise RowRefusedError(_column(draft, refusal.field.removeprefix("spec.task.").split(".")), refusal.why)
    return RowTask(
        task=task,
        family=family.name,
        quality=draft.quality,
        difficulty=draft.difficulty,
        created=draft.created,
        notes=tuple(notes),
    )


def _check(draft: Draft, family: Family) -> None:
    """Refuse what would make a task that says something else than the row, or nothing."""
    if not draft.patch.strip():
        raise RowRefusedError(
            draft.columns.get("patch", "patch"), "is empty: without a reference patch nothing is shown"
        )
    for field, content in (("patch", draft.patch), ("testPatch", draft.test_patch)):
        if len(content) > MAX_PATCH_BYTES:
            why = f"has {len(content)} bytes, more than {MAX_PATCH_BYTES}"
            raise RowRefusedError(_column(draft, [field]), why)
        fault = fault_of_patch(content)
        if fault:
            raise RowRefusedError(_column(draft, [field]), fault)
    hint = f"rows of {family.name} need not say; --recipes can"
    if not draft.image.strip():
        raise RowRefusedError(_column(draft, ["image"]), f"is missing, and no rule names the image ({hint})")
    if is_windows(draft.image):
        raise RowRefusedError(_column(draft, ["image"]), "is an image for Windows, runs need Linux")
    if not draft.commands:
        raise RowRefusedError(
            _column(draft, ["tests", "commands"]), f"no test command is known for {draft.repo} ({hint})"
        )
    _check_parser(draft, hint)


def _check_parser(draft: Draft, hint: str) -> None:
    column, named = _column(draft, ["tests", "parser"]), draft.parser
    if not named.strip():
        raise RowRefusedError(column, f"no parser is known for {draft.repo} ({hint})")
    if any(mark in named for mark in PROGRAM_TEXT):
        raise RowRefusedError(column, "is program text; a parser is a name, text of a row is never run")
    if not is_dialect(named):
        near = ", ".join(nearest_dialects(named)) or "none"
        raise RowRefusedError(column, f"unknown parser {named[:100]!r}; nearest: {near}")


def _notes(draft: Draft) -> Sequence[str]:
    noted = []
    for word, listed in (("fail-to-pass", draft.fail_to_pass), ("pass-to-pass", draft.pass_to_pass)):
        repeated = len(listed) - len(set(listed))
        if repeated:
            noted.append(f"{repeated} {word} names are listed more than once")
        cut = sum(name.count("[") > name.count("]") for name in listed)
        if cut:
            noted.append(f"{cut} {word} names are cut inside a parameter")
    return noted


def _patch_field(name: str, content: bytes) -> dict[str, str]:
    if not content.strip():
        return {}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = REPLACED
    if REPLACED in text:
        return {f"{name}Base64": base64.b64encode(content).decode("ascii")}
    return {name: text}


def _column(draft: Draft, path: Sequence[object]) -> str:
    """Return the row's column that a field of the task came from."""
    words = [str(word) for word in path if not isinstance(word, int)]
    wire = ".".join(words[:2])
    return draft.columns.get(wire) or COLUMNS.get(wire, wire)


COLUMNS = {
    "id": "instance_id",
    "baseCommit": "base_commit",
    "image": "image_name",
    "statement": "problem_statement",
    "testPatch": "test_patch",
    "patchBase64": "patch",
    "testPatchBase64": "test_patch",
    "tests.commands": "test_cmd",
    "tests.parser": "log_parser",
    "tests.failToPass": "FAIL_TO_PASS",
    "tests.passToPass": "PASS_TO_PASS",
}
"""Columns of a task's fields where a family does not say otherwise."""


def inline_task(task: BundledTask) -> api.Task | Refusal:
    """Return a task as a manifest may hold it, or the first field that is too large for that."""
    try:
        inline = api.Task.model_validate(api.to_wire(task))
    except ValidationError as error:
        path, why = api.first_error(error)
        return Refusal(field=path, why=f"{why}; too large for --inline")
    chars = inline_chars(inline)
    if chars > api.MAX_INLINE_CHARS:
        return Refusal(
            field="task", why=f"has {chars} characters, more than {api.MAX_INLINE_CHARS}; too large for --inline"
        )
    return inline


def inline_chars(task: api.Task) -> int:
    """Return the characters that the API server counts against its limit of an inline task."""
    texts = (task.statement, task.interface, task.patch, task.patch_base64, task.test_patch, task.test_patch_base64)
    lists = (task.tests.commands, task.tests.fail_to_pass, task.tests.pass_to_pass)
    return sum(len(said or "") for said in texts) + sum(len(item) for listed in lists for item in listed)
