"""A verdict is made again when other rules are asked for than it was judged by, if there are such rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.api import v1alpha1 as api
from assay.domain.outcomes import CommandResult, OutcomeKind
from assay.domain.plan import epoch_of
from assay.domain.regrading import is_to_regrade, read_again, regrade_of
from builders import make_outcome, make_spec

PRO = api.Regrade(profile="pro")
GO = api.Regrade(parser="parse_log_gotest")


@pytest.mark.parametrize(
    ("asked", "judged", "reason", "again"),
    [
        (PRO, None, "Any", True),
        (PRO, PRO, "Any", False),
        (None, PRO, "Any", True),
        (api.Regrade(), None, "Any", False),
        (GO, PRO, "Any", True),
        (api.Regrade(profile="no-such"), None, "Any", False),
        (api.Regrade(parser="no_such"), PRO, "Any", False),
        (PRO, None, "StatementRejected", False),
        (PRO, None, "SplitConflict", False),
    ],
)
def test_a_verdict_is_made_again_for_rules_that_there_are_and_that_it_was_not_judged_by(
    asked: api.Regrade | None, judged: api.Regrade | None, reason: str, again: bool
) -> None:
    assert is_to_regrade(asked, judged, reason=reason) == again


def test_unknown_rules_are_the_specs_own() -> None:
    assert regrade_of(api.Regrade(profile="no-such")) == regrade_of(None) == api.Regrade()
    assert regrade_of(GO) == GO


def test_a_regrade_makes_no_run_new() -> None:
    assert epoch_of(make_spec()) == epoch_of(make_spec(regrade=GO))


@pytest.mark.parametrize(
    ("kind", "log", "found"),
    [
        (OutcomeKind.FINISHED, b"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", OutcomeKind.FINISHED),
        (OutcomeKind.PARSE_FAILED, b"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", OutcomeKind.FINISHED),
        (OutcomeKind.TEST_TIMEOUT, b"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", OutcomeKind.TEST_TIMEOUT),
        (OutcomeKind.OUT_OF_MEMORY, b"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", OutcomeKind.OUT_OF_MEMORY),
    ],
)
def test_a_log_is_read_by_the_other_parser(kind: OutcomeKind, log: bytes, found: OutcomeKind) -> None:
    again = read_again(make_outcome(kind=kind, passed=["old"]), log, "parse_log_gotest")
    assert (again.kind, dict(again.results)) == (found, {"TestA": "PASSED", "TestB": "FAILED"})


@pytest.mark.parametrize(
    ("command", "kills", "kind"),
    [
        (CommandResult(exit_code=124, seconds=9, timed_out=True), 0, OutcomeKind.TEST_TIMEOUT),
        (CommandResult(exit_code=137, seconds=9, timed_out=False), 1, OutcomeKind.OUT_OF_MEMORY),
        (CommandResult(exit_code=1, seconds=9, timed_out=False), 0, OutcomeKind.FINISHED),
    ],
)
def test_what_cut_a_run_off_is_told_by_every_parser(command: CommandResult, kills: int, kind: OutcomeKind) -> None:
    log = b"<testsuite>\n--- PASS: TestA (0.00s)\n"
    read = make_outcome(kind=kind, commands=(command,), oom_kills=kills)
    unreadable = read_again(read, log, "junit")
    assert dict(unreadable.results) == {}
    assert unreadable.kind is (OutcomeKind.PARSE_FAILED if kind is OutcomeKind.FINISHED else kind)
    for before in (unreadable, replace(unreadable, kind=OutcomeKind.PARSE_FAILED)):
        again = read_again(before, log, "parse_log_gotest")
        assert (again.kind, dict(again.results)) == (kind, {"TestA": "PASSED"})


def test_a_run_without_tests_keeps_its_end() -> None:
    lost = make_outcome(kind=OutcomeKind.SETUP_FAILED)
    assert read_again(lost, b"--- PASS: TestA (0.00s)\n", "parse_log_gotest") == lost


def test_a_test_that_the_log_shows_to_pass_and_to_fail_has_failed() -> None:
    log = b"--- PASS: TestA (0.00s)\n--- FAIL: TestA (0.00s)\n--- PASS: TestA (0.00s)\n"
    again = read_again(make_outcome(passed=["TestA"]), log, "parse_log_gotest")
    assert (dict(again.results), again.contradicted) == ({"TestA": "FAILED"}, ("TestA",))
