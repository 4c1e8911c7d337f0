"""TaskValidation: a coding task to be validated by execution."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from assay.api.base import API_VERSION, LIST_BY_TYPE, ObjectMeta, Resource, Rule, immutable
from assay.api.status import Artifact, Condition, ImageStatus, RunStatus, TestGroup
from assay.api.task import GoPolicy, Provenance, Resources, StatementReview, Task, TaskFrom, Timeouts


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


class Regrade(Resource):
    """Other rules to judge an object's stored evidence by; no run is made again for it."""

    profile: Annotated[str, Field(max_length=40, pattern=r"^([a-z0-9][a-z0-9-]*)?$")] = Field(
        default="", description="Profile to judge by. Empty: the spec's own."
    )
    parser: Annotated[str, Field(max_length=100)] = Field(
        default="", description="Parser to read the stored logs with. Empty: the task's own."
    )


class TaskValidationSpec(Resource):
    """What to validate and how; immutable but for suspend, priority, statementReview, regrade, and goPolicy until it is given."""

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
        Rule(
            "!has(self.goPolicy) || self.goPolicy.owned.size() > 0",
            "must say in owned which module paths are the task's own code",
            "goPolicy",
            "FieldValueRequired",
        ),
        Rule(
            "!has(oldSelf.goPolicy) || (has(self.goPolicy) && self.goPolicy == oldSelf.goPolicy)",
            "immutable once given: make a new object for another policy",
            "goPolicy",
            "FieldValueForbidden",
        ),
        *(immutable(name) for name in ("runs", "profile", "network", "checks", "scrub", "timeouts", "resources")),
        *(immutable(name, optional=True) for name in ("task", "taskFrom", "split", "provenance")),
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
    checks: Annotated[tuple[Check, ...], Field(max_length=8)] = Field(
        default=(),
        description="Extra admission checks. GoOffline: the fix passes twice with the go command shut off from every server. "
        "ModuleCache: the image holds no copy of the task's own Go module. FutureHistory: it holds no git object past the base "
        "and no newer release with the reference patch's lines.",
    )
    scrub: bool = Field(
        default=False,
        description="True: what FutureHistory finds in git is recorded and condemns nothing, since a sandbox starts without history.",
    )
    go_policy: GoPolicy | None = Field(
        default=None,
        description="What the Go module gateway refuses to the sandboxes of the task's episodes. It may be given later, once.",
    )
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines, one a stage.")
    resources: Resources = Field(default=Resources(), description="Resources of the task's container.")
    statement_review: StatementReview | None = Field(default=None, description="Decision on the statement.")
    regrade: Regrade | None = Field(
        default=None,
        description="Judge the evidence by other rules; a new generation's verdict. Names that the operator does not know are ignored.",
    )
    split: Literal["train", "eval"] | None = Field(
        default=None, description="Which side of the data set the task is on."
    )
    provenance: Provenance | None = Field(default=None, description="Where the task came from; copied into the status.")
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = Field(
        default=0, description="Objects with a higher priority get their pods first."
    )
    suspend: bool = Field(default=False, description="True: no new pods; running ones end.")


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
    provenance: Provenance | None = Field(default=None, description="Where the task came from, as the spec says it.")
    source: Annotated[str, Field(max_length=300)] = Field(
        default="", description="The task's repository under its present name, which splits are told apart by."
    )
    image: ImageStatus = Field(default=ImageStatus(), description="The bits that ran.")
    tests: TestsStatus = Field(default=TestsStatus(), description="Tests by kind.")
    runs: Annotated[tuple[RunStatus, ...], Field(max_length=60)] = Field(default=(), description="Finished runs.")
    regrade: Regrade | None = Field(
        default=None,
        description="Rules that the verdict was judged by, where they are not the spec's and the task's own.",
    )
    report: Artifact | None = Field(default=None, description="Full test lists and the decision's details, JSON.")
    started_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the first pod was made."
    )
    completed_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the verdict was reached."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra=LIST_BY_TYPE)] = Field(
        default=(), description="Accepted, ImageResolved, NetworkIsolationVerified, BaseCommitFound, Complete, Valid."
    )
    observed_generation: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Generation that this status speaks of."
    )


class TaskValidation(Resource):
    """A coding task to be validated by execution."""

    api_version: str = API_VERSION
    kind: Literal["TaskValidation"] = "TaskValidation"
    metadata: ObjectMeta = ObjectMeta()
    spec: TaskValidationSpec = Field(description="What to validate and how.")
    status: TaskValidationStatus = Field(default=TaskValidationStatus(), description="What the operator found.")
