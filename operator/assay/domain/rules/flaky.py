"""TargetTestsFlaky: runs of one state disagree on a target."""

from __future__ import annotations

from assay.domain.rules.classes import counts_in, is_flaky
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.verdict import Reason


def target_tests_flaky(facts: Facts) -> Finding | None:
    """Condemn a task with a declared target on which repeated runs of one state disagree."""
    flaky = sorted(key for key in facts.targets if is_flaky(facts.vectors[key]))
    if not flaky:
        return None
    count = counted(len(flaky), "target test", of=len(facts.targets))
    names = facts.names(flaky)
    first = min(flaky, key=lambda key: facts.shown[key])
    return Finding(
        reason=Reason.TARGET_TESTS_FLAKY,
        message=f"{count} differed between runs of one state: {named(names)} ({counts_in(facts.vectors[first])})",
    )
