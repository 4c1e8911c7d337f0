"""A task as the rest of the domain sees it, and the one way in from a custom resource's spec.

``task_from_spec`` is where bytes are bytes (patches), durations are seconds and every field has been looked at: what
cannot be a task is a ``Refusal`` that names the field.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from assay.api import v1alpha1
from assay.domain.logs import is_dialect, nearest_dialects
from assay.domain.patches import fault_of_patch

IMAGE = re.compile(
    r"(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""Grammar of an image reference (the distribution project's, SHA-256 digests only)."""

DURATION = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?")
FACTORS = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why something cannot be a task: the field, as a path in the spec, and a sentence."""

    field: str
    why: str

    def __str__(self) -> str:
        return f"{self.field}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Deadlines in seconds and resources as Kubernetes quantities."""

    queue: int
    pull: int
    setup: int
    test: int
    cpu: str
    memory: str
    ephemeral_storage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A coding task: what is needed to run its tests and to judge their results."""

    id: str
    repo: str
    base_commit: str
    image: str
    workdir: str
    patch: bytes
    test_patch: bytes
    commands: tuple[str, ...]
    parser: str
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()


def seconds_of(duration: str) -> int:
    """Return a duration such as ``1h30m`` in seconds; 0 when it does not parse."""
    found = DURATION.fullmatch(duration)
    if not found:
        return 0
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def quantity_of(text: str) -> float:
    """Return a Kubernetes quantity as a number (cores or bytes); 0 when it does not parse."""
    found = QUANTITY.fullmatch(text)
    return float(found.group(1)) * FACTORS[found.group(2) or ""] if found else 0.0


def limits_of(spec: v1alpha1.TaskValidationSpec) -> Limits | Refusal:
    """Return the deadlines and resources of a spec, or the field that is not one."""
    seconds = {}
    for stage in ("queue", "pull", "setup", "test"):
        seconds[stage] = seconds_of(getattr(spec.timeouts, stage))
        if seconds[stage] <= 0:
            return Refusal(field=f"spec.timeouts.{stage}", why="must be a duration above zero, for example 10m")
    for name in ("cpu", "memory", "ephemeral_storage"):
        if quantity_of(getattr(spec.resources, name)) <= 0:
            return Refusal(
                field=f"spec.resources.{name}", why="must be a Kubernetes quantity above zero, for example 2Gi"
            )
    return Limits(
        **seconds,
        cpu=spec.resources.cpu,
        memory=spec.resources.memory,
        ephemeral_storage=spec.resources.ephemeral_storage,
    )


def task_from_spec(task: v1alpha1.Task) -> Task | Refusal:
    """Return the task of a spec, or the first field that keeps it from being one."""
    if not IMAGE.fullmatch(task.image):
        return Refusal(field="spec.task.image", why=f"{task.image!r} is not an image reference")
    patches: dict[str, bytes] = {}
    for field, text, encoded in (
        ("patch", task.patch, task.patch_base64),
        ("testPatch", task.test_patch, task.test_patch_base64),
    ):
        content = _patch_bytes(field, text, encoded)
        if isinstance(content, Refusal):
            return content
        patches[field] = content
    refusal = _refusal_of_tests(task.tests)
    if refusal:
        return refusal
    return Task(
        id=task.id,
        repo=task.repo,
        base_commit=task.base_commit,
        image=task.image,
        workdir=task.workdir,
        patch=patches["patch"],
        test_patch=patches["testPatch"],
        commands=task.tests.commands,
        parser=task.tests.parser,
        fail_to_pass=task.tests.fail_to_pass,
        pass_to_pass=task.tests.pass_to_pass,
    )


def _patch_bytes(field: str, text: str | None, encoded: str | None) -> bytes | Refusal:
    if encoded is not None:
        field += "Base64"
        try:
            content = base64.b64decode(encoded, validate=False)
        except binascii.Error as error:
            return Refusal(field=f"spec.task.{field}", why=f"is not base64: {error}")
    else:
        content = (text or "").encode("utf-8", "surrogateescape")
    fault = fault_of_patch(content)
    return Refusal(field=f"spec.task.{field}", why=fault) if fault else content


def _refusal_of_tests(tests: v1alpha1.Tests) -> Refusal | None:
    if not tests.commands or any(not command.strip() for command in tests.commands):
        return Refusal(field="spec.task.tests.commands", why="must hold at least one command that is not empty")
    if not is_dialect(tests.parser):
        near = ", ".join(nearest_dialects(tests.parser))
        return Refusal(field="spec.task.tests.parser", why=f"unknown parser {tests.parser!r}; nearest: {near}")
    for field, names in (("failToPass", tests.fail_to_pass), ("passToPass", tests.pass_to_pass)):
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            return Refusal(field=f"spec.task.tests.{field}", why=f"lists {twice[0]!r} twice")
    both = sorted(set(tests.fail_to_pass) & set(tests.pass_to_pass))
    if both:
        return Refusal(field="spec.task.tests.passToPass", why=f"{both[0]!r} is in failToPass too")
    return None
