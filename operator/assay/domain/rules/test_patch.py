"""TestPatchDoesNotApply: the test patch is not for this base."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def test_patch_does_not_apply(facts: Facts) -> Finding | None:
    """Condemn a task whose test patch git refuses."""
    runs = facts.ended_as(OutcomeKind.TEST_PATCH_DOES_NOT_APPLY)
    if not runs:
        return None
    return Finding(
        reason=Reason.TEST_PATCH_DOES_NOT_APPLY, message=f"the test patch does not apply to the base: {of_runs(runs)}"
    )
