"""AgentEpisode: an agent, or a given prediction, works on a task and gets a reward."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from assay.api.base import (
    API_VERSION,
    LIST_BY_TYPE,
    Duration,
    ObjectMeta,
    PatchText,
    Resource,
    Rule,
    Sha256,
    excludes,
    immutable,
    is_base64,
    lasting,
)
from assay.api.status import Artifact, Condition, ImageStatus, RunStatus, TestGroup
from assay.api.task import GoPolicy, Resources, Task, TaskFrom, Timeouts

MAX_SUBMISSIONS = 20


class EpisodePhase(StrEnum):
    """How far an episode has come; the last four are final."""

    PENDING = "Pending"
    READY = "Ready"
    GRADING = "Grading"
    FINISHED = "Finished"
    EXPIRED = "Expired"
    CANCELLED = "Cancelled"
    FAILED = "Failed"


class SubmissionOutcome(StrEnum):
    """What came of one submission: a reward, or nothing that counts."""

    PENDING = "Pending"
    GRADED = "Graded"
    NOT_GRADED = "NotGraded"


class Submission(Resource):
    """A given patch: the episode has no sandbox, it is one grading."""

    cel: ClassVar = (excludes("patch", "patchBase64"), is_base64("patchBase64"))

    patch: PatchText | None = Field(
        default=None, description="The prediction: a git diff against the base commit. Empty: nothing was predicted."
    )
    patch_base64: PatchText | None = Field(
        default=None, description="The prediction in base64, for diffs that are not valid UTF-8."
    )
    digest: Sha256 | None = Field(
        default=None, description="SHA-256 of the prediction's bytes in the artifact store, for large ones."
    )
    model: Annotated[str, Field(max_length=200)] = Field(default="", description="Who made the prediction.")


class EnvVar(Resource):
    """One variable of the agent's environment."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="Name of the variable."
    )
    value: Annotated[str, Field(max_length=10_000)] = Field(default="", description="Its value.")


class Agent(Resource):
    """A pod that drives the episode: it gets the gateway's address, a key for this episode alone and its task reference."""

    image: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="Image of the agent.")
    command: Annotated[tuple[Annotated[str, Field(max_length=20_000)], ...], Field(max_length=50)] = Field(
        default=(), description="Command; empty: the image's own."
    )
    env: Annotated[tuple[EnvVar, ...], Field(max_length=50)] = Field(
        default=(),
        description="Environment, beside ASSAY_URL, ASSAY_API_KEY, ASSAY_ENVIRONMENT, ASSAY_SPLIT and ASSAY_TASK.",
    )
    resources: Resources = Field(default=Resources(), description="Resources of the agent's container.")


class Limits(Resource):
    """What an episode may use up."""

    cel: ClassVar = lasting("episode", "idle", "toolCall", "test")

    episode: Duration = Field(default="8h", description="Longest life of an episode, from its sandbox's start.")
    idle: Duration = Field(default="30m", description="Longest time without a call or a ping.")
    tool_call: Duration = Field(default="10m", description="Longest time of one tool call.")
    test: Duration = Field(
        default="10m", description="Longest time of each test command of a grading; past it nothing is graded."
    )
    tool_calls: Annotated[int, Field(ge=1, le=100_000)] = Field(default=2_000, description="Most tool calls.")
    submissions: Annotated[int, Field(ge=1, le=MAX_SUBMISSIONS)] = Field(
        default=3, description="Most submissions; only those that were not graded leave another."
    )


class AgentEpisodeSpec(Resource):
    """Which task, who works on it and under which limits; immutable apart from submit, cancel, suspend and priority."""

    cel: ClassVar = (
        Rule(
            "[has(self.task), has(self.taskFrom), has(self.validation)].filter(given, given).size() == 1",
            "exactly one of task, taskFrom and validation must be given",
            "task",
            "FieldValueRequired",
        ),
        Rule(
            "!(has(self.submission) && has(self.agent))",
            "a given submission has no sandbox, so no agent can work in it",
            "agent",
            "FieldValueForbidden",
        ),
        Rule(
            "!(has(self.submission) && self.network != 'Offline')",
            "grading is always offline",
            "network",
            "FieldValueForbidden",
        ),
        Rule(
            "self.network != 'GoProxy' || has(self.validation) || (has(self.goPolicy) && self.goPolicy.owned.size() > 0)",
            "network GoProxy needs goPolicy.owned, here or in the validation: the module paths of the task's own code",
            "goPolicy",
            "FieldValueRequired",
        ),
        Rule(
            "!(has(self.submission) && self.submit > 0)",
            "a given submission is graded once; submit is for sandboxes",
            "submit",
            "FieldValueForbidden",
        ),
        Rule(
            "self.submit == oldSelf.submit || self.submit == oldSelf.submit + 1",
            "submit is the number of submissions asked for and grows by one at a time",
            "submit",
        ),
        Rule("self.cancel || !oldSelf.cancel", "an episode that was cancelled stays so", "cancel"),
        *(
            immutable(name)
            for name in ("profile", "network", "timeouts", "resources", "limits", "grading", "reward", "environment")
        ),
        *(
            immutable(name, optional=True)
            for name in ("task", "taskFrom", "validation", "submission", "agent", "goPolicy")
        ),
    )

    task: Task | None = Field(default=None, description="The task itself, inline, with its verified test lists.")
    task_from: TaskFrom | None = Field(default=None, description="The task by reference to a bundle's row.")
    validation: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        default=None,
        description="Name of a Valid TaskValidation in the namespace: its task, its image digest and the test lists that it verified.",
    )
    submission: Submission | None = Field(
        default=None, description="A given prediction; absent: an agent works in a sandbox."
    )
    agent: Agent | None = Field(default=None, description="A pod that drives the episode.")
    environment: Annotated[str, Field(max_length=63)] = Field(
        default="", description="Environment that the episode was opened in, by the gateway's name for it."
    )
    profile: Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9][a-z0-9-]*$")] = Field(
        default="strict", description="Named set of grading rules."
    )
    network: Literal["Offline", "GoProxy"] = Field(
        default="Offline", description="Network of the sandbox; grading is always offline."
    )
    go_policy: GoPolicy | None = Field(
        default=None, description="What the Go module gateway refuses, beside what the validation's goPolicy says."
    )
    limits: Limits = Field(default=Limits(), description="What the episode may use up.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines of each pod's stages; limits.test wins.")
    resources: Resources = Field(default=Resources(), description="Resources of the sandbox and of gradings.")
    grading: Literal["FreshPod"] = Field(
        default="FreshPod", description="A submission is graded in a fresh pod, never in the sandbox."
    )
    reward: Literal["Binary", "Partial"] = Field(
        default="Binary",
        description="Binary: 1 when all listed tests pass, else 0. Partial: the mean of both lists' rates.",
    )
    submit: Annotated[int, Field(ge=0, le=MAX_SUBMISSIONS)] = Field(
        default=0, description="Number of submissions asked for; raise it by one to have the sandbox's tree graded."
    )
    cancel: bool = Field(default=False, description="True: the episode ends without a reward.")
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = Field(
        default=0, description="Objects with a higher priority get their pods first."
    )
    suspend: bool = Field(default=False, description="True: no new pods; running ones end.")


class Rate(Resource):
    """How many tests of a list passed."""

    passed: Annotated[int, Field(ge=0)] = Field(default=0, description="Listed tests that passed.")
    total: Annotated[int, Field(ge=0)] = Field(default=0, description="Listed tests.")


class SubmissionStatus(Resource):
    """One submission: what was offered, how it was graded and where the evidence lies."""

    number: Annotated[int, Field(ge=1)] = Field(description="Number of the submission.")
    time: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] = Field(
        description="When it was offered."
    )
    outcome: SubmissionOutcome = Field(description="Pending, Graded or NotGraded.")
    reason: Annotated[str, Field(max_length=100)] = Field(
        default="",
        description="Resolved, TestsFail, PatchDoesNotApply, NothingSubmitted, TestTimeout, Infrastructure …",
    )
    message: Annotated[str, Field(max_length=1_000)] = Field(default="", description="The reason in a sentence.")
    reward: float | None = Field(default=None, description="Reward; absent while nothing is graded.")
    diff: Artifact | None = Field(default=None, description="The submission as it was taken.")
    fail_to_pass: Rate = Field(default=Rate(), description="Targets.")
    pass_to_pass: Rate = Field(default=Rate(), description="Tests that must still pass.")
    ignored: TestGroup = Field(
        default=TestGroup(),
        description="Paths of the submission that were left out: tests and what steers their runner.",
    )
    run: RunStatus | None = Field(default=None, description="The grading run and its evidence.")
    report: Artifact | None = Field(default=None, description="Every listed test and the decision's details, JSON.")


class SandboxStatus(Resource):
    """The pod that the agent works in."""

    pod: Annotated[str, Field(max_length=253)] = Field(default="", description="Name of the pod.")
    pod_uid: Annotated[str, Field(max_length=63)] = Field(default="", alias="podUID", description="UID of the pod.")
    pod_ips: Annotated[tuple[Annotated[str, Field(max_length=60)], ...], Field(max_length=4)] = Field(
        default=(), alias="podIPs", description="Addresses of the pod."
    )
    token_sha256: Annotated[str, Field(max_length=64, pattern=r"^([0-9a-f]{64})?$")] = Field(
        default="", alias="tokenSHA256", description="SHA-256 of the pod's token at the Go module gateway."
    )
    go_policy: GoPolicy | None = Field(
        default=None, description="What that gateway refuses the pod: the validation's goPolicy and the episode's own."
    )
    base: Annotated[str, Field(max_length=64)] = Field(
        default="", description="Commit without history that the work tree starts from."
    )
    started_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the sandbox was ready for its first call."
    )
    last_used_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the last call or ping came, as of the last look."
    )


class ToolCalls(Resource):
    """Use of the sandbox."""

    count: Annotated[int, Field(ge=0)] = Field(default=0, description="Tool calls that ran.")
    seconds: Annotated[float, Field(ge=0)] = Field(default=0.0, description="Time that they took together.")


class Egress(Resource):
    """Requests to the Go module gateway."""

    requests: Annotated[int, Field(ge=0)] = Field(default=0, description="Requests.")
    denied: Annotated[int, Field(ge=0)] = Field(default=0, description="Of them refused.")
    bytes: Annotated[int, Field(ge=0)] = Field(default=0, description="Bytes served.")
    modules: Annotated[int, Field(ge=0)] = Field(default=0, description="Different modules served.")


class AgentStatus(Resource):
    """The agent's pod."""

    pod: Annotated[str, Field(max_length=253)] = Field(default="", description="Name of the pod.")
    exit_code: int | None = Field(default=None, description="Exit code of the agent, once it has ended.")
    reason: Annotated[str, Field(max_length=200)] = Field(default="", description="Why it ended, where it says so.")


class AgentEpisodeStatus(Resource):
    """What the operator found; written by it alone.  Never holds the name of a test that the agent must not know."""

    phase: EpisodePhase = Field(
        default=EpisodePhase.PENDING,
        description="Pending, Ready, Grading, Finished, Expired, Cancelled or Failed (infrastructure; no reward).",
    )
    reward: float | None = Field(default=None, description="Reward of a finished episode; absent for any other.")
    resolved: bool | None = Field(default=None, description="Whether the graded submission solves the task.")
    reason: Annotated[str, Field(max_length=100)] = Field(default="", description="Leading reason, CamelCase.")
    message: Annotated[str, Field(max_length=2_000)] = Field(default="", description="The reason in a sentence.")
    endpoint: Annotated[str, Field(max_length=500)] = Field(
        default="", description="Address of the sandbox's witness, for gateways."
    )
    image: ImageStatus = Field(default=ImageStatus(), description="The bits that ran.")
    sandbox: SandboxStatus = Field(default=SandboxStatus(), description="The pod that the agent works in.")
    agent: AgentStatus = Field(default=AgentStatus(), description="The agent's pod.")
    tool_calls: ToolCalls = Field(default=ToolCalls(), description="Use of the sandbox.")
    egress: Egress = Field(default=Egress(), description="Requests to the Go module gateway.")
    submissions: Annotated[tuple[SubmissionStatus, ...], Field(max_length=MAX_SUBMISSIONS)] = Field(
        default=(), description="Submissions, in order."
    )
    faults: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Sandboxes lost to the infrastructure before one was ready."
    )
    started_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When the operator took the episode up."
    )
    completed_at: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="When it ended."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra=LIST_BY_TYPE)] = Field(
        default=(),
        description="Accepted, ImageResolved, NetworkIsolationVerified, SandboxReady, Complete, Resolved, EgressCounted.",
    )
    observed_generation: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Generation that this status speaks of."
    )


class AgentEpisode(Resource):
    """An agent, or a given prediction, working on a task; ends with a reward."""

    api_version: str = API_VERSION
    kind: Literal["AgentEpisode"] = "AgentEpisode"
    metadata: ObjectMeta = ObjectMeta()
    spec: AgentEpisodeSpec = Field(description="Which task, who works on it and under which limits.")
    status: AgentEpisodeStatus = Field(default=AgentEpisodeStatus(), description="What the operator found.")
