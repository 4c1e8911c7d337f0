"""PassToPassRegression: the reference patch breaks a test that passed without it."""

from __future__ import annotations

from assay.domain.profiles import Credit, Profile, Standing
from assay.domain.rules.classes import is_flaky
from assay.domain.rules.facts import Facts, Vector
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.verdict import Reason


def pass_to_pass_regression(facts: Facts) -> Finding | None:
    """Condemn a task with a test that passes in every unpatched run and fails in every patched one.

    With a declared list its tests alone are looked at, and the profile says whether skipped or missing is a failure;
    without one, every test is, and only a failure counts: a name may vanish for good reasons.
    """
    broken = regressions_of(facts)
    if not broken:
        return None
    of_list = f"declared {counted(len(broken), 'pass-to-pass test', of=len(facts.declared_p2p))}"
    count = of_list if facts.declared_p2p else counted(len(broken), "test")
    return Finding(
        reason=Reason.PASS_TO_PASS_REGRESSION,
        message=f"{count} passed without the reference patch and did not pass with it: {named(facts.names(broken))}",
    )


def regressions_of(facts: Facts) -> list[str]:
    """Return the keys of the tests that the reference patch breaks."""
    keys = facts.declared_p2p or facts.vectors.keys()
    return [key for key in sorted(keys) if _is_broken(facts.vectors[key], facts.profile, bool(facts.declared_p2p))]


def _is_broken(vector: Vector, profile: Profile, declared: bool) -> bool:
    if is_flaky(vector) or not vector.unpatched or not vector.patched or vector.unpatched[0] is not Standing.PASS:
        return False
    after = vector.patched[0]
    if declared and after is Standing.SKIP:
        return profile.p2p_skipped is Credit.FAILURE
    if declared and after is Standing.ABSENT:
        return profile.p2p_missing is Credit.FAILURE
    return after is Standing.FAIL
