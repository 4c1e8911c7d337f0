"""Which runs decide a task, in which order, with which patches: a pure function of the spec."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.api import v1alpha1
from assay.domain.task import Limits


class RunKind(StrEnum):
    """The state of the work tree that a run tests."""

    PRISTINE = "pristine"
    UNPATCHED = "unpatched"
    PATCHED = "patched"
    GRADED = "graded"
    INSPECT = "inspect"


class PatchName(StrEnum):
    """The patches of a task, named as the files that a pod mounts."""

    TEST = "test"
    REFERENCE = "reference"
    SUBMISSION = "submission"


PATCHES = {
    RunKind.PRISTINE: (),
    RunKind.UNPATCHED: (PatchName.TEST,),
    RunKind.PATCHED: (PatchName.TEST, PatchName.REFERENCE),
    RunKind.GRADED: (PatchName.SUBMISSION, PatchName.TEST),
    RunKind.INSPECT: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of the task's test commands in one fresh pod."""

    kind: RunKind
    number: int

    @property
    def name(self) -> str:
        """The run's name in status, labels and logs, for example ``unpatched-1``."""
        return f"{self.kind}-{self.number}"

    @property
    def patches(self) -> tuple[PatchName, ...]:
        """The patches applied before the test commands, in order."""
        return PATCHES[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The runs of an object: ``first`` alone (it pins the image and may condemn), then ``rest`` side by side."""

    first: Run
    rest: tuple[Run, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs in order."""
        return (self.first, *self.rest)


INSPECTING = frozenset({v1alpha1.Check.MODULE_CACHE, v1alpha1.Check.FUTURE_HISTORY})
"""Checks that look into the image, in a run of their own."""
INSPECT_SECONDS = 600
"""Least deadline of a look into an image, whatever the task's own tests may take."""
GO_OFFLINE_RUNS = 2
"""Patched runs that GoOffline asks for."""


def plan_runs(runs: v1alpha1.Runs, checks: Collection[v1alpha1.Check] = ()) -> RunPlan:
    """Return the plan: unpatched first, then the inspection, the other unpatched, the pristine and the patched runs."""
    unpatched = [Run(kind=RunKind.UNPATCHED, number=number + 1) for number in range(runs.unpatched)]
    pristine = [Run(kind=RunKind.PRISTINE, number=number + 1) for number in range(runs.pristine)]
    times = max(runs.patched, GO_OFFLINE_RUNS) if v1alpha1.Check.GO_OFFLINE in checks else runs.patched
    patched = [Run(kind=RunKind.PATCHED, number=number + 1) for number in range(times)]
    inspection = [Run(kind=RunKind.INSPECT, number=1)] if INSPECTING & set(checks) else []
    return RunPlan(first=unpatched[0], rest=(*inspection, *unpatched[1:], *pristine, *patched))


def limits_of_run(run: Run, limits: Limits) -> Limits:
    """Return a run's limits: a look into the image has its own least deadline."""
    if run.kind is not RunKind.INSPECT:
        return limits
    return replace(limits, test=max(limits.test, INSPECT_SECONDS))


def plan_grading(number: int = 1) -> RunPlan:
    """Return the plan of one submission: its one grading run."""
    return RunPlan(first=Run(kind=RunKind.GRADED, number=number), rest=())


def epoch_of(spec: v1alpha1.TaskValidationSpec) -> str:
    """Return a short hash of what a spec says about runs.

    It stands for the generation, which also counts changes of ``suspend`` and ``priority``: those make no run new,
    and neither does where a task came from, what was decided on its statement or is refused to its episodes, which no
    run sees, or a regrade.
    """
    beside = {"suspend", "priority", "provenance", "statement_review", "go_policy", "regrade"}
    said = spec.model_dump_json(by_alias=True, exclude=beside)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def pod_name(*, uid: str, epoch: str, run: str, attempt: int) -> str:
    """Return the one name that the pod of an attempt can have: a second creation is a conflict, never a second pod."""
    digest = hashlib.sha256(f"{uid}/{epoch}/{run}/{attempt}".encode()).hexdigest()
    return f"assay-{run}-{digest[:24]}"
