"""OutOfMemory: the memory limit decided what the tests said.

The patched state must live within the limit.  An unpatched run may die of a target that takes all memory on the base,
as long as every other test can still be told (see ``facts``).
"""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.plan import RunKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def out_of_memory(facts: Facts) -> Finding | None:
    """Condemn a task with a run whose tests cannot be told because memory ran out."""
    return _finding([outcome for outcome in facts.cut if ran_out(outcome)])


def surely_out_of_memory(facts: Facts) -> Finding | None:
    """Condemn early: a patched run ran out of memory, or an unpatched one before it had any result."""
    return _finding([run for run in facts.cut if ran_out(run) and (run.run.kind is RunKind.PATCHED or not run.results)])


def ran_out(outcome: RunOutcome) -> bool:
    """Whether the kernel ended a process of the run at the memory limit."""
    return outcome.kind is OutcomeKind.OUT_OF_MEMORY or outcome.oom_kills > 0


def _finding(runs: list[RunOutcome]) -> Finding | None:
    if not runs:
        return None
    return Finding(
        reason=Reason.OUT_OF_MEMORY,
        message=f"memory ran out and the tests' results cannot be told: {of_runs(runs)}",
    )
