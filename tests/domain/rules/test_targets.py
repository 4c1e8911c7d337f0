"""Targets: declared or derived, and every way of not being one."""

import pytest

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.profiles import PROFILES
from assay.domain.rules import verdict_of
from assay.domain.verdict import Reason, Verdict
from builders import make_runs, make_task

STRICT = PROFILES["strict"]


def judged(tests: dict[str, str], *, f2p: tuple[str, ...] = (), p2p: tuple[str, ...] = ()) -> Verdict:
    return verdict_of(make_task(f2p=f2p, p2p=p2p), make_runs(tests), STRICT)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("FFF PP", Reason.TESTS_AS_DECLARED, id="fails, then passes"),
        pytest.param("EEE PP", Reason.TESTS_AS_DECLARED, id="an error is a failure"),
        pytest.param("FEF PP", Reason.TESTS_AS_DECLARED, id="failed and error do not disagree"),
        pytest.param("... PP", Reason.TESTS_AS_DECLARED, id="absent, then passes"),
        pytest.param("F P", Reason.TESTS_AS_DECLARED, id="one run of each"),
        pytest.param("PPP PP", Reason.TARGET_TESTS_PASS_UNPATCHED, id="passes before"),
        pytest.param("SSS PP", Reason.TARGET_TESTS_PASS_UNPATCHED, id="skipped before"),
        pytest.param("XXX PP", Reason.TARGET_TESTS_PASS_UNPATCHED, id="expected to fail before"),
        pytest.param("FFF FF", Reason.TARGET_TESTS_FAIL_PATCHED, id="fails after"),
        pytest.param("FFF SS", Reason.TARGET_TESTS_FAIL_PATCHED, id="skipped after"),
        pytest.param("FFF ..", Reason.TARGET_TESTS_FAIL_PATCHED, id="missing after"),
        pytest.param("... ..", Reason.TARGET_TESTS_FAIL_PATCHED, id="never seen"),
        pytest.param("FFF FS", Reason.TARGET_TESTS_FAIL_PATCHED, id="never passes after, in different words"),
        pytest.param("FPF PP", Reason.TARGET_TESTS_FLAKY, id="passes before once"),
        pytest.param("FFF PF", Reason.TARGET_TESTS_FLAKY, id="fails after once"),
        pytest.param("F.F PP", Reason.TARGET_TESTS_FLAKY, id="missing before once"),
        pytest.param("... P.", Reason.TARGET_TESTS_FLAKY, id="missing after once"),
        pytest.param("FFF PP PF", Reason.TARGET_TESTS_FLAKY, id="differs in pristine runs"),
    ],
)
def test_a_declared_target_is_judged_by_all_of_its_runs(line: str, reason: Reason) -> None:
    anchor = {"anchor": "".join("P" if letter != " " else " " for letter in line)}

    verdict = judged({"target": line, **anchor}, f2p=("target",))

    assert verdict.reason is reason
    assert (verdict.kind is VerdictKind.VALID) == (reason is Reason.TESTS_AS_DECLARED)
    assert verdict.tests.fail_to_pass == (("target",) if verdict.kind is VerdictKind.VALID else ())


def test_one_bad_target_among_good_ones_condemns_and_is_named_with_its_share() -> None:
    verdict = judged({"a": "FFF PP", "b": "PPP PP", "c": "FFF PP"}, f2p=("a", "b", "c"))

    assert verdict.reason is Reason.TARGET_TESTS_PASS_UNPATCHED
    assert verdict.message == "1 of 3 target tests did not fail without the reference patch: 1 passed: b"
    assert verdict.tests.fail_to_pass == ("a", "c")


def test_the_reason_of_the_first_rule_leads_and_the_others_stay_in_details() -> None:
    tests = {"passes": "PPP PP", "fails": "FFF FF", "flakes": "FPF PP", "breaks": "PPP FF"}

    verdict = judged(tests, f2p=("passes", "fails", "flakes"))

    assert verdict.reason is Reason.TARGET_TESTS_PASS_UNPATCHED
    assert [reason for reason, _ in verdict.details] == [
        Reason.TARGET_TESTS_FAIL_PATCHED,
        Reason.TARGET_TESTS_FLAKY,
        Reason.PASS_TO_PASS_REGRESSION,
    ]


def test_a_failing_target_is_told_from_a_missing_and_a_skipped_one() -> None:
    verdict = judged({"a": "FFF FF", "b": "FFF ..", "c": "FFF SS"}, f2p=("a", "b", "c"))

    assert verdict.message == (
        "3 of 3 target tests did not pass with the reference patch (1 failed, 1 skipped, 1 absent): a, b, c"
    )


def test_a_flaky_target_comes_with_its_counts() -> None:
    verdict = judged({"coin": "FPF PP", "stable": "PPP PP"}, f2p=("coin",))

    evidence = "unpatched 1/3 passed, 2/3 failed; patched 2/2 passed"
    assert verdict.message == f"1 of 1 target test differed between runs of one state: coin ({evidence})"
    assert verdict.tests.flaky == (("coin", evidence),)
    assert verdict.tests.pass_to_pass == ("stable",)


def test_targets_are_derived_when_none_is_declared() -> None:
    tests = {"fixed": "FFF PP", "new": "... PP", "same": "PPP PP", "broken": "FFF FF", "skipped": "SSS PP"}

    verdict = judged(tests)

    assert (verdict.kind, verdict.reason) == (VerdictKind.VALID, Reason.TARGETS_DERIVED)
    assert verdict.tests.fail_to_pass == ("fixed", "new")
    assert verdict.tests.pass_to_pass == ("same",)
    assert [name for name, _ in verdict.tests.excluded] == ["broken", "skipped"]
    assert verdict.message == (
        "2 target tests passed in none of 3 unpatched runs and in all of 2 patched runs; "
        "1 pass-to-pass, 0 flaky, 0 unstable, 2 excluded"
    )


def test_a_package_that_does_not_compile_unpatched_gives_targets_only() -> None:
    verdict = judged({f"Test{number:02}": "... PP" for number in range(81)})

    assert verdict.kind is VerdictKind.VALID
    assert len(verdict.tests.fail_to_pass) == 81
    assert verdict.tests.pass_to_pass == ()


@pytest.mark.parametrize("tests", [{"a": "PPP PP"}, {"a": "FFF FF", "b": "PPP PP"}, {"a": "SSS SS"}, {"a": "PPP .."}])
def test_without_any_target_nothing_can_be_derived(tests: dict[str, str]) -> None:
    tests = {"anchor": "PPP PP", **tests}

    assert judged(tests).reason is Reason.NO_TARGET_TESTS


def test_a_candidate_that_flakes_patched_is_called_flaky_when_it_is_all_there_is() -> None:
    assert judged({"coin": "FFF PF", "same": "PPP PP"}).reason is Reason.TARGET_TESTS_FLAKY


def test_a_flaky_test_beside_no_target_is_not_called_a_flaky_target() -> None:
    assert judged({"coin": "PFP PP", "same": "PPP PP"}).reason is Reason.NO_TARGET_TESTS


def test_a_flaky_candidate_does_not_spoil_a_derived_target() -> None:
    verdict = judged({"target": "FFF PP", "coin": "FFF FP"})

    assert verdict.reason is Reason.TARGETS_DERIVED
    assert verdict.tests.flaky == (("coin", "unpatched 3/3 failed; patched 1/2 passed, 1/2 failed"),)


def test_a_fixed_test_that_is_not_declared_is_excluded_and_says_so() -> None:
    verdict = judged({"target": "FFF PP", "other": "FFF PP"}, f2p=("target",))

    assert verdict.tests.fail_to_pass == ("target",)
    ((name, why),) = verdict.tests.excluded
    assert name == "other"
    assert why == (
        "fails without the reference patch, passes with it, but is not a declared target: "
        "unpatched 3/3 failed; patched 2/2 passed"
    )


def test_pristine_runs_tell_new_targets_from_hidden_regression_tests() -> None:
    verdict = judged({"hidden": "... PP PP", "new": "... PP ..", "was broken": "FFF PP FF", "same": "PPP PP PP"})

    assert verdict.tests.fail_to_pass == ("hidden", "new", "was broken")
    assert verdict.tests.new_targets == ("new", "was broken")


def test_without_pristine_runs_nothing_is_said_of_new_targets() -> None:
    assert judged({"a": "FFF PP"}).tests.new_targets is None
