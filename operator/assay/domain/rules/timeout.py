"""TestTimeout: the deadline decided what the tests said.

The patched state must end in time.  An unpatched run may hang in a target that loops for ever on the base, as long as
every other test can still be told (see ``facts``).
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.plan import RunKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def test_timeout(facts: Facts) -> Finding | None:
    """Condemn a task with a run whose tests cannot be told because it was ended at the deadline."""
    return _finding([run for run in facts.cut if run.kind is OutcomeKind.TEST_TIMEOUT])


def surely_test_timeout(facts: Facts) -> Finding | None:
    """Condemn early: a patched run was ended at the deadline, or an unpatched one before it had any result."""
    late = [run for run in facts.cut if run.kind is OutcomeKind.TEST_TIMEOUT]
    return _finding([run for run in late if run.run.kind is RunKind.PATCHED or not run.results])


def told_by_the_rest(facts: Facts) -> Finding | None:
    """Note the unpatched runs that a limit ended in a target and that tell all other tests."""
    if not facts.told:
        return None
    message = f"ended by a limit, which counts as a failure of the tests without a result: {of_runs(facts.told)}"
    late = any(run.kind is OutcomeKind.TEST_TIMEOUT for run in facts.told)
    return Finding(reason=Reason.TEST_TIMEOUT if late else Reason.OUT_OF_MEMORY, message=message, kind=None)


def _finding(runs: Sequence[RunOutcome]) -> Finding | None:
    if not runs:
        return None
    return Finding(
        reason=Reason.TEST_TIMEOUT,
        message=f"the test deadline passed and the tests' results cannot be told: {of_runs(runs)}",
    )
