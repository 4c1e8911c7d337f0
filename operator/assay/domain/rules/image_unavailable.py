"""ImageUnavailable: the image cannot be had, so nothing can be shown."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def image_unavailable(facts: Facts) -> Finding | None:
    """Condemn a task whose image a run could not get."""
    runs = facts.ended_as(OutcomeKind.IMAGE_UNAVAILABLE)
    return (
        Finding(reason=Reason.IMAGE_UNAVAILABLE, message=f"the image cannot be pulled: {of_runs(runs)}")
        if runs
        else None
    )
