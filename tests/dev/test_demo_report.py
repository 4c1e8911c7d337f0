"""What make demo says at its end: verdicts, times and findings from the objects alone."""

from __future__ import annotations

import sys
from typing import Any

from conftest import ROOT

if str(ROOT / "dev") not in sys.path:
    sys.path.insert(0, str(ROOT / "dev"))

from demo_report import AS_EXPECTED, EXPECTED, findings, report, step_rows, table, time_row, verdict_row


def make_object(name: str = "a", expected: str = "Valid", **status: Any) -> dict[str, Any]:
    """An object of the demo that was applied at ten o'clock."""
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "annotations": {EXPECTED: expected},
        },
        "status": {"verdict": "Valid", "reason": "TargetTestsDerived", "message": "all is well"} | status,
    }


def make_run(name: str, seconds: float = 1.0, outcome: str = "Finished", **fields: Any) -> dict[str, Any]:
    return {"name": name, "durationSeconds": seconds, "outcome": outcome, **fields}


DROPPED = make_object(
    "b",
    "Invalid/TargetTestsFlaky",
    verdict="Invalid",
    reason="TargetTestsFlaky",
    message="1 target test differs between runs",
    startedAt="2026-03-01T10:00:02Z",
    completedAt="2026-03-01T10:01:40Z",
    tests={
        "failToPass": {"count": 0},
        "passToPass": {"count": 14},
        "flaky": {"count": 5, "first": ["t::1", "t::2", "t::3", "t::4"]},
        "excluded": {"count": 0, "first": []},
    },
    runs=[
        make_run("unpatched-1", 2.25),
        make_run("patched-1", 4.5, faults=[{"attempt": 1, "reason": "Disrupted", "message": "evicted"}]),
        make_run("patched-2", 0.5, "TestTimeout"),
        make_run("patched-3", 0.5, "TestTimeout"),
    ],
)


def test_a_verdict_is_compared_with_the_manifests_own_expectation() -> None:
    assert verdict_row(make_object())[-1] == AS_EXPECTED
    assert verdict_row(DROPPED) == ("b", "Invalid", "TargetTestsFlaky", "0", "14", "5", "0", AS_EXPECTED)
    assert verdict_row(make_object(verdict="Invalid", reason="X"))[-1] == "EXPECTED Valid"


def test_an_invalid_task_must_have_the_expected_reason_too() -> None:
    assert verdict_row(DROPPED | {"status": {"verdict": "Invalid", "reason": "Other"}})[-1] != AS_EXPECTED


def test_an_object_without_a_status_is_told_as_not_ready() -> None:
    bare = {key: value for key, value in make_object().items() if key != "status"}
    assert verdict_row(bare)[1:4] == ("-", "-", "")
    assert verdict_row(bare)[-1] == "EXPECTED Valid"
    assert time_row(bare) == ("a", "-", "0", "0.0 s", "0.0 s", "0", "-")
    assert findings(bare) == ["no verdict yet"]


def test_times_are_from_the_status() -> None:
    assert time_row(DROPPED) == ("b", "2 s", "4", "7.8 s", "4.5 s", "1", "100 s")


def test_a_dropped_task_tells_its_message_its_names_its_faults_and_its_ends() -> None:
    assert findings(DROPPED) == [
        "1 target test differs between runs",
        "flaky: t::1, t::2, t::3 and 2 more",
        "patched-1, attempt 1 was lost: Disrupted: evicted",
        "TestTimeout: patched-2, patched-3",
    ]


def test_a_plain_valid_task_has_nothing_to_tell_and_one_with_flaky_tests_has() -> None:
    assert findings(make_object()) == []
    flaky = make_object(tests={"flaky": {"count": 1, "first": ["t"]}})
    assert findings(flaky) == ["flaky: t"]


def test_steps_tell_the_time_of_each_and_of_all() -> None:
    rows = step_rows([("cluster", 12.5), ("images", 20.0)], 10.0)
    assert rows == [("cluster", "2.5 s"), ("images", "7.5 s"), ("all together", "10.0 s")]
    assert step_rows([], 10.0) == [("all together", "0.0 s")]


def test_columns_are_as_wide_as_their_widest_cell_and_lines_end_without_blanks() -> None:
    assert table(("A", "B"), [("long", "x"), ("s", "")]) == "A     B\nlong  x\ns"


def test_the_report_names_a_task_once_and_ends_with_the_verdicts() -> None:
    text = report([make_object(), DROPPED], step_rows([("cluster", 1.0)], 0.0))
    found, times, steps, verdicts = text.split("\n\n")
    assert [line.split("  ")[0] for line in found.splitlines()] == ["NAME", "b", "", "", ""]
    assert len(times.splitlines()) == 3
    assert steps.splitlines()[-1].startswith("all together")
    assert verdicts.splitlines()[-1].endswith(AS_EXPECTED)
