"""A submission's run -> its grade, by a profile's rules: a reward, or a reason why nothing was graded.

*Graded* (a reward, final) and *not graded* (no reward) are different things everywhere.  What the submission did is
graded; what the clock, the memory limit, the cluster or the task's own image did is not.  The names, the status words and
the credits are those of ``assay.domain.profiles`` and ``assay.domain.rules``: gold over a validated task resolves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.profiles import Credit, ExitCodeRule, NameRule, Profile, Standing
from assay.domain.rules.facts import observed_of, with_cut_names
from assay.domain.rules.finding import counted, printable
from assay.domain.rules.spelling import key_of


class RewardMode(StrEnum):
    """How a graded submission's reward is made."""

    BINARY = "Binary"
    PARTIAL = "Partial"


class GradeReason(StrEnum):
    """Leading reason of a grade; those from TEST_TIMEOUT on carry no reward."""

    RESOLVED = "Resolved"
    TESTS_FAIL = "TestsFail"
    TESTS_DID_NOT_RUN = "TestsDidNotRun"
    EXTRA_PASSING_TESTS = "ExtraPassingTests"
    EXIT_CODE_CONTRADICTS = "ExitCodeContradictsResults"
    PATCH_DOES_NOT_APPLY = "PatchDoesNotApply"
    PATCH_REFUSED = "PatchRefused"
    NOTHING_SUBMITTED = "NothingSubmitted"
    TEST_TIMEOUT = "TestTimeout"
    OUT_OF_MEMORY = "OutOfMemory"
    EVIDENCE_INCOMPLETE = "EvidenceIncomplete"
    INFRASTRUCTURE = "Infrastructure"
    PARSE_FAILED = "ParseFailed"
    SETUP_FAILED = "SetupFailed"
    DIRTY_IMAGE = "DirtyImage"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    PLATFORM_MISMATCH = "PlatformMismatch"
    TEST_PATCH_DOES_NOT_APPLY = "TestPatchDoesNotApply"
    CANCELLED = "Cancelled"


NOT_GRADED = {
    OutcomeKind.TEST_TIMEOUT: GradeReason.TEST_TIMEOUT,
    OutcomeKind.OUT_OF_MEMORY: GradeReason.OUT_OF_MEMORY,
    OutcomeKind.PARSE_FAILED: GradeReason.PARSE_FAILED,
    OutcomeKind.SETUP_FAILED: GradeReason.SETUP_FAILED,
    OutcomeKind.DIRTY_IMAGE: GradeReason.DIRTY_IMAGE,
    OutcomeKind.IMAGE_UNAVAILABLE: GradeReason.IMAGE_UNAVAILABLE,
    OutcomeKind.PLATFORM_MISMATCH: GradeReason.PLATFORM_MISMATCH,
    OutcomeKind.TEST_PATCH_DOES_NOT_APPLY: GradeReason.TEST_PATCH_DOES_NOT_APPLY,
}
"""How a run ends that says nothing of the submission."""
WHAT_HAPPENED = {
    OutcomeKind.TEST_TIMEOUT: "past the deadline nothing is graded",
    OutcomeKind.TEST_PATCH_DOES_NOT_APPLY: "the test patch does not apply to the image",
    OutcomeKind.PARSE_FAILED: "the parser cannot read the log",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a grade is made against: the lists, and what a validation knows besides.

    ``tolerated`` are names in neither list whose passing means nothing (flaky ones, say).  ``reference_exits`` are the
    exit codes of the reference patch's own runs, each with whether a test failed there: a contradiction between exit
    code and results that is the task's own is none of the submission's.  ``shared``: the reference patch and the test
    patch touch a path in common, so that a submission can keep the test patch from applying.
    """

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    tolerated: frozenset[str] = frozenset()
    reference_exits: frozenset[tuple[int, bool]] = frozenset()
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTest:
    """One listed test: what the run says of it, and what the profile makes of that."""

    name: str
    standing: Standing
    credit: Credit


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedList:
    """One list's tests, and what an empty one counts as."""

    tests: tuple[ListedTest, ...] = ()
    empty: Credit = Credit.SUCCESS

    @property
    def total(self) -> int:
        """Tests in the denominator."""
        return sum(test.credit is not Credit.LEFT_OUT for test in self.tests)

    @property
    def passed(self) -> int:
        """Tests that count as passed."""
        return sum(test.credit is Credit.SUCCESS for test in self.tests)

    @property
    def complete(self) -> bool:
        """Whether every test of the list counts as passed."""
        return self.passed == self.total and (bool(self.tests) or self.empty is not Credit.FAILURE)

    @property
    def failing(self) -> tuple[str, ...]:
        """Names of the tests that count as failed."""
        return tuple(test.name for test in self.tests if test.credit is Credit.FAILURE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A grade; ``reward`` and ``resolved`` are None when nothing was graded.  ``notes`` are facts that did not lead."""

    reason: GradeReason
    message: str
    reward: float | None = None
    resolved: bool | None = None
    fail_to_pass: GradedList = GradedList()
    pass_to_pass: GradedList = GradedList()
    notes: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether there is a reward."""
        return self.reward is not None


def failed_grade(reason: GradeReason, message: str) -> Grade:
    """Return the grade 0 of a submission that was not run."""
    return Grade(reason=reason, message=message, reward=0.0, resolved=False)


def not_graded(reason: GradeReason, message: str) -> Grade:
    """Return a grade without a reward."""
    return Grade(reason=reason, message=message)


def grade_of(expected: Expectation, outcome: RunOutcome, profile: Profile, mode: RewardMode) -> Grade:
    """Return the grade of a grading run with complete evidence; its message names no test."""
    if outcome.kind is OutcomeKind.PATCH_DOES_NOT_APPLY:
        return failed_grade(GradeReason.PATCH_DOES_NOT_APPLY, _said("the submission does not apply", outcome))
    if outcome.kind is OutcomeKind.TEST_PATCH_DOES_NOT_APPLY and expected.shared:
        message = "the test patch does not apply after the submission"
        return failed_grade(GradeReason.PATCH_DOES_NOT_APPLY, message)
    if outcome.kind in NOT_GRADED:
        named_in_it = outcome.kind in (OutcomeKind.TEST_PATCH_DOES_NOT_APPLY, OutcomeKind.PARSE_FAILED)
        what = WHAT_HAPPENED.get(outcome.kind, "nothing was graded")
        return not_graded(NOT_GRADED[outcome.kind], what if named_in_it else _said(what, outcome))
    if outcome.truncated:
        message = "the log was larger than the limit and lost its middle, so results may be missing"
        return not_graded(GradeReason.EVIDENCE_INCOMPLETE, message)
    return _grade_of_results(expected, outcome, profile, mode)


def _grade_of_results(expected: Expectation, outcome: RunOutcome, profile: Profile, mode: RewardMode) -> Grade:
    observed = observed_of(outcome, profile)
    if NameRule.CUT_PARAMETERS in profile.names:
        declared = {*expected.fail_to_pass, *expected.pass_to_pass}
        observed = dict(with_cut_names(observed, declared, {outcome.run.name: observed}))
    targets = _graded_list(
        expected.fail_to_pass, observed, profile, (profile.f2p_skipped, profile.f2p_missing, profile.empty_f2p)
    )
    others = _graded_list(
        expected.pass_to_pass, observed, profile, (profile.p2p_skipped, profile.p2p_missing, profile.empty_p2p)
    )
    reason, message = _leading(expected, outcome, profile, observed, targets, others)
    if outcome.oom_kills and reason is not GradeReason.RESOLVED:
        return not_graded(GradeReason.OUT_OF_MEMORY, "the kernel ended processes of the run at its memory limit")
    resolved = reason is GradeReason.RESOLVED
    contradicts = _contradiction(expected, outcome, profile)
    return Grade(
        reason=reason,
        message=message,
        reward=_reward(mode, resolved, reason, targets, others),
        resolved=resolved,
        fail_to_pass=targets,
        pass_to_pass=others,
        notes=tuple(note for note in (contradicts, _doubts(outcome)) if note and note not in message),
    )


def _graded_list(
    names: Iterable[str], observed: Mapping[str, Standing], profile: Profile, credits_: tuple[Credit, Credit, Credit]
) -> GradedList:
    skipped, missing, empty = credits_
    credit = {
        Standing.PASS: Credit.SUCCESS,
        Standing.FAIL: Credit.FAILURE,
        Standing.SKIP: skipped,
        Standing.ABSENT: missing,
    }
    tests = []
    for name in names:
        standing = observed.get(name, observed.get(key_of(name, profile.names), Standing.ABSENT))
        tests.append(ListedTest(name=name, standing=standing, credit=credit[standing]))
    return GradedList(tests=tuple(tests), empty=empty)


def _leading(  # noqa: PLR0913, PLR0917 - the sources of one reason
    expected: Expectation,
    outcome: RunOutcome,
    profile: Profile,
    observed: Mapping[str, Standing],
    targets: GradedList,
    others: GradedList,
) -> tuple[GradeReason, str]:
    if not observed:
        code = "none" if outcome.exit_code is None else outcome.exit_code
        return GradeReason.TESTS_DID_NOT_RUN, f"no test has a result; exit code {code}"
    rates = f"{_rate(targets, 'fail-to-pass')} and {_rate(others, 'pass-to-pass')} passed"
    if not targets.complete or not others.complete:
        return GradeReason.TESTS_FAIL, rates
    extra = _extra(expected, observed, profile)
    if extra:
        message = f"{counted(len(extra), 'test')} in neither list passed, a mismatch under {profile.name}"
        return GradeReason.EXTRA_PASSING_TESTS, message
    contradiction = _contradiction(expected, outcome, profile)
    if contradiction and _decides(profile, outcome):
        return GradeReason.EXIT_CODE_CONTRADICTS, contradiction
    return GradeReason.RESOLVED, rates


def _rate(graded: GradedList, noun: str) -> str:
    return f"{graded.passed} of {counted(graded.total, f'{noun} test')}"


def _extra(expected: Expectation, observed: Mapping[str, Standing], profile: Profile) -> list[str]:
    if not profile.exact:
        return []
    known = {*expected.fail_to_pass, *expected.pass_to_pass, *expected.tolerated}
    keys = known | {key_of(name, profile.names) for name in known}
    return [name for name, standing in observed.items() if standing is Standing.PASS and name not in keys]


def _contradiction(expected: Expectation, outcome: RunOutcome, profile: Profile) -> str:
    """Return how the exit code contradicts the results; empty when it does not, or does so for the reference patch too.

    A command may hide failures: of those beside its code 0, a test that is known to flake says nothing.
    """
    code = outcome.exit_code or 0
    flaky = expected.tolerated | {key_of(name, profile.names) for name in expected.tolerated}
    failures = sum(
        profile.standing(word) is Standing.FAIL and (code != 0 or flaky.isdisjoint((name, key_of(name, profile.names))))
        for name, word in outcome.results.items()
    )
    if bool(code) == bool(failures) or (code, bool(failures)) in expected.reference_exits:
        return ""
    return (
        f"exit code {code} with {counted(failures, 'failed test')}"
        if failures
        else f"exit code {code} with no failed test"
    )


def _decides(profile: Profile, outcome: RunOutcome) -> bool:
    """Whether the profile lets a contradiction decide.  Any code above 0 agrees with a failed test: cargo says 101, make 2."""
    if profile.exit_code is ExitCodeRule.MUST_AGREE:
        return True
    return profile.exit_code is ExitCodeRule.NONZERO_NEEDS_FAILURE and bool(outcome.exit_code)


def _reward(mode: RewardMode, resolved: bool, reason: GradeReason, targets: GradedList, others: GradedList) -> float:
    """Return 1 or 0, or the mean of the lists' rates, each list of the same weight, one without tests of none."""
    if resolved or mode is RewardMode.BINARY:
        return float(resolved)
    if reason is not GradeReason.TESTS_FAIL:
        return 0.0
    rates = [graded.passed / graded.total for graded in (targets, others) if graded.total]
    return round(sum(rates) / len(rates), 6) if rates else 0.0


def _doubts(outcome: RunOutcome) -> str:
    count = len(outcome.contradicted)
    return f"{counted(count, 'test')} seen to pass and to fail in one log, counted as failed" if count else ""


def _said(what: str, outcome: RunOutcome) -> str:
    return f"{what}: {printable(outcome.message, 500)}" if outcome.message else what
