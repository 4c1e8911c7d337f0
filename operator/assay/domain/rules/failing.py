"""TargetTestsFailPatched: the reference patch does not make its own targets pass."""

from __future__ import annotations

from collections import Counter

from assay.domain.profiles import Standing
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.verdict import Reason


def target_tests_fail_patched(facts: Facts) -> Finding | None:
    """Condemn a task with declared targets that no patched run passes: failed, skipped and missing alike."""
    failing = [key for key in facts.targets if _never_passes(facts.vectors[key].patched)]
    if not failing:
        return None
    counts = Counter(facts.vectors[key].patched[0] for key in failing)
    shares = ", ".join(f"{counts[standing]} {standing}" for standing in Standing if counts[standing])
    count = counted(len(failing), "target test", of=len(facts.targets))
    return Finding(
        reason=Reason.TARGET_TESTS_FAIL_PATCHED,
        message=f"{count} did not pass with the reference patch ({shares}): {named(facts.names(failing))}",
    )


def _never_passes(patched: tuple[Standing, ...]) -> bool:
    return bool(patched) and Standing.PASS not in patched
