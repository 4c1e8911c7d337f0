"""Which runs decide a task, with and without extra checks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.api.v1alpha1 import Check, Runs
from assay.domain.plan import GO_OFFLINE_RUNS, Run, RunKind, limits_of_run, plan_runs
from builders import make_limits


def names(runs: Runs, *checks: Check) -> list[str]:
    return [run.name for run in plan_runs(runs, checks).runs]


def test_without_checks_the_spec_alone_says_how_many_runs_there_are() -> None:
    assert names(Runs(pristine=1, unpatched=2, patched=1)) == ["unpatched-1", "unpatched-2", "pristine-1", "patched-1"]


@pytest.mark.parametrize(
    "checks", [(Check.MODULE_CACHE,), (Check.FUTURE_HISTORY,), (Check.MODULE_CACHE, Check.FUTURE_HISTORY)]
)
def test_one_look_into_the_image_answers_all_checks_that_need_one_right_after_the_first_run(
    checks: tuple[Check, ...],
) -> None:
    found = names(Runs(unpatched=2, patched=1), *checks)
    assert found == ["unpatched-1", "inspect-1", "unpatched-2", "patched-1"]


@pytest.mark.parametrize(("asked", "planned"), [(1, 2), (2, 2), (5, 5)])
def test_go_offline_wants_the_fix_to_pass_twice_and_no_look_into_the_image(asked: int, planned: int) -> None:
    found = names(Runs(unpatched=1, patched=asked), Check.GO_OFFLINE)
    assert found == ["unpatched-1", *(f"patched-{number + 1}" for number in range(planned))]


@given(
    counts=st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 5)), checks=st.sets(st.sampled_from(Check))
)
def test_checks_only_add_runs_and_the_first_is_always_an_unpatched_one(
    counts: tuple[int, int, int], checks: set[Check]
) -> None:
    runs = Runs(pristine=counts[0], unpatched=counts[1], patched=counts[2])
    plain, checked = plan_runs(runs), plan_runs(runs, checks)
    assert checked.first == plain.first
    assert set(checked.runs) >= set(plain.runs)
    assert len(set(checked.runs)) == len(checked.runs)
    added = set(checked.runs) - set(plain.runs)
    assert {run.kind for run in added} <= {RunKind.INSPECT, RunKind.PATCHED}
    assert len(added) <= 1 + GO_OFFLINE_RUNS
    assert all(not run.patches for run in added if run.kind is RunKind.INSPECT)


@pytest.mark.parametrize(("test", "expected"), [(20, 600), (900, 900)])
def test_a_look_into_an_image_is_not_cut_short_by_a_tasks_short_tests(test: int, expected: int) -> None:
    limits = make_limits(test=test)
    assert limits_of_run(Run(kind=RunKind.INSPECT, number=1), limits).test == expected
    assert limits_of_run(Run(kind=RunKind.PATCHED, number=1), limits) == limits
