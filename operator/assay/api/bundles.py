"""A task as a bundle holds it: the same fields as an inline one, with the bounds of the artifact store, not of etcd."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.api.task import Task, Tests

MAX_PATCH_BYTES = 16 * 1024 * 1024
"""Limit of one patch in bytes: it reaches a run's pod in Secrets of a megabyte each."""
MAX_PATCH_CHARS = MAX_PATCH_BYTES * 4 // 3 + 4
"""Limit of a patch's field in characters; base64 of the largest patch."""
MAX_NAMES = 200_000
MAX_NAME_CHARS = 20_000
MAX_COMMAND_CHARS = 700_000
"""Limit of one command in characters: it is one key of a Secret."""

BundledNames = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)], ...], Field(max_length=MAX_NAMES)
]
BundledPatch = Annotated[str, Field(max_length=MAX_PATCH_CHARS)]
BundledText = Annotated[str, Field(max_length=2_000_000)]
BundledCommand = Annotated[str, Field(min_length=1, max_length=MAX_COMMAND_CHARS, pattern=r"\S")]


class BundledTests(Tests):
    """How the task's tests are run and read."""

    commands: Annotated[tuple[BundledCommand, ...], Field(min_length=1, max_length=50)] = Field(
        description="Test commands, as in an inline task."
    )
    fail_to_pass: BundledNames = Field(default=(), description="Target tests.")
    pass_to_pass: BundledNames = Field(default=(), description="Tests that must pass in every run.")


class BundledTask(Task):
    """A task of a bundle; ``to_wire`` of it is the bundle's document."""

    statement: BundledText = Field(default="", description="What an agent is asked to do.")
    interface: BundledText = Field(default="", description="Names that the held-out tests need.")
    patch: BundledPatch | None = Field(default=None, description="Reference patch.")
    patch_base64: BundledPatch | None = Field(default=None, description="Reference patch in base64.")
    test_patch: BundledPatch | None = Field(default=None, description="Test patch.")
    test_patch_base64: BundledPatch | None = Field(default=None, description="Test patch in base64.")
    tests: BundledTests = Field(description="How the tests are run and read.")
