"""A task as the rest of the domain sees it, and the one way in from a custom resource's spec.

``task_from_spec`` is where bytes are bytes (patches), durations are seconds and every field has been looked at: what
cannot be a task is a ``Refusal`` that names the field.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from assay.api import v1alpha1
from assay.domain.logs import is_dialect, nearest_dialects
from assay.domain.patches import fault_of_patch
from assay.domain.profiles import PROFILES, Profile, profile_named

IMAGE = re.compile(
    r"(?:(?=localhost/|[^/]*[.:])(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""Grammar of an image reference (the distribution project's, SHA-256 digests only; a host has a dot or a port)."""

MAX_DEADLINE = 30 * 24 * 3600
"""Longest deadline of a stage in seconds; the sum over all commands fits a pod's own deadline (32 bits)."""

REPLACED = "\ufffd"
"""What JSON and YAML readers put in the place of bytes that are not UTF-8, without a word."""

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
    """A coding task: what is needed to run its tests and to judge their results.

    ``scrub``: what git holds beyond the base is recorded, since a sandbox never shows it, and condemns nothing.
    """

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
    checks: frozenset[v1alpha1.Check] = frozenset()
    scrub: bool = False


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


def limits_of(spec: v1alpha1.TaskValidationSpec | v1alpha1.AgentEpisodeSpec) -> Limits | Refusal:
    """Return the deadlines and resources of a spec, or the field that is not one."""
    seconds = {}
    for stage in ("queue", "pull", "setup", "test"):
        seconds[stage] = seconds_of(getattr(spec.timeouts, stage))
        if not 0 < seconds[stage] <= MAX_DEADLINE:
            why = "must be a duration above zero and of at most 720h, for example 10m"
            return Refusal(field=f"spec.timeouts.{stage}", why=why)
    quantities = {
        "cpu": spec.resources.cpu,
        "memory": spec.resources.memory,
        "ephemeralStorage": spec.resources.ephemeral_storage,
    }
    for name, quantity in quantities.items():
        if quantity_of(quantity) <= 0:
            why = "must be a Kubernetes quantity above zero, for example 2Gi"
            return Refusal(field=f"spec.resources.{name}", why=why)
    return Limits(
        **seconds,
        cpu=spec.resources.cpu,
        memory=spec.resources.memory,
        ephemeral_storage=spec.resources.ephemeral_storage,
    )


def profile_of(spec: v1alpha1.TaskValidationSpec | v1alpha1.AgentEpisodeSpec) -> Profile | Refusal:
    """Return the profile that a spec names, or the refusal that lists those that there are."""
    profile = profile_named(spec.profile)
    if profile is None:
        known = ", ".join(sorted(PROFILES))
        return Refusal(field="spec.profile", why=f"unknown profile {spec.profile!r}; known: {known}")
    return profile


GO_OFFLINE_SECONDS = 400
"""Longest time of each test command under the check GoOffline."""


def limits_with_checks(limits: Limits, checks: Collection[v1alpha1.Check]) -> Limits:
    """Return the limits that a task's checks leave."""
    if v1alpha1.Check.GO_OFFLINE not in checks:
        return limits
    return replace(limits, test=min(limits.test, GO_OFFLINE_SECONDS))


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
    """Return a patch's bytes, none for a blank one, or why it is refused."""
    if encoded is not None and text is not None:
        return Refusal(field=f"spec.task.{field}Base64", why=f"excludes {field}; give one of the two")
    if text and REPLACED in text:
        why = f"holds U+FFFD, what a manifest makes of bytes that are not UTF-8; give the patch as {field}Base64"
        return Refusal(field=f"spec.task.{field}", why=why)
    if encoded is not None:
        field += "Base64"
    try:
        content = (text or "").encode() if encoded is None else _decoded(encoded)
    except ValueError as error:
        return Refusal(field=f"spec.task.{field}", why=f"is not base64: {error}")
    fault = fault_of_patch(content)
    if fault:
        return Refusal(field=f"spec.task.{field}", why=fault)
    return content if content.strip() else b""


def _decoded(encoded: str) -> bytes:
    """Decode base64 that may be wrapped into lines; ValueError for anything else."""
    return base64.b64decode("".join(encoded.split()).encode("ascii", "replace"), validate=True)


def _refusal_of_tests(tests: v1alpha1.Tests) -> Refusal | None:
    if not tests.commands or any(not command.strip() for command in tests.commands):
        return Refusal(field="spec.task.tests.commands", why="must hold at least one command that is not empty")
    if not is_dialect(tests.parser):
        near = ", ".join(nearest_dialects(tests.parser))
        return Refusal(field="spec.task.tests.parser", why=f"unknown parser {tests.parser!r}; nearest: {near}")
    for field, names in (("failToPass", tests.fail_to_pass), ("passToPass", tests.pass_to_pass)):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            return Refusal(field=f"spec.task.tests.{field}", why=f"lists {twice[0]!r} twice")
    both = sorted(set(tests.fail_to_pass) & set(tests.pass_to_pass))
    if both:
        return Refusal(field="spec.task.tests.passToPass", why=f"{both[0]!r} is in failToPass too")
    return None
