"""A coding task as the API holds it: inline, or by reference to a row of a bundle; its clocks and its resources."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from assay.api.base import (
    IMAGE_REFERENCE,
    MAX_COMMANDS,
    MAX_INLINE_CHARS,
    MAX_TEXT_CHARS,
    QUANTITY,
    Command,
    Duration,
    PatchText,
    Quantity,
    Resource,
    Rule,
    Sha256,
    TestNames,
    excludes,
    is_base64,
    lasting,
)

ModulePath = Annotated[str, Field(min_length=1, max_length=300)]
MAX_MODULE_PATHS = 200


class Tests(Resource):
    """How the task's tests are run and read."""

    commands: Annotated[tuple[Command, ...], Field(min_length=1, max_length=MAX_COMMANDS)] = Field(
        description="Test commands, run in this order by bash where the image has it, else by sh; each under the test deadline, every one even when an earlier one failed."
    )
    parser: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="Name of the dialect that reads test names and outcomes from the output, for example parse_log_pytest_v2 or parse_log_gotest; `assay parsers` lists them."
    )
    fail_to_pass: TestNames = Field(
        default=(),
        description="Target tests: must fail in every unpatched run and pass in every patched run. Empty: derived from the runs.",
    )
    pass_to_pass: TestNames = Field(
        default=(),
        description="Tests that must pass in every run. Empty: derived from the unpatched runs and confirmed on the patched ones.",
    )


class Task(Resource):
    """A coding task: repository at a commit, statement, reference patch, tests and image."""

    cel: ClassVar = (
        excludes("patch", "patchBase64"),
        excludes("testPatch", "testPatchBase64"),
        is_base64("patchBase64"),
        is_base64("testPatchBase64"),
        Rule(
            f"self.image.matches('{IMAGE_REFERENCE}')",
            "must be an image reference like registry.example/team/name:tag or …/name@sha256:<64 hexadecimal digits>",
            "image",
        ),
        Rule(
            "[size(self.statement), size(self.interface), has(self.patch) ? size(self.patch) : 0,"
            " has(self.patchBase64) ? size(self.patchBase64) : 0, has(self.testPatch) ? size(self.testPatch) : 0,"
            " has(self.testPatchBase64) ? size(self.testPatchBase64) : 0, self.tests.commands.map(it, size(it)).sum(),"
            " self.tests.failToPass.map(it, size(it)).sum(), self.tests.passToPass.map(it, size(it)).sum()].sum()"
            f" <= {MAX_INLINE_CHARS}",
            f"an inline task may have {MAX_INLINE_CHARS} characters in all; put larger ones into the store and use taskFrom",
        ),
    )

    id: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="The task's identifier in its data set, kept as it is; any characters. Object names and labels are derived from it by hash."
    )
    repo: Annotated[str, Field(max_length=300)] = Field(
        default="", description="Source repository, for example BurntSushi/toml."
    )
    base_commit: Annotated[str, Field(max_length=64, pattern=r"^([0-9a-f]{7,64})?$")] = Field(
        default="", description="Commit that the image's work tree stands at, 40 hexadecimal digits."
    )
    language: Annotated[str, Field(max_length=40)] = Field(
        default="", description="Main programming language, lower case."
    )
    image: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="Image that holds the work tree and its dependencies. A tag is pinned to a digest before the second run."
    )
    workdir: Annotated[str, Field(max_length=500, pattern=r"^(/.*)?$")] = Field(
        default="", description="Absolute path of the work tree in the image. Empty: the image's own working directory."
    )
    statement: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] = Field(
        default="", description="What an agent is asked to do."
    )
    interface: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] = Field(
        default="", description="Names that the held-out tests need and the statement does not give."
    )
    patch: PatchText | None = Field(default=None, description="Reference patch: a git diff against the base commit.")
    patch_base64: PatchText | None = Field(
        default=None, description="Reference patch in base64, for diffs that are not valid UTF-8."
    )
    test_patch: PatchText | None = Field(
        default=None,
        description="Test patch: the git diff that brings the held-out tests; applied before the reference patch.",
    )
    test_patch_base64: PatchText | None = Field(
        default=None, description="Test patch in base64, for diffs that are not valid UTF-8."
    )
    tests: Tests = Field(description="How the tests are run and read.")


class TaskFrom(Resource):
    """A task by reference to a row of a bundle in the artifact store, for big batches."""

    dataset: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="Name of the data set.")
    id: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="The task's identifier in the data set."
    )
    digest: Sha256 = Field(description="SHA-256 of the task's bytes in the artifact store; other bytes are refused.")


class GoPolicy(Resource):
    """Which of Go's modules a sandbox may not reach, as `assay deny-list build` finds out for the task."""

    owned: Annotated[tuple[ModulePath, ...], Field(max_length=MAX_MODULE_PATHS)] = Field(
        default=(), description="Module paths of the task's own code, under all of its names."
    )
    fork_names: Annotated[tuple[ModulePath, ...], Field(max_length=MAX_MODULE_PATHS)] = Field(
        default=(), description="Repository names under which forks are known."
    )
    nested_elsewhere: Annotated[tuple[ModulePath, ...], Field(max_length=MAX_MODULE_PATHS)] = Field(
        default=(), description="Paths below an owned one that other projects own."
    )
    not_after: Annotated[str, Field(max_length=40)] = Field(
        default="", description="RFC 3339 time; module versions that are younger are refused. Empty: no limit."
    )


class Timeouts(Resource):
    """One clock a stage; whichever fires is named in the status."""

    cel: ClassVar = lasting("queue", "pull", "setup", "test")

    queue: Duration = Field(default="24h", description="Longest wait of a run for a place on a node.")
    pull: Duration = Field(default="30m", description="Longest time from the pod's placement to its image's presence.")
    setup: Duration = Field(default="10m", description="Longest time for the isolation proof and the patches.")
    test: Duration = Field(default="10m", description="Longest time of each test command.")


class Resources(Resource):
    """What the task's container may use; requests and limits alike."""

    cel: ClassVar = tuple(
        Rule(
            f"string(self.{amount}).matches('{QUANTITY}')"
            f" && quantity(string(self.{amount})).isGreaterThan(quantity('0'))",
            "must be a quantity of more than nothing, for example 500m, 2 or 4Gi",
            amount,
        )
        for amount in ("cpu", "memory", "ephemeralStorage")
    )

    cpu: Quantity = Field(default="1", description="Processors.")
    memory: Quantity = Field(default="2Gi", description="Memory; going over it is OutOfMemory, a fact about the task.")
    ephemeral_storage: Quantity = Field(default="10Gi", description="Local disk for the container's writable layer.")


class StatementReview(Resource):
    """A person's or a model's decision on the statement."""

    decision: Literal["Accepted", "Rewritten", "Rejected"] = Field(description="Accepted, Rewritten or Rejected.")
    reviewer: Annotated[str, Field(max_length=200)] = Field(default="", description="Who decided.")
    reason: Annotated[str, Field(max_length=5_000)] = Field(default="", description="Why.")
    time: Annotated[str, Field(max_length=40)] = Field(default="", description="When, RFC 3339.")
    original_digest: Annotated[str, Field(max_length=64)] = Field(
        default="", description="SHA-256 of the statement before a rewrite."
    )
    rewritten_digest: Annotated[str, Field(max_length=64)] = Field(
        default="", description="SHA-256 of the statement after a rewrite: the one that agents are given."
    )
    statement: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] = Field(
        default="",
        description="The rewritten statement, in place of the task's own. Empty: the task holds what agents are given.",
    )


class Provenance(Resource):
    """Where a task came from; it changes nothing about how the task is run."""

    dataset: Annotated[str, Field(max_length=300)] = Field(default="", description="Name of the data set.")
    revision: Annotated[str, Field(max_length=200)] = Field(
        default="", description="Revision of the data set; sets are edited in place under one name."
    )
    family: Annotated[str, Field(max_length=60)] = Field(
        default="", description="Family of data sets whose rules read the row."
    )
    row: Annotated[int, Field(ge=0)] | None = Field(default=None, description="Number of the row in its file, from 0.")
    row_digest: Annotated[str, Field(max_length=64)] = Field(
        default="", description="SHA-256 of the row's columns that the family reads, as canonical JSON."
    )
