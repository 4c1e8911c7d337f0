"""The custom resources of assay.dev/v1alpha1 as pydantic models: the only source of ``crds/*.yaml``.

A model's field is a property of the schema: its description is what ``kubectl explain`` prints, its bounds become
OpenAPI bounds, its ``cel`` entries become validation rules.  Every string, list and map is bounded, so that the rules
fit the API server's cost budget.  Nothing here decides anything: ``assay.domain`` does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

GROUP = "assay.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

MAX_PATCH_CHARS = 700_000
"""Inline limit of one patch in characters; larger ones come by reference (etcd holds about 1.5 MB an object)."""
MAX_INLINE_CHARS = 1_000_000
"""Inline limit of a task as a whole in characters, so that the API server refuses it by name and not etcd by size."""
MAX_TEXT_CHARS = 100_000
MAX_TESTS = 10_000
MAX_TEST_NAME = 2_000
MAX_COMMANDS = 50

IMAGE_REFERENCE = (
    r"^(([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\\[[0-9a-fA-F:]+\\])(:[0-9]+)?/)?"
    r"[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
)
"""Image reference as a CEL string literal's regular expression; ``assay.domain.task.IMAGE`` is the same grammar."""
QUANTITY = r"^[0-9]+([.][0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"
"""Quantities that Assay reads; a rule says it, because the API server does not look at an int-or-string's pattern."""
LIST_BY_TYPE: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


class Verdict(StrEnum):
    """What execution said about a task."""

    VALID = "Valid"
    INVALID = "Invalid"
    INCONCLUSIVE = "Inconclusive"


class Phase(StrEnum):
    """How far the operator has come with an object."""

    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETE = "Complete"


class Check(StrEnum):
    """Extra admission checks of a task."""

    GO_OFFLINE = "GoOffline"
    MODULE_CACHE = "ModuleCache"
    FUTURE_HISTORY = "FutureHistory"


class Rule(NamedTuple):
    """One CEL validation rule of a model: what must hold, what is said when it does not, and of which field."""

    rule: str
    message: str
    field: str = ""
    """Wire name of the model's field that the message is about; empty: the model as a whole."""
    reason: Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"] = "FieldValueInvalid"


def immutable(field: str, *, optional: bool = False) -> Rule:
    """Return the rule that a field of the spec keeps its value; ``optional`` when the API server has no default for it."""
    same = f"self.{field} == oldSelf.{field}"
    return Rule(
        f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || {same})" if optional else same,
        "immutable: only suspend and priority may change; make a new object for another task or another way to run it",
        field,
        "FieldValueForbidden",
    )


class Resource(BaseModel):
    """Base of every model: camelCase on the wire, unknown fields are ignored (an older operator reads a newer object)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)
    cel: ClassVar[tuple[Rule, ...]] = ()


Duration = Annotated[
    str,
    Field(
        pattern=r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
        min_length=2,
        max_length=20,
    ),
]
Quantity = Annotated[
    str,
    BeforeValidator(str),
    Field(
        pattern=QUANTITY,
        max_length=20,
        json_schema_extra={"x-kubernetes-int-or-string": True},
    ),
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
TestName = Annotated[str, Field(min_length=1, max_length=MAX_TEST_NAME)]
TestNames = Annotated[tuple[TestName, ...], Field(max_length=MAX_TESTS)]
Command = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
PatchText = Annotated[str, Field(max_length=MAX_PATCH_CHARS)]


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


def _excludes(plain: str, base64: str) -> Rule:
    return Rule(
        f"!(has(self.{plain}) && has(self.{base64}))",
        f"{plain} and {base64} exclude each other; give one of them",
        base64,
        "FieldValueForbidden",
    )


def _base64(field: str) -> Rule:
    return Rule(
        f"!has(self.{field}) || self.{field}.matches('^[A-Za-z0-9+/[:space:]]*=?[[:space:]]*=?[[:space:]]*$')",
        "must be base64",
        field,
    )


class Task(Resource):
    """A coding task: repository at a commit, statement, reference patch, tests and image."""

    cel: ClassVar = (
        _excludes("patch", "patchBase64"),
        _excludes("testPatch", "testPatchBase64"),
        _base64("patchBase64"),
        _base64("testPatchBase64"),
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


class Runs(Resource):
    """How often each state is run; every run is a fresh pod."""

    pristine: Annotated[int, Field(ge=0, le=10)] = Field(
        default=0, description="Runs of the base without the test patch; they tell new targets from hidden regressions."
    )
    unpatched: Annotated[int, Field(ge=1, le=20)] = Field(
        default=3, description="Runs of the base with the test patch; more runs find rarer flaky tests."
    )
    patched: Annotated[int, Field(ge=1, le=20)] = Field(
        default=2, description="Runs of the base with the test patch and the reference patch."
    )


class Timeouts(Resource):
    """One clock a stage; whichever fires is named in the status."""

    cel: ClassVar = tuple(
        Rule(
            f"duration(self.{stage}) > duration('0s') && duration(self.{stage}) <= duration('8760h')",
            "must be longer than nothing and at most a year, for example 90s, 10m or 1h30m",
            stage,
        )
        for stage in ("queue", "pull", "setup", "test")
    )

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


class TaskValidationSpec(Resource):
    """What to validate and how; immutable once accepted, apart from suspend and priority."""

    cel: ClassVar = (
        Rule(
            "has(self.task) || has(self.taskFrom)",
            "one of task and taskFrom must be given",
            "task",
            "FieldValueRequired",
        ),
        Rule(
            "!(has(self.task) && has(self.taskFrom))",
            "task and taskFrom exclude each other; give one of them",
            "taskFrom",
            "FieldValueForbidden",
        ),
        *(immutable(name) for name in ("runs", "profile", "network", "checks", "timeouts", "resources")),
        *(immutable(name, optional=True) for name in ("task", "taskFrom", "statementReview", "split")),
    )

    task: Task | None = Field(default=None, description="The task itself, inline.")
    task_from: TaskFrom | None = Field(default=None, description="The task by reference to a bundle's row.")
    runs: Runs = Field(default=Runs(), description="How often each state is run.")
    profile: Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9][a-z0-9-]*$")] = Field(
        default="strict", description="Named set of comparison rules."
    )
    network: Literal["Offline"] = Field(
        default="Offline", description="Network of the runs; validation is always offline."
    )
    checks: Annotated[tuple[Check, ...], Field(max_length=8)] = Field(default=(), description="Extra admission checks.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines, one a stage.")
    resources: Resources = Field(default=Resources(), description="Resources of the task's container.")
    statement_review: StatementReview | None = Field(default=None, description="Decision on the statement.")
    split: Literal["train", "eval"] | None = Field(
        default=None, description="Which side of the data set the task is on."
    )
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = Field(
        default=0, description="Objects with a higher priority get their pods first."
    )
    suspend: bool = Field(default=False, description="True: no new pods; running ones end.")


class Condition(Resource):
    """One observation on the object, after the Kubernetes API conventions."""

    type: Annotated[str, Field(max_length=316)] = Field(description="Name of the condition.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(max_length=1_024)] = Field(
        description="CamelCase word for the cause of the last change."
    )
    message: Annotated[str, Field(max_length=8_192)] = Field(default="", description="Sentence for people.")
    last_transition_time: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] = Field(
        description="When the status last changed."
    )
    observed_generation: int = Field(default=0, ge=0, description="Generation that the condition speaks of.")


class ImageStatus(Resource):
    """The bits that every run of the object used."""

    requested: Annotated[str, Field(max_length=500)] = Field(default="", description="Image as the spec names it.")
    digest: Annotated[str, Field(max_length=600, pattern=r"^([^@]*@)?(sha256:[0-9a-f]{64})?$")] = Field(
        default="", description="Digest of the bits that ran, with the repository where it is known."
    )
    platform: Annotated[str, Field(max_length=60)] = Field(default="", description="Operating system and architecture.")


class Artifact(Resource):
    """A file in the artifact store."""

    uri: Annotated[str, Field(max_length=500)] = Field(description="Where the store keeps it.")
    sha256: Sha256 = Field(description="SHA-256 of its bytes.")
    bytes: Annotated[int, Field(ge=0)] = Field(description="Its size in bytes.")


class Counts(Resource):
    """Tests of one run by outcome."""

    passed: Annotated[int, Field(ge=0)] = Field(default=0, description="Tests that passed.")
    failed: Annotated[int, Field(ge=0)] = Field(default=0, description="Tests that failed or ended in an error.")
    skipped: Annotated[int, Field(ge=0)] = Field(default=0, description="Tests that were skipped.")
    other: Annotated[int, Field(ge=0)] = Field(default=0, description="Tests with any other outcome.")


class Fault(Resource):
    """One attempt that the infrastructure lost."""

    attempt: Annotated[int, Field(ge=1)] = Field(description="Number of the attempt.")
    reason: Annotated[str, Field(max_length=100)] = Field(description="Class of the fault.")
    message: Annotated[str, Field(max_length=500)] = Field(default="", description="What was seen.")


class Isolation(Resource):
    """What the witness saw of the network."""

    targets: Annotated[int, Field(ge=0)] = Field(default=0, description="Addresses that had to be out of reach.")
    samples: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Rounds of probing after the gate, until the end of the run."
    )
    leaks: Annotated[int, Field(ge=0)] = Field(default=0, description="Probes that got through after the gate.")
    gate_seconds: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Time until the network was proven shut."
    )


class RunStatus(Resource):
    """One finished run and where its evidence lies."""

    name: Annotated[str, Field(max_length=60)] = Field(description="State and number, for example unpatched-1.")
    attempt: Annotated[int, Field(ge=1)] = Field(
        default=1, description="Attempt that counted; earlier ones were lost to faults."
    )
    outcome: Annotated[str, Field(max_length=60)] = Field(
        description="How the run ended, for example Finished or TestTimeout."
    )
    exit_code: int | None = Field(default=None, description="Exit code of the first test command that failed, else 0.")
    duration_seconds: Annotated[float, Field(ge=0)] = Field(default=0.0, description="Time of the test commands.")
    log: Artifact | None = Field(default=None, description="Complete log of the run.")
    results: Artifact | None = Field(default=None, description="Outcome of each test, JSON.")
    counts: Counts = Field(default=Counts(), description="Tests by outcome.")
    isolation: Isolation = Field(default=Isolation(), description="What the witness saw of the network.")
    truncated: bool = Field(
        default=False, description="True when the log was larger than the limit and its middle was dropped."
    )
    faults: Annotated[tuple[Fault, ...], Field(max_length=5)] = Field(
        default=(), description="Attempts lost to the infrastructure, latest last."
    )


ShortNames = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=5)]


class TestGroup(Resource):
    """How many tests are of a kind, and the first few of their names."""

    count: Annotated[int, Field(ge=0)] = Field(default=0, description="How many.")
    first: ShortNames = Field(
        default=(), description="The first few names, cut to 200 characters; all are in the report artifact."
    )


class TestsStatus(Resource):
    """Tests by what the runs say of them together."""

    fail_to_pass: TestGroup = Field(default=TestGroup(), description="Targets: fail without the patch, pass with it.")
    pass_to_pass: TestGroup = Field(default=TestGroup(), description="Pass in every run.")
    flaky: TestGroup = Field(default=TestGroup(), description="Differ between runs of one state.")
    unstable: TestGroup = Field(default=TestGroup(), description="Names seen in one single run of all.")
    excluded: TestGroup = Field(
        default=TestGroup(), description="Neither target nor pass-to-pass, for a recorded reason."
    )
    new_targets: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Targets that did not pass in the pristine runs; absent without pristine runs."
    )


class TaskValidationStatus(Resource):
    """What the operator found; written by it alone."""

    phase: Phase = Field(default=Phase.PENDING, description="Pending, Running or Complete.")
    verdict: Verdict | None = Field(
        default=None,
        description="Valid, Invalid (dropped, with a reason) or Inconclusive (infrastructure; counted as neither).",
    )
    reason: Annotated[str, Field(max_length=100)] = Field(
        default="", description="Leading reason of the verdict, CamelCase."
    )
    message: Annotated[str, Field(max_length=2_000)] = Field(default="", description="The reason in a sentence.")
    image: ImageStatus = Field(default=ImageStatus(), description="The bits that ran.")
    tests: TestsStatus = Field(default=TestsStatus(), description="Tests by kind.")
    runs: Annotated[tuple[RunStatus, ...], Field(max_length=60)] = Field(default=(), description="Finished runs.")
    report: Artifact | None = Field(default=None, description="Full test lists and the decision's details, JSON.")
    started_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the first pod was made."
    )
    completed_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the verdict was reached."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra=LIST_BY_TYPE)] = Field(
        default=(), description="Accepted, ImageResolved, NetworkIsolationVerified, Complete, Valid."
    )
    observed_generation: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Generation that this status speaks of."
    )


class ObjectMeta(Resource):
    """The few fields of an object's metadata that the operator reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class TaskValidation(Resource):
    """A coding task to be validated by execution."""

    api_version: str = API_VERSION
    kind: Literal["TaskValidation"] = "TaskValidation"
    metadata: ObjectMeta = ObjectMeta()
    spec: TaskValidationSpec = Field(description="What to validate and how.")
    status: TaskValidationStatus = Field(default=TaskValidationStatus(), description="What the operator found.")


def to_wire(model: Resource) -> dict[str, Any]:
    """Return the model as Kubernetes JSON: camelCase, without fields that are None."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
