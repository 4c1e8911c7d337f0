"""PlatformMismatch: the image is for another operating system or architecture."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def platform_mismatch(facts: Facts) -> Finding | None:
    """Condemn a task whose image does not run on the cluster's platform."""
    runs = facts.ended_as(OutcomeKind.PLATFORM_MISMATCH)
    if not runs:
        return None
    return Finding(reason=Reason.PLATFORM_MISMATCH, message=f"the image is for another platform: {of_runs(runs)}")
