"""Runs that did not come to their tests, and the early verdict."""

import pytest

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.outcomes import OutcomeKind
from assay.domain.profiles import PROFILES
from assay.domain.rules import early_verdict_of, verdict_of
from assay.domain.verdict import Reason, Verdict
from builders import changed, make_outcome, make_runs, make_task

STRICT = PROFILES["strict"]
GOOD = {"target": "FFF PP", "old": "PPP PP"}

CONDEMNING = [
    (OutcomeKind.IMAGE_UNAVAILABLE, Reason.IMAGE_UNAVAILABLE),
    (OutcomeKind.PLATFORM_MISMATCH, Reason.PLATFORM_MISMATCH),
    (OutcomeKind.DIRTY_IMAGE, Reason.DIRTY_IMAGE),
    (OutcomeKind.TEST_PATCH_DOES_NOT_APPLY, Reason.TEST_PATCH_DOES_NOT_APPLY),
    (OutcomeKind.PATCH_DOES_NOT_APPLY, Reason.PATCH_DOES_NOT_APPLY),
    (OutcomeKind.SETUP_FAILED, Reason.TESTS_DID_NOT_RUN),
    (OutcomeKind.PARSE_FAILED, Reason.TESTS_DID_NOT_RUN),
    (OutcomeKind.OUT_OF_MEMORY, Reason.OUT_OF_MEMORY),
    (OutcomeKind.TEST_TIMEOUT, Reason.TEST_TIMEOUT),
]


def judged(*runs: str, f2p: tuple[str, ...] = (), **fields: object) -> Verdict:
    return verdict_of(make_task(f2p=f2p), changed(make_runs(GOOD), *runs, **fields), STRICT)


@pytest.mark.parametrize(("kind", "reason"), CONDEMNING)
@pytest.mark.parametrize("run", ["patched-1", "patched-2", "unpatched-2"])
def test_a_run_that_did_not_come_to_its_end_condemns_with_its_own_reason(
    run: str, kind: OutcomeKind, reason: Reason
) -> None:
    verdict = judged(run, kind=kind, results={}, message="error: m.py: it went wrong")

    assert (verdict.kind, verdict.reason) == (VerdictKind.INVALID, reason)
    assert f"{run}: error: m.py: it went wrong" in verdict.message


@pytest.mark.parametrize(("kind", "reason"), CONDEMNING)
def test_the_first_run_alone_condemns_when_no_later_run_can_help(kind: OutcomeKind, reason: Reason) -> None:
    early = early_verdict_of(make_task(f2p=["target"]), [make_outcome("unpatched-1", kind=kind)], STRICT)

    assert early is not None
    assert (early.kind, early.reason) == (VerdictKind.INVALID, reason)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(make_outcome("unpatched-1", failed=["target"], passed=["old"]), id="as it should be"),
        pytest.param(make_outcome("unpatched-1", exit_code=2), id="no results: may not compile yet"),
        pytest.param(make_outcome("unpatched-1", passed=["target"], failed=["other"]), id="one target of two passes"),
        pytest.param(make_outcome("unpatched-1", passed=["old"]), id="targets are absent"),
        pytest.param(make_outcome("unpatched-1", skipped=["target", "other"]), id="targets are skipped"),
        pytest.param(make_outcome("unpatched-1", passed=["target", "other"], truncated=True), id="log with a hole"),
        pytest.param(
            make_outcome("unpatched-1", passed=["old"], kind=OutcomeKind.TEST_TIMEOUT), id="ended late with results"
        ),
    ],
)
def test_the_first_run_does_not_condemn_what_later_runs_may_clear(outcome: object) -> None:
    assert early_verdict_of(make_task(f2p=["target", "other"]), [outcome], STRICT) is None  # type: ignore[list-item]


def test_all_declared_targets_passing_in_the_first_run_condemns_at_once() -> None:
    early = early_verdict_of(make_task(f2p=["a", "b"]), [make_outcome("unpatched-1", passed=["a", "b"])], STRICT)

    assert early is not None
    assert early.reason is Reason.TARGET_TESTS_PASS_UNPATCHED


def test_nothing_to_derive_from_one_unpatched_run_condemns_yet() -> None:
    assert early_verdict_of(make_task(), [make_outcome("unpatched-1", passed=["a", "b"])], STRICT) is None
    assert early_verdict_of(make_task(), [], STRICT) is None


def test_no_verdict_without_a_run_of_each_state() -> None:
    with pytest.raises(ValueError, match="unpatched and a patched run"):
        verdict_of(make_task(), [make_outcome("unpatched-1", passed=["a"])], STRICT)
    with pytest.raises(ValueError, match="unpatched and a patched run"):
        verdict_of(make_task(), [], STRICT)


def test_the_changed_files_of_the_image_are_named() -> None:
    verdict = judged(
        "unpatched-1", kind=OutcomeKind.DIRTY_IMAGE, dirty_paths=("m.py", "a\nb"), message="2 files differ"
    )

    assert verdict.message == (
        "the image's work tree differs from its commit: unpatched-1: 2 files differ (2 paths shown: a\\nb, m.py)"
    )


def test_memory_leads_over_time_and_an_unusable_image_over_both() -> None:
    runs = changed(make_runs(GOOD), "patched-1", kind=OutcomeKind.TEST_TIMEOUT)
    runs = changed(runs, "patched-2", oom_kills=2)

    verdict = verdict_of(make_task(), runs, STRICT)
    assert verdict.reason is Reason.OUT_OF_MEMORY
    assert Reason.TEST_TIMEOUT in dict(verdict.details)

    runs = changed(runs, "unpatched-1", kind=OutcomeKind.IMAGE_UNAVAILABLE)
    assert verdict_of(make_task(), runs, STRICT).reason is Reason.IMAGE_UNAVAILABLE


def test_a_killed_child_of_a_patched_run_is_out_of_memory_even_when_the_runner_lived() -> None:
    assert judged("patched-1", oom_kills=1).reason is Reason.OUT_OF_MEMORY


@pytest.mark.parametrize("kind", [OutcomeKind.TEST_TIMEOUT, OutcomeKind.SETUP_FAILED, OutcomeKind.PARSE_FAILED])
def test_a_pristine_run_that_failed_costs_its_one_fact_alone(kind: OutcomeKind) -> None:
    runs = make_runs({"target": "FFF PP PP", "old": "PPP PP PP"})
    runs = changed(runs, "pristine-1", "pristine-2", kind=kind, results={})

    verdict = verdict_of(make_task(), runs, STRICT)

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.new_targets is None


@pytest.mark.parametrize("f2p", [(), ("target",)])
@pytest.mark.parametrize("limit", [{"kind": OutcomeKind.TEST_TIMEOUT}, {"kind": OutcomeKind.OUT_OF_MEMORY}])
def test_a_target_that_hits_a_limit_on_the_base_fails_there_when_all_others_can_be_told(
    f2p: tuple[str, ...], limit: dict[str, OutcomeKind]
) -> None:
    runs = make_runs({"target": "... PP", "old": "PPP PP", "older": "PPP PP"})
    runs = changed(runs, "unpatched-1", "unpatched-2", "unpatched-3", **limit)

    verdict = verdict_of(make_task(f2p=f2p), runs, STRICT)

    assert verdict.kind is VerdictKind.VALID
    assert verdict.tests.fail_to_pass == ("target",)
    assert [reason.value for reason, _ in verdict.details] == [limit["kind"].value]


@pytest.mark.parametrize(
    ("tests", "f2p"),
    [
        pytest.param({"target": "... PP", "old": "... PP"}, ("target",), id="no result at all"),
        pytest.param({"target": "... PP", "old": "PPP PP", "late": "... PP"}, ("target",), id="others are missing"),
        pytest.param({"target": "FFF PP", "old": "... PP"}, ("target",), id="the missing test is no target"),
        pytest.param({"a": "... PP", "b": "... PP", "old": "PPP PP"}, (), id="two missing, one command"),
    ],
)
def test_an_unpatched_run_that_leaves_others_untold_at_its_deadline_is_a_timeout(
    tests: dict[str, str], f2p: tuple[str, ...]
) -> None:
    runs = changed(make_runs(tests), "unpatched-1", "unpatched-2", "unpatched-3", kind=OutcomeKind.TEST_TIMEOUT)

    assert verdict_of(make_task(f2p=f2p), runs, STRICT).reason is Reason.TEST_TIMEOUT


def test_a_loop_that_floods_the_log_until_the_deadline_is_a_timeout() -> None:
    runs = make_runs({"target": "... PP", "old": "PPP PP"})
    runs = changed(runs, "unpatched-1", kind=OutcomeKind.TEST_TIMEOUT, truncated=True)

    assert verdict_of(make_task(f2p=["target"]), runs, STRICT).reason is Reason.TEST_TIMEOUT


def test_no_result_in_any_patched_run_is_not_a_failure_of_every_test() -> None:
    runs = changed(make_runs({"target": "FFF ..", "old": "PPP .."}), "patched-1", "patched-2")

    verdict = verdict_of(make_task(f2p=["target"]), runs, STRICT)

    assert verdict.reason is Reason.TESTS_DID_NOT_RUN
    assert verdict.message == "no test result in any patched run (exit code 0) by the parser parse_log_pytest"
    assert Reason.TARGET_TESTS_FAIL_PATCHED in dict(verdict.details)


def test_no_result_on_either_side_says_so() -> None:
    outcomes = [make_outcome("unpatched-1", exit_code=4), make_outcome("patched-1", exit_code=4)]

    verdict = verdict_of(make_task(), outcomes, STRICT)

    assert verdict.reason is Reason.TESTS_DID_NOT_RUN
    assert verdict.message.endswith("(exit code 4) by the parser parse_log_pytest; nor in any unpatched run")


def test_one_patched_run_without_results_makes_the_targets_flaky() -> None:
    runs = changed(make_runs(GOOD), "patched-2", results={})

    assert verdict_of(make_task(f2p=["target"]), runs, STRICT).reason is Reason.TARGET_TESTS_FLAKY
    assert verdict_of(make_task(), runs, STRICT).reason is Reason.TARGET_TESTS_FLAKY


@pytest.mark.parametrize("run", ["unpatched-2", "patched-1"])
def test_a_log_with_a_hole_carries_no_verdict(run: str) -> None:
    verdict = judged(run, truncated=True)

    assert (verdict.kind, verdict.reason) == (VerdictKind.INCONCLUSIVE, Reason.INFRASTRUCTURE)
    assert run in verdict.message


def test_a_log_with_a_hole_does_not_save_a_task_that_is_condemned_without_it() -> None:
    runs = changed(make_runs({"target": "PPP PP"}), "patched-1", truncated=True)

    assert verdict_of(make_task(f2p=["target"]), runs, STRICT).reason is Reason.TARGET_TESTS_PASS_UNPATCHED


HINT = "dial tcp: lookup proxy.test: no such host"


@pytest.mark.parametrize(
    ("tests", "f2p"),
    [
        pytest.param({"target": "FFF FF", "old": "PPP PP"}, ("target",), id="targets fail"),
        pytest.param({"target": "FFF ..", "old": "PPP PP"}, ("target",), id="targets are missing"),
        pytest.param({"old": "PPP .."}, (), id="nothing ran"),
        pytest.param({"old": "PPP ..", "same": "PPP PP"}, (), id="tests were lost"),
        pytest.param({"target": "FFF PP", "old": "PPP FF"}, (), id="a regression"),
    ],
)
def test_a_patched_failure_beside_a_refused_look_up_needs_the_network(
    tests: dict[str, str], f2p: tuple[str, ...]
) -> None:
    runs = changed(make_runs(tests), "patched-1", "patched-2", network_hints=(HINT,))

    verdict = verdict_of(make_task(f2p=f2p), runs, STRICT)

    assert verdict.reason is Reason.NEEDS_NETWORK
    assert verdict.message.endswith(f"; patched-1 was refused the network: {HINT}")


@pytest.mark.parametrize("other", ["PPP PP", "PPP ..", "PFP FF"])
def test_a_refused_look_up_in_a_run_that_is_as_it_should_be_means_nothing(other: str) -> None:
    runs = changed(make_runs({**GOOD, "other": other}), "patched-1", "patched-2", network_hints=(HINT,))

    assert verdict_of(make_task(), runs, STRICT).kind is VerdictKind.VALID


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ({"old": "PPP PP"}, Reason.NO_TARGET_TESTS),
        ({"old": "PPP ..", "same": "PPP PP"}, Reason.NO_TARGET_TESTS),
        ({"target": "FFF PP", "old": "PPP FF"}, Reason.PASS_TO_PASS_REGRESSION),
    ],
)
def test_look_ups_refused_on_both_sides_do_not_explain_what_the_patch_lost(
    tests: dict[str, str], reason: Reason
) -> None:
    runs = make_runs(tests)
    runs = changed(runs, *(run.run.name for run in runs), network_hints=(HINT,))

    assert verdict_of(make_task(), runs, STRICT).reason is reason


@pytest.mark.parametrize(
    ("tests", "code", "said"),
    [
        (GOOD, 5, "exit code 5 with no failed test: patched-1"),
        ({**GOOD, "bad": "FFF FF"}, 0, "exit code 0 with 1 failed tests: patched-1"),
    ],
)
def test_an_exit_code_that_contradicts_the_results_is_noted_and_decides_nothing(
    tests: dict[str, str], code: int, said: str
) -> None:
    commands = make_outcome(exit_code=code).commands
    verdict = verdict_of(make_task(), changed(make_runs(tests), "patched-1", commands=commands), STRICT)

    assert verdict.kind is VerdictKind.VALID
    assert verdict.details == ((Reason.EXIT_CODE_CONTRADICTS, said),)


def test_exit_codes_that_agree_are_not_mentioned() -> None:
    assert verdict_of(make_task(), make_runs({**GOOD, "bad": "FFF FF"}), STRICT).details == ()
