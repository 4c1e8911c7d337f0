"""What each test is: exactly one class a test, with its counts as evidence, and the lists made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The class of a test, and why in a sentence."""

    kind: TestClass
    evidence: str


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


def classes_of(facts: Facts) -> Mapping[str, Classified]:
    """Return the class of every test that a run or a declared list names, by key."""
    return {key: _class_of(key, vector, facts) for key, vector in facts.vectors.items()}


def lists_of(facts: Facts) -> TestLists:
    """Return the verdict's lists; together they hold every name, none twice."""
    members: dict[TestClass, list[str]] = {kind: [] for kind in TestClass}
    evidence: dict[str, str] = {}
    for key, classified in classes_of(facts).items():
        members[classified.kind].append(key)
        evidence[facts.shown[key]] = classified.evidence
    f2p = members[TestClass.FAIL_TO_PASS]
    fresh = [key for key in f2p if Standing.PASS not in facts.vectors[key].pristine]
    has_pristine = any(vector.pristine for vector in facts.vectors.values())
    return TestLists(
        fail_to_pass=tuple(facts.names(f2p)),
        pass_to_pass=tuple(facts.names(members[TestClass.PASS_TO_PASS])),
        flaky=tuple((name, evidence[name]) for name in facts.names(members[TestClass.FLAKY])),
        unstable=tuple(facts.names(members[TestClass.UNSTABLE])),
        excluded=tuple((name, evidence[name]) for name in facts.names(members[TestClass.EXCLUDED])),
        new_targets=tuple(facts.names(fresh)) if has_pristine else None,
    )


def is_flaky(vector: Vector) -> bool:
    """Whether runs of one state disagree; to be there in one and not in another is a disagreement."""
    return any(len(set(standings)) > 1 for _, standings in vector.states)


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


def _class_of(key: str, vector: Vector, facts: Facts) -> Classified:
    declared = key in facts.targets or key in facts.declared_p2p
    if is_unstable(vector) and not declared:
        return Classified(kind=TestClass.UNSTABLE, evidence=counts_in(vector))
    if is_flaky(vector):
        return Classified(kind=TestClass.FLAKY, evidence=counts_in(vector))
    if not vector.unpatched or not vector.patched:
        return Classified(kind=TestClass.EXCLUDED, evidence="no complete run of both states names it")
    before, after = vector.unpatched[0], vector.patched[0]
    if before is after is Standing.PASS:
        return Classified(kind=TestClass.PASS_TO_PASS, evidence=counts_in(vector))
    is_target = before in FAILS_BEFORE and after is Standing.PASS
    if is_target and (not facts.targets or key in facts.targets):
        return Classified(kind=TestClass.FAIL_TO_PASS, evidence=counts_in(vector))
    undeclared = ", but is not a declared target" if is_target else ""
    return Classified(
        kind=TestClass.EXCLUDED, evidence=f"{BEFORE[before]}, {AFTER[after]}{undeclared}: {counts_in(vector)}"
    )
