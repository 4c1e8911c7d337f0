"""What each test is: exactly one class a test, with its counts as evidence, and the lists made of them."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from assay.domain.profiles import Standing
from assay.domain.rules.facts import Facts, Vector
from assay.domain.verdict import TestLists


class TestClass(StrEnum):
    """What a test is."""

    __test__ = False  # not a test case of pytest

    FAIL_TO_PASS = "fail-to-pass"
    PASS_TO_PASS = "pass-to-pass"
    FLAKY = "flaky"
    UNSTABLE = "unstable"
    EXCLUDED = "excluded"


FAILS_BEFORE = (Standing.FAIL, Standing.ABSENT)
"""What a target is without the reference patch; absent, because code that does not compile has no tests."""

BEFORE = {
    Standing.PASS: "passes without the reference patch",
    Standing.FAIL: "fails without the reference patch",
    Standing.SKIP: "is skipped without the reference patch",
    Standing.ABSENT: "is missing without the reference patch",
}
AFTER = {
    Standing.PASS: "passes with it",
    Standing.FAIL: "fails with it",
    Standing.SKIP: "is skipped with it",
    Standing.ABSENT: "is missing with it",
}


def lists_of(facts: Facts) -> TestLists:
    """Return the verdict's lists; together they hold every name, none twice."""
    members: dict[TestClass, list[str]] = {kind: [] for kind in TestClass}
    for key in facts.vectors:
        members[class_of(key, facts)].append(key)
    f2p = members[TestClass.FAIL_TO_PASS]
    fresh = [key for key in f2p if Standing.PASS not in facts.vectors[key].pristine]
    has_pristine = any(vector.pristine for vector in facts.vectors.values())
    return TestLists(
        fail_to_pass=tuple(facts.names(f2p)),
        pass_to_pass=tuple(facts.names(members[TestClass.PASS_TO_PASS])),
        flaky=_with_evidence(members[TestClass.FLAKY], facts),
        unstable=tuple(facts.names(members[TestClass.UNSTABLE])),
        excluded=_with_evidence(members[TestClass.EXCLUDED], facts),
        new_targets=tuple(facts.names(fresh)) if has_pristine else None,
    )


def class_of(key: str, facts: Facts) -> TestClass:
    """Return the one class of a test that a run or a declared list names."""
    vector = facts.vectors[key]
    if is_flaky(vector):
        declared = key in facts.targets or key in facts.declared_p2p
        return TestClass.UNSTABLE if is_unstable(vector) and not declared else TestClass.FLAKY
    if not vector.unpatched or not vector.patched:
        return TestClass.EXCLUDED
    if vector.unpatched[0] is vector.patched[0] is Standing.PASS:
        return TestClass.PASS_TO_PASS
    is_target = not facts.targets or key in facts.targets
    return TestClass.FAIL_TO_PASS if is_target and _is_fixed(vector) else TestClass.EXCLUDED


def evidence_of(key: str, facts: Facts) -> str:
    """Return why a test is in no list, in a sentence with its counts; of a flaky one the counts alone."""
    vector = facts.vectors[key]
    if is_flaky(vector):
        return counts_in(vector)
    if not vector.unpatched or not vector.patched:
        return "no complete run of both states names it"
    undeclared = ", but is not a declared target" if _is_fixed(vector) else ""
    return f"{BEFORE[vector.unpatched[0]]}, {AFTER[vector.patched[0]]}{undeclared}: {counts_in(vector)}"


def is_flaky(vector: Vector) -> bool:
    """Whether runs of one state disagree; to be there in one and not in another is a disagreement."""
    return _differs(vector.unpatched) or _differs(vector.patched) or _differs(vector.pristine)


def is_unstable(vector: Vector) -> bool:
    """Whether the name was seen in one single run of all, while another run of the same state lacks it.

    Without that other run (one patched run, say) nothing speaks against the name: it may be a target's.
    """
    seen = [len(standings) for _, standings in vector.states for one in standings if one is not Standing.ABSENT]
    return len(seen) == 1 and seen[0] > 1


def counts_in(vector: Vector) -> str:
    """Return the counts of a test: ``unpatched 1/3 passed, 2/3 failed; patched 2/2 passed``."""
    states = []
    for state, standings in vector.states:
        counts = Counter(standings)
        shown = [f"{counts[standing]}/{len(standings)} {standing}" for standing in Standing if counts[standing]]
        states += [f"{state} {', '.join(shown)}"] if shown else []
    return "; ".join(states)


def _differs(standings: tuple[Standing, ...]) -> bool:
    return standings.count(standings[0]) < len(standings) if standings else False


def _is_fixed(vector: Vector) -> bool:
    return vector.unpatched[0] in FAILS_BEFORE and vector.patched[0] is Standing.PASS


def _with_evidence(keys: list[str], facts: Facts) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((facts.shown[key], evidence_of(key, facts)) for key in keys))
