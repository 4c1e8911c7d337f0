"""What is done next, in the cases that matter and along random lives of an object."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.v1alpha1 import Runs
from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.decide import Attempt, Decision, FaultRecord, Knowledge, decide, pinned_image, retry_at
from assay.domain.outcomes import FaultKind, OutcomeKind, RunOutcome
from assay.domain.plan import Run, plan_runs
from assay.domain.pods import PodState, PodView, Stage
from assay.domain.profiles import PROFILES
from assay.domain.verdict import Verdict
from builders import make_outcome, make_task

TASK = make_task(f2p=["t"])
PLAN = plan_runs(Runs(unpatched=2, patched=1))
RETRIES = 2


def make_attempt(run: Run, attempt: int = 1, stage: Stage = Stage.RUNNING) -> Attempt:
    name = f"{run.name}/{attempt}"
    pod = PodView(
        namespace="n",
        name=name,
        uid=name,
        owner="o",
        run=run.name,
        attempt=attempt,
        epoch="e",
        created=0,
        deleting=False,
        status={},
    )
    kind = FaultKind.DISRUPTED if stage is Stage.LOST else None
    return Attempt(run=run, pod=pod, state=PodState(stage=stage, kind=kind))


def make_known(**fields: object) -> Knowledge:
    base = Knowledge(task=TASK, plan=PLAN, profile=PROFILES["strict"], attempts=())
    return replace(base, **fields)  # type: ignore[arg-type]


def next_of(known: Knowledge, now: float = 1000.0) -> Decision:
    return decide(known, infra_retries=RETRIES, now=now)


def outcome_of(run: Run):
    word = {"passed": ["t"]} if run.kind == "patched" else {"failed": ["t"]}
    return make_outcome(run.name, **word)


def test_the_first_run_goes_alone():
    assert next_of(make_known()).create == ((PLAN.first, 1),)


def test_the_others_follow_together_once_it_has_an_outcome():
    decision = next_of(make_known(outcomes={PLAN.first.name: outcome_of(PLAN.first)}))
    assert decision.create == tuple((run, 1) for run in PLAN.rest)


def test_a_run_with_a_pod_gets_no_second_one():
    assert next_of(make_known(attempts=(make_attempt(PLAN.first),))).create == ()


def test_a_suspended_object_gets_no_new_pod():
    assert next_of(make_known(suspended=True)).create == ()


def test_reading_comes_before_anything_else():
    decision = next_of(make_known(attempts=(make_attempt(PLAN.first, stage=Stage.ENDED),)))
    assert (len(decision.read), decision.create, decision.delete) == (1, (), ())


def test_a_pod_whose_outcome_is_not_in_status_is_not_deleted():
    outcomes = {PLAN.first.name: outcome_of(PLAN.first)}
    attempts = (make_attempt(PLAN.first, stage=Stage.ENDED),)
    assert next_of(make_known(outcomes=outcomes, attempts=attempts)).delete == ()
    committed = frozenset(outcomes)
    assert len(next_of(make_known(outcomes=outcomes, attempts=attempts, committed=committed)).delete) == 1


def test_a_lost_attempt_is_tried_again_after_a_pause_and_its_pod_deleted():
    fault = FaultRecord(attempt=1, kind=FaultKind.DISRUPTED, message="", at=1000.0)
    known = make_known(faults={PLAN.first.name: (fault,)}, attempts=(make_attempt(PLAN.first),))
    early = next_of(known, now=1000.5)
    assert (early.create, early.wake_at, len(early.delete)) == ((), retry_at((fault,)), 1)
    assert next_of(known, now=1100.0).create == ((PLAN.first, 2),)


def test_a_late_word_of_a_lost_attempt_is_not_heard():
    fault = FaultRecord(attempt=1, kind=FaultKind.NODE_LOST, message="", at=0.0)
    known = make_known(faults={PLAN.first.name: (fault,)}, attempts=(make_attempt(PLAN.first, 1, Stage.ENDED),))
    assert next_of(known).read == ()


def test_a_spent_budget_is_inconclusive_and_never_a_drop():
    faults = tuple(
        FaultRecord(attempt=n, kind=FaultKind.POD_VANISHED, message="gone", at=0.0) for n in range(1, RETRIES + 2)
    )
    verdict = next_of(make_known(faults={PLAN.first.name: faults})).verdict
    assert verdict is not None
    assert verdict.kind is VerdictKind.INCONCLUSIVE


def test_a_run_that_has_its_outcome_is_not_spent_when_fewer_retries_are_allowed_later():
    faults = tuple(FaultRecord(attempt=n, kind=FaultKind.DISRUPTED, message="", at=0.0) for n in range(1, 4))
    known = make_known(outcomes={PLAN.first.name: outcome_of(PLAN.first)}, faults={PLAN.first.name: faults})
    decision = decide(known, infra_retries=1, now=1000.0)
    assert decision.verdict is None
    assert decision.create == tuple((run, 1) for run in PLAN.rest)


def test_attempts_go_on_counting_when_status_kept_only_the_last_faults():
    kept = tuple(FaultRecord(attempt=n, kind=FaultKind.DISRUPTED, message="", at=0.0) for n in range(3, 8))
    known = make_known(faults={PLAN.first.name: kept})
    assert decide(known, infra_retries=9, now=1000.0).create == ((PLAN.first, 8),)
    assert decide(known, infra_retries=6, now=1000.0).verdict is not None


def test_outcomes_that_were_judged_before_are_not_judged_again():
    condemned = make_outcome(PLAN.first.name, passed=["t"])
    known = make_known(outcomes={PLAN.first.name: condemned})
    assert next_of(known).verdict is not None
    assert next_of(replace(known, judged=frozenset(known.outcomes))).verdict is None


@pytest.mark.parametrize(
    ("requested", "image_id", "pinned"),
    [
        ("r.test:5000/a/b:1", "r.test:5000/a/b@sha256:00", "r.test:5000/a/b@sha256:00"),
        ("a", "docker.io/library/a@sha256:00", "a@sha256:00"),
        ("a:1", "sha256:00", ""),
        ("a:1", "", ""),
        ("a@sha256:11", "a@sha256:00", "a@sha256:11"),
    ],
)
def test_an_image_is_pinned_by_what_the_node_ran(requested: str, image_id: str, pinned: str):
    assert pinned_image(requested, image_id) == pinned


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["end", "lose", "restart", "wait"]), st.integers(0, 3)), max_size=40))
def test_no_life_of_an_object_has_two_counted_pods_of_a_run_or_a_verdict_by_a_fault(steps):
    known, now, made = make_known(), 0.0, set()
    for what, which in steps:
        now += 400
        decision = next_of(known, now)
        if decision.verdict:
            break
        gone = {pod.uid for pod in decision.delete}
        kept = tuple(attempt for attempt in known.attempts if attempt.pod.uid not in gone)
        new = tuple(make_attempt(run, attempt) for run, attempt in decision.create)
        assert not made & {attempt.pod.uid for attempt in new}
        made |= {attempt.pod.uid for attempt in new}
        known = replace(known, attempts=(*kept, *new))
        running = [a for a in known.attempts if a.state.stage is Stage.RUNNING and a.run.name not in known.outcomes]
        names = [attempt.run.name for attempt in running]
        assert len(names) == len(set(names))
        if not running:
            continue
        chosen = running[which % len(running)]
        if what == "end":
            known = replace(known, outcomes={**known.outcomes, chosen.run.name: outcome_of(chosen.run)})
        elif what == "lose":
            before = known.faults.get(chosen.run.name, ())
            fault = FaultRecord(attempt=chosen.pod.attempt, kind=FaultKind.DISRUPTED, message="", at=now)
            known = replace(known, faults={**known.faults, chosen.run.name: (*before, fault)})
        elif what == "restart":
            known = replace(known, judged=frozenset(), committed=frozenset(known.outcomes))
    verdict = next_of(known, now + 400).verdict
    if verdict and len(known.outcomes) == len(PLAN.runs):
        assert verdict.kind is VerdictKind.VALID
    elif verdict:
        assert verdict.kind is VerdictKind.INCONCLUSIVE


def live(outcomes: dict[str, RunOutcome], losses: dict[str, list[FaultKind]]) -> tuple[Verdict, int]:
    """One object's whole life: each run loses its first attempts to these faults, then ends as told.

    Returns the verdict and the number of pods that were made.
    """
    known, now, pods = make_known(), 0.0, 0
    for _ in range(200):
        now += 400
        decision = next_of(known, now)
        if decision.verdict:
            return decision.verdict, pods
        for run, attempt in decision.create:
            pods += 1
            before = known.faults.get(run.name, ())
            if len(losses.get(run.name, ())) >= attempt:
                fault = FaultRecord(attempt=attempt, kind=losses[run.name][attempt - 1], message="lost", at=now)
                known = replace(known, faults={**known.faults, run.name: (*before, fault)})
            else:
                known = replace(known, outcomes={**known.outcomes, run.name: outcomes[run.name]})
    raise AssertionError("no verdict")


LOSSES = st.dictionaries(
    st.sampled_from([run.name for run in PLAN.runs]),
    st.lists(st.sampled_from(FaultKind), min_size=1, max_size=RETRIES + 2),
)
WORDS = st.dictionaries(st.sampled_from(["t", "u"]), st.sampled_from(["PASSED", "FAILED", "SKIPPED"]))
OUTCOMES = st.fixed_dictionaries(
    {
        run.name: st.builds(
            lambda results, kind, run=run: make_outcome(run.name, results=results, kind=kind),
            WORDS,
            st.one_of(st.just(OutcomeKind.FINISHED), st.sampled_from(OutcomeKind)),
        )
        for run in PLAN.runs
    }
)


@settings(max_examples=200, deadline=None)
@given(OUTCOMES, LOSSES)
def test_faults_of_the_infrastructure_never_change_a_verdict(
    outcomes: dict[str, RunOutcome], losses: dict[str, list[FaultKind]]
) -> None:
    plain, _ = live(outcomes, {})
    troubled, pods = live(outcomes, losses)
    spent = any(len(lost) > RETRIES for lost in losses.values())
    assert troubled.kind in ({plain.kind, VerdictKind.INCONCLUSIVE} if spent else {plain.kind})
    if all(outcome.kind is OutcomeKind.FINISHED for outcome in outcomes.values()) and not spent:
        assert (troubled.reason, troubled.tests) == (plain.reason, plain.tests)
    assert pods <= len(PLAN.runs) + sum(len(lost) for lost in losses.values())
