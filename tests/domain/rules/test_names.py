"""Flaky and unstable names, and spellings that are one name."""

import pytest

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.profiles import PROFILES, NameRule
from assay.domain.rules import verdict_of
from assay.domain.rules.spelling import cut_matches, key_of
from assay.domain.verdict import Reason
from builders import changed, make_outcome, make_runs, make_task

STRICT = PROFILES["strict"]


@pytest.mark.parametrize("line", ["PFP PP", "PPP PF", "P.P PP", "PSP PP", "PPP P.", "FPF FF", "PPP PP PF"])
def test_a_test_on_which_runs_of_one_state_disagree_is_flaky(line: str) -> None:
    anchor = "FFF PP PP"[: len(line)]

    tests = verdict_of(make_task(), make_runs({"target": anchor, "t": line}), STRICT).tests

    assert [name for name, _ in tests.flaky] == ["t"]
    assert "t" not in tests.pass_to_pass


@pytest.mark.parametrize("line", ["P.. ..", "..F ..", "... P.", "... .S", "... .. P."])
def test_a_name_in_one_single_run_of_all_is_unstable_and_never_flaky(line: str) -> None:
    anchor = "FFF PP PP"[: len(line)]

    tests = verdict_of(make_task(), make_runs({"target": anchor, "t[0x7f]": line}), STRICT).tests

    assert tests.unstable == ("t[0x7f]",)
    assert tests.flaky == ()
    assert tests.fail_to_pass == ("target",)


def test_names_with_addresses_do_not_become_targets_or_flaky_tests() -> None:
    outcomes = [
        make_outcome(f"{state}-{number}", results={"t": word, f"p[<object at 0x{state}{number}>]": "PASSED"})
        for state, count, word in (("unpatched", 3, "FAILED"), ("patched", 2, "PASSED"))
        for number in range(1, count + 1)
    ]

    tests = verdict_of(make_task(), outcomes, STRICT).tests

    assert tests.fail_to_pass == ("t",)
    assert len(tests.unstable) == 5
    assert tests.flaky == tests.excluded == ()


def test_a_test_of_the_one_patched_run_is_a_target_for_no_other_run_lacks_it() -> None:
    verdict = verdict_of(make_task(), make_runs({"new": "... P", "old": "PPP P"}), STRICT)

    assert verdict.tests.fail_to_pass == ("new",)
    assert verdict.tests.unstable == ()


def test_a_declared_name_in_one_single_run_is_flaky_for_it_is_known() -> None:
    verdict = verdict_of(make_task(f2p=["t"]), make_runs({"t": "... P.", "old": "PPP PP"}), STRICT)

    assert verdict.reason is Reason.TARGET_TESTS_FLAKY
    assert verdict.tests.unstable == ()


def test_durations_in_names_are_no_difference_under_rebench() -> None:
    outcomes = [
        make_outcome("unpatched-1", failed=["adds (12 ms)"], passed=["old [1.3 ms]"]),
        make_outcome("unpatched-2", failed=["adds (9 ms)"], passed=["old [2 ms]"]),
        make_outcome("patched-1", passed=["adds (1 s)", "old [1.0 ms]"]),
        make_outcome("patched-2", passed=["adds (2.5 s)", "old [3 ms]"]),
    ]
    task = make_task(f2p=["adds (31 ms)"], p2p=["old"])

    verdict = verdict_of(task, outcomes, PROFILES["rebench-v2"])

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.fail_to_pass == ("adds (31 ms)",)
    assert verdict.tests.pass_to_pass == ("old",)
    assert verdict_of(task, outcomes, STRICT).reason is Reason.TARGET_TESTS_FAIL_PATCHED


def test_of_two_spellings_in_one_run_the_worse_counts() -> None:
    results = {"t (1 ms)": "PASSED", "t (2 ms)": "FAILED"}
    outcomes = [make_outcome("unpatched-1", results=results), make_outcome("patched-1", results=results)]
    outcomes = changed(outcomes, "patched-1", results={"t (1 ms)": "FAILED", "t (2 ms)": "PASSED"})

    verdict = verdict_of(make_task(f2p=["t"]), outcomes, PROFILES["rebench-v2"])

    assert verdict.reason is Reason.TARGET_TESTS_FAIL_PATCHED


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("a (12 ms)", "a"),
        ("a (1.2s)", "a"),
        ("a [1.34 MS]", "a"),
        ("a [ 2 s ]", "a"),
        ("a in 29.08 msec", "a"),
        ("a in 1 sec more", "a more"),
        (" a ", "a"),
        ("a (12 things)", "a (12 things)"),
        ("a[2]", "a[2]"),
        ("(5 ms) a", "(5 ms) a"),
    ],
)
def test_a_key_is_a_name_without_its_durations(name: str, key: str) -> None:
    assert key_of(name, {NameRule.DURATIONS}) == key
    assert key_of(name, ()) == name


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        ("t[a", ("t[a b]", "t[a c]")),
        ("t[a b", ("t[a b]",)),
        ("t[a b]", ()),
        ("t", ()),
        ("u[", ()),
    ],
)
def test_a_cut_name_stands_for_the_tests_that_it_begins(name: str, matches: tuple[str, ...]) -> None:
    assert cut_matches(name, {"t[a b]", "t[a c]", "t"}) == matches


def test_a_cut_target_holds_when_its_candidates_agree() -> None:
    outcomes = make_runs({"t[a b]": "FF PP", "t[a c]": "FF PP", "old": "PP PP"})

    verdict = verdict_of(make_task(f2p=["t[a"]), outcomes, PROFILES["swebench-v5"])

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.fail_to_pass == ("t[a",)


def test_a_cut_target_whose_candidates_disagree_does_not_pass() -> None:
    outcomes = make_runs({"t[a b]": "FF PP", "t[a c]": "FF FF", "old": "PP PP"})

    verdict = verdict_of(make_task(f2p=["t[a"]), outcomes, PROFILES["swebench-v5"])

    assert verdict.reason is Reason.TARGET_TESTS_FAIL_PATCHED
    assert dict(verdict.tests.excluded)["t[a"].endswith("unpatched 2/2 failed; patched 2/2 absent")


def test_a_cut_name_is_just_missing_under_other_profiles() -> None:
    outcomes = make_runs({"t[a b]": "FF PP", "old": "PP PP"})

    assert verdict_of(make_task(f2p=["t[a"]), outcomes, STRICT).reason is Reason.TARGET_TESTS_FAIL_PATCHED


def test_declared_names_that_the_profile_takes_for_one_are_noted() -> None:
    task = make_task(f2p=["adds (1 ms)"], p2p=["adds (2 ms)", "old"])
    outcomes = [
        make_outcome(f"{state}-1", results={"adds (3 ms)": word, "old": "PASSED"})
        for state, word in (("unpatched", "FAILED"), ("patched", "PASSED"))
    ]

    details = dict(verdict_of(task, outcomes, PROFILES["rebench-v2"]).details)

    assert details[Reason.EXPECTED_NAMES_COLLIDE] == (
        "1 declared test listed in several spellings that rebench-v2 takes for one: adds (1 ms) = adds (2 ms)"
    )
    assert Reason.EXPECTED_NAMES_COLLIDE not in dict(verdict_of(task, outcomes, STRICT).details)


def test_the_note_on_colliding_names_stays_short() -> None:
    names = [f"t{number} ({seconds} s)" for number in range(50) for seconds in (1, 2)]
    outcomes = make_runs(dict.fromkeys(names, "F P"))

    note = dict(verdict_of(make_task(f2p=names), outcomes, PROFILES["rebench-v2"]).details)[
        Reason.EXPECTED_NAMES_COLLIDE
    ]

    assert note.startswith("50 declared tests")
    assert note.endswith("; and 47 more")
