"""What the operator tells of runs, whatever kind of object they belong to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assay.api.base import Resource, Sha256


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
    queue_seconds: Annotated[float, Field(ge=0)] = Field(default=0.0, description="Wait of the pod for a node.")
    start_seconds: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Time from the pod's placement to the start of the task's container: pulls, mostly."
    )
    log: Artifact | None = Field(default=None, description="Complete log of the run.")
    results: Artifact | None = Field(default=None, description="Outcome of each test, JSON.")
    counts: Counts = Field(default=Counts(), description="Tests by outcome.")
    isolation: Isolation | None = Field(
        default=None, description="What the witness saw of the network; absent where a status had to be shortened."
    )
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
