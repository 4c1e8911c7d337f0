"""What an object's status says of what is known, and that it always fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.api import v1alpha1 as api
from assay.domain import verdict as verdicts
from assay.domain.decide import Attempt, FaultRecord, Knowledge, decide, next_attempt
from assay.domain.outcomes import Artifact, BasePlace, FaultKind, Isolation, OutcomeKind
from assay.domain.plan import plan_runs
from assay.domain.pods import PodState, PodView, Stage
from assay.domain.profiles import PROFILES
from assay.domain.rules import verdict_of
from assay.domain.status import BASE_FOUND, counts_of, merged_conditions, printable, refused_status, rfc3339, status_of
from assay.domain.status_size import MAX_BYTES, bytes_of
from assay.domain.task import Refusal
from assay.domain.verdict import Reason, Verdict
from builders import IMAGE, make_outcome, make_task

PLAN = plan_runs(api.Runs(unpatched=2, patched=1))
NOW = 1_767_225_600.0
PROVEN = Isolation(targets=3, samples=2, gate_seconds=0.1)
LOG = Artifact(uri="file:///store/aa/aa.zst", sha256="a" * 64, bytes=12)


def make_known(**fields: object) -> Knowledge:
    base = Knowledge(task=make_task(f2p=["t"]), plan=PLAN, profile=PROFILES["strict"], attempts=())
    return replace(base, **fields)  # type: ignore[arg-type]


def status(known: Knowledge, **fields: object) -> api.TaskValidationStatus:
    said = {
        "generation": 1,
        "previous": api.TaskValidationStatus(),
        "verdict": None,
        "report": None,
        "platform": "linux/amd64",
        "now": NOW,
    }
    return status_of(known, **(said | fields))  # type: ignore[arg-type]


def attempt_made_at(created: float) -> Attempt:
    pod = PodView(
        namespace="n", name="p", uid="u", owner="o", run="unpatched-1", attempt=1, epoch="e", created=created,
        deleting=False, status={},
    )  # fmt: skip
    return Attempt(run=PLAN.first, pod=pod, state=PodState(stage=Stage.RUNNING))


def finished() -> dict[str, object]:
    runs = {}
    for run in PLAN.runs:
        word = {"passed": ["t"]} if run.kind == "patched" else {"failed": ["t"]}
        runs[run.name] = make_outcome(run.name, **word, isolation=PROVEN, log=LOG, image_id=IMAGE)  # type: ignore[arg-type]
    return runs


def fault(
    attempt: int = 1, kind: FaultKind = FaultKind.DISRUPTED, message: str = "why", at: float = NOW
) -> FaultRecord:
    return FaultRecord(attempt=attempt, kind=kind, message=message, at=at)


def conditions(found: api.TaskValidationStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in found.conditions}


def test_an_object_runs_from_the_time_when_its_first_pod_was_made() -> None:
    known = make_known(attempts=[attempt_made_at(NOW + 7), attempt_made_at(NOW + 5)])
    found = status(known, now=NOW + 60)
    assert (found.phase, found.started_at) == ("Running", rfc3339(NOW + 5))
    later = status(make_known(), previous=found, now=NOW + 90)
    assert (later.phase, later.started_at) == ("Running", rfc3339(NOW + 5))


def test_an_object_that_waits_for_its_first_pod_is_pending_and_nothing_is_known_yet() -> None:
    found = status(make_known())
    assert (found.phase, found.verdict, found.started_at, found.completed_at) == ("Pending", None, None, None)
    assert conditions(found) == {
        "Accepted": ("True", "TaskAccepted"),
        "ImageResolved": ("Unknown", "FirstRunPending"),
        "NetworkIsolationVerified": ("Unknown", "NoRunYet"),
        "Complete": ("False", "RunsPending"),
        "Valid": ("Unknown", "RunsPending"),
    }


def test_a_valid_task_is_complete_with_all_that_its_verdict_stands_on() -> None:
    known = make_known(outcomes=finished(), pinned=IMAGE)
    verdict = verdict_of(known.task, list(known.outcomes.values()), known.profile)
    found = status(known, verdict=verdict, report=LOG)
    assert (found.phase, found.verdict, found.completed_at) == ("Complete", "Valid", rfc3339(NOW))
    assert (found.tests.fail_to_pass.count, found.tests.fail_to_pass.first) == (1, ("t",))
    assert [run.name for run in found.runs] == [run.name for run in PLAN.runs]
    assert (found.runs[0].log, found.report) == (found.report, found.runs[0].log)
    assert (found.image.digest, found.image.platform) == (IMAGE, "linux/amd64")
    said = conditions(found)
    assert {kind: state for kind, (state, _) in said.items()} == dict.fromkeys(said, "True")


@pytest.mark.parametrize(
    ("kind", "valid"),
    [(api.Verdict.VALID, "True"), (api.Verdict.INVALID, "False"), (api.Verdict.INCONCLUSIVE, "Unknown")],
)
def test_the_condition_valid_has_three_answers(kind: api.Verdict, valid: str) -> None:
    found = status(make_known(), verdict=Verdict(kind=kind, reason=Reason.INFRASTRUCTURE, message="m"))
    assert conditions(found)["Valid"] == (valid, "InfrastructureFault")
    assert conditions(found)["Complete"] == ("True", "VerdictReached")


def test_a_suspended_object_says_so() -> None:
    assert conditions(status(make_known(suspended=True)))["Complete"] == ("False", "Suspended")


def test_a_run_that_lost_its_attempts_shows_them_and_the_one_that_is_next() -> None:
    found = status(make_known(faults={"unpatched-1": (fault(1), fault(2, FaultKind.POD_VANISHED))}))
    run = found.runs[0]
    assert (run.name, run.outcome, run.attempt) == ("unpatched-1", "Pending", 3)
    assert [(lost.attempt, lost.reason) for lost in run.faults] == [(1, "Disrupted"), (2, "PodVanished")]


def test_only_the_latest_faults_are_kept_and_the_next_attempt_is_still_known() -> None:
    faults = tuple(fault(number) for number in range(1, 12))
    run = status(make_known(faults={"unpatched-1": faults})).runs[0]
    assert [lost.attempt for lost in run.faults] == [7, 8, 9, 10, 11]
    assert run.attempt == next_attempt(faults) == 12


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(FaultKind.ISOLATION_UNAVAILABLE, "PolicyNotEnforced"), (FaultKind.ISOLATION_LEAK, "IsolationLeak")],
)
def test_a_network_that_cannot_be_proven_shut_is_said_by_the_latest_fault(kind: FaultKind, reason: str) -> None:
    faults = {"unpatched-1": (fault(1, FaultKind.DISRUPTED, at=NOW), fault(2, kind, at=NOW + 1))}
    assert conditions(status(make_known(faults=faults)))["NetworkIsolationVerified"] == ("False", reason)


def test_an_attempt_lost_to_isolation_does_not_hide_the_runs_that_proved_it() -> None:
    known = make_known(outcomes=finished(), faults={"unpatched-1": (fault(1, FaultKind.ISOLATION_UNAVAILABLE),)})
    assert conditions(status(known))["NetworkIsolationVerified"] == ("True", "Proven")


@pytest.mark.parametrize("kind", [OutcomeKind.IMAGE_UNAVAILABLE, OutcomeKind.PLATFORM_MISMATCH])
def test_an_image_that_cannot_run_is_not_resolved(kind: OutcomeKind) -> None:
    outcome = make_outcome("unpatched-1", kind=kind, message="manifest unknown", commands=())
    assert conditions(status(make_known(outcomes={"unpatched-1": outcome})))["ImageResolved"] == ("False", kind)


def test_an_image_known_by_its_configuration_alone_is_named_so() -> None:
    outcome = make_outcome("unpatched-1", failed=["t"], image_id="sha256:" + "b" * 64)
    found = status(make_known(outcomes={"unpatched-1": outcome}))
    assert conditions(found)["ImageResolved"] == ("True", "ImageIdentifier")
    assert found.image.digest == "sha256:" + "b" * 64


def test_a_refused_object_is_complete_invalid_and_names_the_field() -> None:
    refusal = Refusal(field="spec.task.tests.parser", why="unknown parser 'x'")
    found = refused_status(refusal, generation=2, previous=api.TaskValidationStatus(), now=NOW)
    assert (found.phase, found.verdict, found.reason) == ("Complete", "Invalid", "MalformedTask")
    assert found.message == "spec.task.tests.parser: unknown parser 'x'"
    assert conditions(found)["Accepted"] == ("False", "MalformedTask")
    assert conditions(found)["Complete"][0] == "True"
    assert {condition.observed_generation for condition in found.conditions} == {2}


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    before = merged_conditions((), [("A", "True", "X", ""), ("B", "False", "X", "")], 1, NOW)
    after = merged_conditions(before, [("A", "True", "Y", "new"), ("B", "True", "X", "")], 2, NOW + 60)
    assert [condition.last_transition_time for condition in after] == [rfc3339(NOW), rfc3339(NOW + 60)]
    assert (after[0].reason, after[0].message, after[0].observed_generation) == ("Y", "new", 2)


def test_equal_knowledge_gives_an_equal_status() -> None:
    known = make_known(outcomes=finished(), pinned=IMAGE)
    first = status(known, previous=status(known))
    assert status(known, previous=first, now=NOW + 3600) == first


def test_tests_of_a_run_are_counted_by_how_they_ended() -> None:
    words = ["PASSED", "XFAIL", "FAILED", "ERROR", "SKIPPED", "XPASS"]
    counts = counts_of({str(number): word for number, word in enumerate(words)})
    assert (counts.passed, counts.failed, counts.skipped, counts.other) == (2, 2, 1, 1)


@given(st.text())
def test_what_is_shown_is_printable_and_can_be_sent(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text).encode().decode() == printable(text)


LOSSES = st.tuples(st.integers(0, 9), st.booleans())
LETTERS = st.sampled_from(["a", "<", "&", "\x00", "\n", "é", "\N{PARTY POPPER}", "\ud800", '"', "\\"])
MOST_RUNS = api.Runs(pristine=10, unpatched=20, patched=20)
WORDS = st.builds(lambda letter, count: letter * count, LETTERS, st.integers(0, 4000))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(
    runs=st.builds(api.Runs, pristine=st.integers(0, 10), unpatched=st.integers(1, 20), patched=st.integers(1, 20)),
    names=st.lists(WORDS, min_size=1, max_size=12),
    message=WORDS,
    uri=st.integers(1, 500),
    loss=LOSSES,
)
@example(runs=MOST_RUNS, names=["<" * 4000] * 12, message="<" * 4000, uri=500, loss=(9, True))
@example(runs=MOST_RUNS, names=["<" * 4000] * 12, message="<" * 4000, uri=500, loss=(9, False))
def test_a_status_is_smaller_than_32_kib_whatever_the_task(  # type: ignore[no-untyped-def]
    runs, names, message, uri, loss
) -> None:
    plan, (lost, ended) = plan_runs(runs), loss
    artifact = Artifact(uri="s" * uri, sha256="f" * 64, bytes=10**12)
    known = make_known(
        plan=plan,
        task=make_task(image="r.test/" + "i" * 400),
        pinned="r.test/" + "i" * 330 + "@sha256:" + "a" * 64,
        outcomes={
            run.name: make_outcome(
                run.name,
                failed=names,
                kind=OutcomeKind.TEST_PATCH_DOES_NOT_APPLY,
                message=message[:1000],
                attempt=lost + 1,
                isolation=Isolation(targets=100, samples=10**6, leaks=0, gate_seconds=29.123),
                log=artifact,
                results_artifact=artifact,
                image_id=IMAGE,
            )
            for run in plan.runs
            if ended or run is not plan.first
        },
        faults={
            run.name: tuple(fault(n, FaultKind.ISOLATION_UNAVAILABLE, message) for n in range(1, lost + 1))
            for run in plan.runs
        },
    )
    pairs = tuple((name, message) for name in names)
    tests = verdicts.TestLists(
        fail_to_pass=tuple(names), pass_to_pass=tuple(names), flaky=pairs, excluded=pairs, unstable=tuple(names)
    )
    verdict = Verdict(kind=api.Verdict.INVALID, reason=Reason.PASS_TO_PASS_REGRESSION, message=message, tests=tests)
    origin = api.Provenance(dataset="<" * 300, revision="<" * 200, family="f" * 60, row=10**9, row_digest="f" * 64)
    found = status(known, verdict=verdict, report=artifact, provenance=origin)
    assert bytes_of(found) <= MAX_BYTES
    api.TaskValidationStatus.model_validate(api.to_wire(found))
    assert found.tests.fail_to_pass.count == len(names)
    for run in found.runs:
        assert run.attempt == lost + 1
        assert not lost or run.faults[-1].attempt == lost
        assert run.log is None or run.log.sha256 == "f" * 64


def test_a_status_of_a_usual_task_is_told_in_full() -> None:
    known = make_known(outcomes=finished(), faults={"unpatched-1": (fault(message="m" * 250),)})
    found = status(known)
    assert found.runs[0].log is not None
    assert found.runs[0].log.uri == LOG.uri
    assert found.runs[0].faults[0].message == "m" * 250


def test_a_budget_that_is_spent_is_told_in_the_status() -> None:
    known = make_known(faults={"unpatched-1": tuple(fault(n, at=0.0) for n in (1, 2, 3))})
    verdict = decide(known, infra_retries=2, now=NOW).verdict
    found = status(known, verdict=verdict)
    assert (found.verdict, found.reason) == ("Inconclusive", "InfrastructureFault")
    assert "unpatched-1 was lost 3 times" in found.message


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (BasePlace.HEAD, ("True", "AtHead")),
        (BasePlace.ANCESTOR, ("True", "BelowHead")),
        (BasePlace.OTHER, ("False", "OtherHistory")),
        (BasePlace.ABSENT, ("False", "NotInImage")),
        (BasePlace.UNKNOWN, None),
    ],
)
def test_where_the_base_commit_lies_in_the_image_is_said_once_a_run_has_told_it(
    place: BasePlace, said: tuple[str, str] | None
) -> None:
    outcome = make_outcome("unpatched-1", failed=["t"], base=place)
    assert conditions(status(make_known(outcomes={"unpatched-1": outcome}))).get(BASE_FOUND) == said
