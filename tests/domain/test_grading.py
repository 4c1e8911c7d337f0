"""Grades: what counts for a submission, what against it, and what is no grade at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.grading import Expectation, GradeReason, RewardMode, grade_of
from assay.domain.outcomes import OutcomeKind
from assay.domain.profiles import PROFILES
from builders import make_outcome

EXPECTED = Expectation(fail_to_pass=("f",), pass_to_pass=("p", "q"))
RUN = "graded-1"


def grade(outcome=None, *, profile="strict", expected=EXPECTED, mode=RewardMode.BINARY, **said):
    return grade_of(expected, outcome or make_outcome(RUN, **said), PROFILES[profile], mode)


ALL = ("f", "p", "q")
WORDS = {"f": "PASSED", "p": "PASSED", "q": "PASSED"}
# what a run says beside all passing -> who resolves it
CASES = {
    "all pass": ({}, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
    "a target fails": ({"f": "FAILED"}, ""),
    "a target ends in an error": ({"f": "ERROR"}, ""),
    "a target is missing": ({"f": None}, ""),
    "a target is skipped": ({"f": "SKIPPED"}, "swebench-v4"),
    "a target fails as expected": ({"f": "XFAIL"}, "swebench-v4 swebench-v5"),
    "a target passes unexpectedly": ({"f": "XPASS"}, ""),
    "a pass-to-pass test fails": ({"p": "FAILED"}, ""),
    "a pass-to-pass test is missing": ({"p": None}, "live"),
    "a pass-to-pass test is skipped": ({"p": "SKIPPED"}, "swebench-v4 swebench-v5 live"),
    "a test in neither list passes": ({"extra": "PASSED"}, "strict swebench-v4 swebench-v5 live pro"),
    "a test in neither list fails": ({"extra": "FAILED"}, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("said", "resolving"), CASES.values(), ids=CASES)
def test_each_profile_resolves_what_its_harness_does(said, resolving: str, profile: str):
    results = {name: word for name, word in (WORDS | said).items() if word}
    found = grade(results=results, profile=profile)
    assert (found.resolved, found.reward) == (profile in resolving.split(), float(profile in resolving.split()))
    assert found.reason in (
        (GradeReason.RESOLVED,) if found.resolved else (GradeReason.TESTS_FAIL, GradeReason.EXTRA_PASSING_TESTS)
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_an_empty_list_of_targets_resolves_where_its_harness_says_so(profile: str):
    found = grade(passed=["p"], profile=profile, expected=Expectation(fail_to_pass=(), pass_to_pass=("p",)))
    assert found.resolved == (profile != "strict")


EXITS = {
    "passed, 0": (ALL, (), 0, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
    "passed, 3": (ALL, (), 3, "rebench-v2 swebench-v4 live pro"),
    "unlisted failure, 1": (ALL, ("x",), 1, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
    "unlisted failure, cargo's 101": (ALL, ("x",), 101, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
    "unlisted failure, make's 2": (ALL, ("x",), 2, "strict rebench-v2 swebench-v4 swebench-v5 live pro"),
    "unlisted failure, 0": (ALL, ("x",), 0, "rebench-v2 swebench-v4 swebench-v5 live pro"),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("passed", "failed", "code", "resolving"), EXITS.values(), ids=EXITS)
def test_an_exit_code_that_contradicts_decides_where_the_profile_says_so(passed, failed, code, resolving, profile):
    found = grade(passed=passed, failed=failed, exit_code=code, profile=profile)
    assert found.resolved == (profile in resolving.split())
    if bool(code) != bool(failed):
        assert "exit code" in found.message or any("exit code" in note for note in found.notes)


def test_a_contradiction_that_the_reference_patch_shows_too_is_the_tasks_own():
    gate = Expectation(fail_to_pass=("f",), pass_to_pass=("p", "q"), reference_exits=frozenset({(5, False)}))
    assert grade(passed=ALL, exit_code=5, expected=gate).resolved
    assert not grade(passed=ALL, exit_code=3, expected=gate).resolved


def test_a_known_flaky_test_that_fails_under_a_command_that_hides_failures_contradicts_nothing():
    known = Expectation(fail_to_pass=("f",), pass_to_pass=("p", "q"), tolerated=frozenset({"flaky"}))
    assert grade(passed=ALL, failed=("flaky",), exit_code=0, expected=known).resolved
    assert grade(passed=ALL, failed=("flaky",), exit_code=1, expected=known).resolved
    assert not grade(passed=ALL, failed=("flaky", "other"), exit_code=0, expected=known).resolved


def test_a_name_that_validation_knows_as_flaky_is_no_mismatch():
    known = Expectation(fail_to_pass=("f",), pass_to_pass=("p", "q"), tolerated=frozenset({"flaky"}))
    assert grade(passed=(*ALL, "flaky"), profile="rebench-v2", expected=known).resolved
    assert grade(passed=(*ALL, "flaky"), profile="rebench-v2").reason is GradeReason.EXTRA_PASSING_TESTS


def test_timings_in_names_and_cut_parameters_match_where_the_profile_says_so():
    timed = Expectation(fail_to_pass=("opens (12 ms)",), pass_to_pass=())
    assert grade(passed=["opens (7 ms)"], profile="rebench-v2", expected=timed).resolved
    assert not grade(passed=["opens (7 ms)"], expected=timed).resolved
    cut = Expectation(fail_to_pass=("t[log(x",), pass_to_pass=())
    assert grade(passed=["t[log(x y)]", "t[log(x z)]"], profile="swebench-v5", expected=cut).resolved
    assert not grade(passed=["t[log(x y)]"], failed=["t[log(x z)]"], profile="swebench-v5", expected=cut).resolved


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


@pytest.mark.parametrize(("kind", "reason"), NOT_GRADED.items())
def test_what_says_nothing_of_the_submission_is_never_a_reward(kind: OutcomeKind, reason: GradeReason):
    found = grade(passed=ALL, kind=kind)
    assert (found.reason, found.reward, found.resolved, found.graded) == (reason, None, None, False)


def test_a_log_without_its_middle_is_not_graded():
    assert grade(passed=ALL, truncated=True).reason is GradeReason.EVIDENCE_INCOMPLETE


def test_memory_that_ran_out_excuses_missing_tests_but_takes_no_success_away():
    assert grade(passed=["f"], oom_kills=1).reason is GradeReason.OUT_OF_MEMORY
    assert grade(passed=ALL, oom_kills=1).resolved


def test_a_submission_that_does_not_apply_is_graded_zero():
    found = grade(kind=OutcomeKind.PATCH_DOES_NOT_APPLY, message="error: m.py: patch does not apply")
    assert (found.reason, found.reward) == (GradeReason.PATCH_DOES_NOT_APPLY, 0.0)
    assert "m.py" in found.message


def test_a_submission_that_breaks_a_file_it_shares_with_the_test_patch_is_graded_zero():
    shared = Expectation(fail_to_pass=("f",), pass_to_pass=(), shared=True)
    assert grade(kind=OutcomeKind.TEST_PATCH_DOES_NOT_APPLY, expected=shared).reward == 0.0


def test_a_run_without_results_is_graded_zero_with_its_exit_code():
    found = grade(exit_code=5)
    assert (found.reason, found.reward) == (GradeReason.TESTS_DID_NOT_RUN, 0.0)
    assert "exit code 5" in found.message


def test_partial_is_the_mean_of_both_rates_and_an_empty_list_has_no_weight():
    lists = Expectation(fail_to_pass=("a", "b"), pass_to_pass=("c", "d", "e", "g"))
    found = grade(passed=["a", "c", "d", "e"], failed=["b", "g"], expected=lists, mode=RewardMode.PARTIAL)
    assert (found.reward, found.resolved) == (0.625, False)
    only = Expectation(fail_to_pass=("a", "b"), pass_to_pass=())
    assert grade(passed=["a"], failed=["b"], expected=only, mode=RewardMode.PARTIAL).reward == 0.5


def test_partial_pays_nothing_for_a_contradiction():
    assert grade(passed=ALL, exit_code=3, mode=RewardMode.PARTIAL).reward == 0.0


WORD = st.sampled_from(["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"])
RESULTS = st.dictionaries(st.sampled_from([*ALL, "x", "y"]), WORD)


@given(results=RESULTS, profile=st.sampled_from(list(PROFILES)), code=st.sampled_from([0, 1, 2, 101, 137]))
def test_a_reward_of_one_needs_every_target_and_partial_never_pays_more(results, profile, code):
    binary = grade(results=results, profile=profile, exit_code=code)
    partial = grade(results=results, profile=profile, exit_code=code, mode=RewardMode.PARTIAL)
    assert binary.resolved == partial.resolved == (binary.reward == 1.0)
    assert 0 <= (partial.reward or 0) <= 1
    if not partial.resolved:
        assert partial.reward != 1.0
    if binary.resolved and profile not in ("swebench-v4", "swebench-v5"):
        assert results.get("f") == "PASSED"


@given(results=RESULTS, profile=st.sampled_from(list(PROFILES)), name=st.sampled_from(ALL))
def test_turning_a_listed_test_into_a_failure_never_resolves(results, profile, name):
    assert not grade(results={**results, name: "FAILED"}, profile=profile).resolved
