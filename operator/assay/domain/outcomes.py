"""What one run said: the types that evidence becomes and verdicts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.domain.inspection import Inspection
from assay.domain.plan import Run


class OutcomeKind(StrEnum):
    """How a run with complete evidence ended; each is a fact about the task, never about the cluster."""

    FINISHED = "Finished"
    TEST_TIMEOUT = "TestTimeout"
    OUT_OF_MEMORY = "OutOfMemory"
    TEST_PATCH_DOES_NOT_APPLY = "TestPatchDoesNotApply"
    PATCH_DOES_NOT_APPLY = "PatchDoesNotApply"
    DIRTY_IMAGE = "DirtyImage"
    SETUP_FAILED = "SetupFailed"
    PARSE_FAILED = "ParseFailed"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    PLATFORM_MISMATCH = "PlatformMismatch"


class BasePlace(StrEnum):
    """Where a task's base commit lies in its image, as ``job_templates/git.sh`` tells it."""

    UNKNOWN = ""
    HEAD = "head"
    ANCESTOR = "ancestor"
    OTHER = "other"
    ABSENT = "absent"


class FaultKind(StrEnum):
    """Why an attempt was lost to the infrastructure; each costs an attempt, never a verdict."""

    DISRUPTED = "Disrupted"
    NODE_LOST = "NodeLost"
    POD_VANISHED = "PodVanished"
    EVIDENCE_INCOMPLETE = "EvidenceIncomplete"
    ISOLATION_UNAVAILABLE = "IsolationUnavailable"
    ISOLATION_LEAK = "IsolationLeak"
    WITNESS_FAILED = "WitnessFailed"
    PULL_TIMEOUT = "PullTimeout"
    QUEUE_TIMEOUT = "QueueTimeout"
    SETUP_TIMEOUT = "SetupTimeout"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    START_FAILED = "StartFailed"
    IMAGE_MISMATCH = "ImageMismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A stored file: where, and what its bytes are."""

    uri: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """One test command of a run."""

    exit_code: int
    seconds: float
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What the witness saw of the network."""

    targets: int = 0
    samples: int = 0
    leaks: int = 0
    gate_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """One run with complete evidence.

    ``results`` maps a test's name to its status word, as the task's parser reads it; one that the log shows to pass and
    to fail is FAILED, and among ``contradicted``.  ``network_hints`` are excerpts
    of the log that look like a refused connection or a failed look-up.  ``truncated``: the log's middle is missing.
    ``inspection`` is what an inspection run told, None for any other.  ``queue_seconds``: the wait of the pod for a node,
    ``start_seconds``: from there to the start of the task's container, with the pulls of both images.
    """

    run: Run
    attempt: int
    kind: OutcomeKind
    message: str = ""
    commands: tuple[CommandResult, ...] = ()
    results: Mapping[str, str] = field(default_factory=dict)
    contradicted: tuple[str, ...] = ()
    oom_kills: int = 0
    truncated: bool = False
    network_hints: tuple[str, ...] = ()
    dirty_paths: tuple[str, ...] = ()
    base: BasePlace = BasePlace.UNKNOWN
    isolation: Isolation = Isolation()
    inspection: Inspection | None = None
    image_id: str = ""
    queue_seconds: float = 0.0
    start_seconds: float = 0.0
    log: Artifact | None = None
    results_artifact: Artifact | None = None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the first command that failed, 0 when none did, None when none ran."""
        codes = [command.exit_code for command in self.commands]
        return next((code for code in codes if code), 0) if codes else None
