"""PatchDoesNotApply: the reference patch is not for this base with its test patch."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def patch_does_not_apply(facts: Facts) -> Finding | None:
    """Condemn a task whose reference patch git refuses on top of the test patch."""
    runs = facts.ended_as(OutcomeKind.PATCH_DOES_NOT_APPLY)
    if not runs:
        return None
    return Finding(
        reason=Reason.PATCH_DOES_NOT_APPLY,
        message=f"the reference patch does not apply after the test patch: {of_runs(runs)}",
    )
