"""Pass-to-pass: what confirms it, what breaks it and what merely leaves the list."""

import pytest

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.profiles import PROFILES
from assay.domain.rules import verdict_of
from assay.domain.verdict import Reason, Verdict
from builders import make_runs, make_task


def judged(tests: dict[str, str], *, p2p: tuple[str, ...] = (), profile: str = "strict") -> Verdict:
    runs = make_runs({"target": "FFF PP", **tests})
    return verdict_of(make_task(f2p=("target",), p2p=p2p), runs, PROFILES[profile])


def test_pass_to_pass_is_what_passes_in_every_run_declared_or_not() -> None:
    verdict = judged({"listed": "PPP PP", "unlisted": "PPP PP"}, p2p=("listed",))

    assert verdict.tests.pass_to_pass == ("listed", "unlisted")
    assert verdict.details == ()


@pytest.mark.parametrize("after", ["FF", "SS", "..", "EE"])
def test_a_declared_test_that_passed_before_and_not_after_is_a_regression(after: str) -> None:
    verdict = judged({"p": f"PPP {after}"}, p2p=("p",))

    assert (verdict.kind, verdict.reason) == (VerdictKind.INVALID, Reason.PASS_TO_PASS_REGRESSION)
    assert verdict.message == (
        "declared 1 of 1 pass-to-pass test passed without the reference patch and did not pass with it: p"
    )


def test_an_undeclared_list_makes_any_failure_after_a_pass_a_regression() -> None:
    verdict = judged({"p": "PPP FF", "q": "PPP PP"})

    assert verdict.reason is Reason.PASS_TO_PASS_REGRESSION
    assert verdict.message == "1 test passed without the reference patch and did not pass with it: p"


@pytest.mark.parametrize("line", ["PFP FF", "PPP FP", "P.P FF"])
def test_a_flaky_test_is_no_regression(line: str) -> None:
    verdict = judged({"p": line})

    assert verdict.kind is VerdictKind.VALID
    assert [name for name, _ in verdict.tests.flaky] == ["p"]


@pytest.mark.parametrize("after", ["SS", ".."])
def test_an_undeclared_test_that_is_skipped_or_gone_after_is_excluded(after: str) -> None:
    verdict = judged({"p": f"PPP {after}"})

    assert verdict.kind is VerdictKind.VALID
    assert [name for name, _ in verdict.tests.excluded] == ["p"]


def test_a_failure_outside_of_the_declared_list_is_excluded() -> None:
    verdict = judged({"listed": "PPP PP", "other": "PPP FF"}, p2p=("listed",))

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.excluded == (
        (
            "other",
            "passes without the reference patch, fails with it: unpatched 3/3 passed; patched 2/2 failed",
        ),
    )


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("FFF FF", "excluded"),
        ("... ..", "excluded"),
        ("... PP", "excluded"),
        ("FFF PP", "excluded"),
        ("SSS SS", "excluded"),
        ("PFP PP", "flaky"),
        ("PPP PF", "flaky"),
        ("P.P PP", "flaky"),
    ],
)
def test_a_declared_test_that_never_was_one_leaves_the_list_with_a_note(line: str, where: str) -> None:
    verdict = judged({"p": line, "q": "PPP PP"}, p2p=("p", "q"))

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.pass_to_pass == ("q",)
    assert [name for name, _ in getattr(verdict.tests, where)] == ["p"]
    ((reason, message),) = verdict.details
    assert reason is Reason.PASS_TO_PASS_EXCLUDED
    assert message.startswith("1 of 2 pass-to-pass tests declared, but not confirmed: p (")


@pytest.mark.parametrize(
    ("profile", "after", "kind"),
    [
        ("swebench-v5", "SS", VerdictKind.VALID),
        ("swebench-v5", "..", VerdictKind.INVALID),
        ("swebench-v4", "SS", VerdictKind.VALID),
        ("swebench-v4", "..", VerdictKind.INVALID),
        ("live", "SS", VerdictKind.VALID),
        ("live", "..", VerdictKind.VALID),
        ("live", "FF", VerdictKind.INVALID),
        ("pro", "SS", VerdictKind.INVALID),
        ("rebench-v2", "SS", VerdictKind.INVALID),
    ],
)
def test_the_profile_says_what_a_declared_test_that_is_skipped_or_missing_is(
    profile: str, after: str, kind: VerdictKind
) -> None:
    assert judged({"p": f"PPP {after}"}, p2p=("p",), profile=profile).kind is kind


@pytest.mark.parametrize(("profile", "expected"), [("strict", ()), ("swebench-v4", ("x",)), ("swebench-v5", ("x",))])
def test_an_expected_failure_is_a_pass_where_the_profile_says_so(profile: str, expected: tuple[str, ...]) -> None:
    assert judged({"x": "XXX XX"}, profile=profile).tests.pass_to_pass == expected


def test_a_passing_test_in_neither_list_is_noted_where_lists_are_compared_exactly() -> None:
    tests = {"listed": "PPP PP", "extra": "PPP PP", "other": "FFF FF"}

    ((reason, message),) = judged(tests, p2p=("listed",), profile="rebench-v2").details

    assert reason is Reason.EXTRA_PASSING_TESTS
    assert message == (
        "1 test in neither list passed with the reference patch, which is a mismatch under rebench-v2: extra"
    )
    assert judged(tests, p2p=("listed",)).details == ()


def test_nothing_is_extra_when_nothing_is_declared() -> None:
    runs = make_runs({"target": "FFF PP", "old": "PPP PP"})

    assert verdict_of(make_task(), runs, PROFILES["rebench-v2"]).details == ()
