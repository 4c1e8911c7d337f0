"""NoTargetTests: nothing was declared, and no test fails without the reference patch and passes with it."""

from __future__ import annotations

from assay.domain.profiles import Standing
from assay.domain.rules.classes import FAILS_BEFORE, TestClass, class_of
from assay.domain.rules.facts import Facts, Vector
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.verdict import Reason


def no_target_tests(facts: Facts) -> Finding | None:
    """Condemn a task without declared targets from whose runs none can be derived.

    When the only candidates pass in some patched runs and not in others, flakiness is the better word.
    """
    if facts.targets:
        return None
    kinds = [class_of(key, facts) for key in facts.vectors]
    if TestClass.FAIL_TO_PASS in kinds:
        return None
    candidates = facts.names(key for key, vector in facts.vectors.items() if _almost(vector))
    if candidates:
        message = f"{counted(len(candidates), 'test')} passed in some patched runs only: {named(candidates)}"
        return Finding(reason=Reason.TARGET_TESTS_FLAKY, message=f"no stable target test: {message}")
    passing = kinds.count(TestClass.PASS_TO_PASS)
    return Finding(
        reason=Reason.NO_TARGET_TESTS,
        message="no test fails in every unpatched run and passes in every patched run: "
        f"{counted(len(kinds), 'test')}, {passing} of them passed in every run",
    )


def _almost(vector: Vector) -> bool:
    """Whether a test fails in every unpatched run and passes in some of the patched ones."""
    failed = bool(vector.unpatched) and all(standing in FAILS_BEFORE for standing in vector.unpatched)
    return failed and Standing.PASS in vector.patched
