"""TargetTestsPassUnpatched: a target that does not fail without the reference patch shows nothing of the patch."""

from __future__ import annotations

from assay.domain.profiles import Standing
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named, sentence
from assay.domain.verdict import Reason


def target_tests_pass_unpatched(facts: Facts) -> Finding | None:
    """Condemn a task with declared targets that pass, or are skipped, in every unpatched run."""
    passing = _always(facts, Standing.PASS)
    skipped = _always(facts, Standing.SKIP)
    if not passing and not skipped:
        return None
    count = counted(len(passing) + len(skipped), "target test", of=len(facts.targets))
    message = sentence(
        (
            f"{len(passing)} passed: {named(passing)}" if passing else "",
            f"{len(skipped)} skipped: {named(skipped)}" if skipped else "",
        )
    )
    return Finding(
        reason=Reason.TARGET_TESTS_PASS_UNPATCHED,
        message=f"{count} did not fail without the reference patch: {message}",
    )


def all_targets_pass_unpatched(facts: Facts) -> Finding | None:
    """Condemn early: every declared target passes in the unpatched runs so far, so none can fail in every one."""
    passing = _always(facts, Standing.PASS)
    return target_tests_pass_unpatched(facts) if passing and len(passing) == len(facts.targets) else None


def _always(facts: Facts, standing: Standing) -> list[str]:
    keys = (key for key in facts.targets if set(facts.vectors[key].unpatched) == {standing})
    return facts.names(keys)
