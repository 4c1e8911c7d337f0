"""DirtyImage: the work tree in the image is not the base commit, so that no patch says what it seems to say."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named, of_runs
from assay.domain.verdict import Reason


def dirty_image(facts: Facts) -> Finding | None:
    """Condemn a task whose image holds changed files before any patch."""
    runs = facts.ended_as(OutcomeKind.DIRTY_IMAGE)
    if not runs:
        return None
    paths = sorted({path for outcome in runs for path in outcome.dirty_paths})
    shown = f" ({counted(len(paths), 'path')} shown: {named(paths)})" if paths else ""
    return Finding(
        reason=Reason.DIRTY_IMAGE, message=f"the image's work tree differs from its commit: {of_runs(runs)}{shown}"
    )
