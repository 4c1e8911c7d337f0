"""A log that was larger than the limit has lost its middle: what it lacks may have been said there.

Its run is no evidence for or against a test, and another attempt would write as much: Inconclusive.
"""

from __future__ import annotations

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.plan import RunKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs
from assay.domain.verdict import Reason


def log_truncated(facts: Facts) -> Finding | None:
    """Withhold the verdict when an unpatched or patched run's log is not whole."""
    runs = [run for run in facts.of(RunKind.UNPATCHED, RunKind.PATCHED) if run.truncated]
    if not runs:
        return None
    return Finding(
        reason=Reason.INFRASTRUCTURE,
        message=f"the log was larger than the limit and lost its middle, so results may be missing: {of_runs(runs)}",
        kind=VerdictKind.INCONCLUSIVE,
    )
