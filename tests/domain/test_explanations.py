"""Explanations and progress: what is shown of a verdict, and when a batch will be done."""

from __future__ import annotations

import pytest

from assay.domain.explanations import deciding_tests, differences, excerpt
from assay.domain.progress import progress_of

RESULTS = {"unpatched-1": {"t": "FAILED", "u": "PASSED"}, "patched-1": {"t": "PASSED"}}


def test_flaky_and_excluded_tests_are_shown_before_targets_with_their_evidence() -> None:
    report = {"failToPass": ["t", "u"], "flaky": {"u": "unpatched 1/3 passed"}, "excluded": {"v": "fails before"}}
    shown = deciding_tests(report, RESULTS)
    assert [(test.name, test.why) for test in shown] == [
        ("u", "flaky: unpatched 1/3 passed"),
        ("v", "excluded: fails before"),
        ("t", "target"),
    ]
    assert shown[0].statuses == {"unpatched-1": "PASSED", "patched-1": "absent"}
    assert len(deciding_tests(report, RESULTS, most=1)) == 1


def test_a_test_that_one_run_did_not_see_differs() -> None:
    found = differences(RESULTS["unpatched-1"], RESULTS["patched-1"])
    assert [(one.name, one.left, one.right) for one in found] == [("t", "FAILED", "PASSED"), ("u", "PASSED", "absent")]


@pytest.mark.parametrize(
    ("name", "lines"),
    [("tests/a.py::test_one[x]", ["b", "FAILED test_one", "c"]), ("pkg/TestTwo", ["--- FAIL: TestTwo"]), ("zzz", [])],
)
def test_an_excerpt_is_around_the_last_line_that_names_the_test(name: str, lines: list[str]) -> None:
    log = "--- FAIL: TestTwo\n\n\na\nb\nFAILED test_one\nc" if "Two" not in name else "--- FAIL: TestTwo"
    assert list(excerpt(log, name, context=1)) == lines


def test_the_estimate_follows_the_speed_of_the_last_looks() -> None:
    progress = progress_of([(0.0, 10), (60.0, 40)], total=100)
    assert (progress.speed, progress.seconds_left) == (0.5, 120.0)
    assert "30.0 verdicts a minute, about 2 min 0 s left" in progress.sentence


def test_there_is_no_estimate_while_nothing_moves() -> None:
    assert progress_of([(0.0, 1)], total=2).seconds_left is None
    assert progress_of([(0.0, 2), (9.0, 2)], total=3).sentence == "no verdict in the last looks"
    assert progress_of([(0.0, 3)], total=3).sentence == "all done"
