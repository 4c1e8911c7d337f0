"""An episode with a sandbox, decided from what is known: one table of cases for each rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.api.v1alpha1 import EpisodePhase, SubmissionOutcome
from assay.domain.manifests import FUSE_SECONDS
from assay.domain.pods import PodView
from assay.domain.sandbox_states import (
    ROOM_SECONDS,
    UNREADY_SECONDS,
    AgentState,
    Sandbox,
    SandboxStage,
    SandboxState,
    agent_state_of,
    in_the_way,
    sandbox_state_of,
)
from assay.domain.sandbox_status import Use, untaken, use_of
from assay.domain.sandboxes import LOOK_SECONDS, EpisodeLimits, Offer, SandboxDecision, SandboxKnowledge, decide_sandbox
from assay.domain.status import rfc3339
from assay.domain.task import Limits

NOW = 1_000_000.0
LIMITS = EpisodeLimits(episode=3600.0, idle=600.0, submissions=2)
POD_LIMITS = Limits(queue=600, pull=600, setup=60, test=60, cpu="1", memory="1Gi", ephemeral_storage="1Gi")


def pod(status: dict[str, Any] | None = None, *, deleting: bool = False) -> PodView:
    return PodView(
        namespace="runs",
        name="sandbox",
        uid="pod",
        owner="episode",
        run="sandbox",
        attempt=1,
        epoch="e",
        created=NOW,
        deleting=deleting,
        status=status or {},
    )


def sandbox(stage: SandboxStage, reason: str = "", message: str = "") -> Sandbox:
    return Sandbox(pod=pod(), state=SandboxState(stage=stage, reason=reason, message=message))


READY = SandboxKnowledge(
    limits=LIMITS,
    sandboxes=(sandbox(SandboxStage.READY),),
    ready_at=NOW - 100,
    used_at=NOW - 10,
    looked_at=NOW - 1,
)


def decided(known: SandboxKnowledge, now: float = NOW) -> SandboxDecision:
    return decide_sandbox(known, infra_retries=1, now=now)


def test_an_episode_begins_with_a_sandbox() -> None:
    assert decided(SandboxKnowledge(limits=LIMITS)).create == 1


def test_a_suspended_episode_makes_no_pod() -> None:
    assert decided(SandboxKnowledge(limits=LIMITS, suspended=True)) == SandboxDecision()


def test_a_waiting_sandbox_is_looked_at_when_its_clock_runs_out() -> None:
    waiting = Sandbox(pod=pod(), state=SandboxState(stage=SandboxStage.WAITING, deadline=NOW + 5))
    assert decided(SandboxKnowledge(limits=LIMITS, sandboxes=(waiting,))) == SandboxDecision(wake_at=NOW + 5)


def test_a_sandbox_lost_before_it_was_ready_costs_an_attempt() -> None:
    lost = sandbox(SandboxStage.LOST, "NodeLost", "gone")
    first = decided(SandboxKnowledge(limits=LIMITS, sandboxes=(lost,)))
    assert first == SandboxDecision(lost=(lost,))
    assert decided(SandboxKnowledge(limits=LIMITS, faults=1, fault_at=NOW - 60)).create == 2
    assert decided(SandboxKnowledge(limits=LIMITS, faults=1, fault_at=NOW)).wake_at > NOW


def test_too_many_lost_sandboxes_end_the_episode_without_a_reward() -> None:
    lost = sandbox(SandboxStage.LOST, "NodeLost", "gone")
    ending = decided(SandboxKnowledge(limits=LIMITS, sandboxes=(lost,), faults=1)).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FAILED, "NodeLost", None)


@pytest.mark.parametrize("sandboxes", [(), (sandbox(SandboxStage.LOST, "NodeLost", "gone"),)])
def test_a_sandbox_lost_with_work_in_it_is_never_made_again(sandboxes: tuple[Sandbox, ...]) -> None:
    ending = decided(replace(READY, sandboxes=sandboxes)).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FAILED, "SandboxLost", None)


def test_an_image_that_cannot_be_a_sandbox_is_told_in_its_own_words() -> None:
    refused = sandbox(SandboxStage.REFUSED, "NotARepository", "no work tree")
    ending = decided(SandboxKnowledge(limits=LIMITS, sandboxes=(refused,))).ending
    assert ending
    assert (ending.phase, ending.reason) == (EpisodePhase.FAILED, "NotARepository")


def test_a_ready_sandbox_is_asked_for_its_use_from_time_to_time() -> None:
    assert not decided(READY).look
    assert decided(replace(READY, looked_at=NOW - LOOK_SECONDS)).look


def test_the_agent_is_started_once_the_sandbox_is_ready() -> None:
    assert decided(replace(READY, wants_agent=True)).create_agent
    assert not decided(replace(READY, wants_agent=True, agent=AgentState())).create_agent
    assert not decided(SandboxKnowledge(limits=LIMITS, wants_agent=True)).create_agent


def test_a_submission_is_taken_then_graded_then_ends_the_episode() -> None:
    assert decided(replace(READY, asked=1)).take == 1
    pending = Offer(number=1, outcome=SubmissionOutcome.PENDING)
    assert decided(replace(READY, asked=1, locked=1, offers=(pending,))) == SandboxDecision(grade=1)
    graded = Offer(number=1, outcome=SubmissionOutcome.GRADED, reward=1.0, resolved=True, reason="Resolved")
    ending = decided(replace(READY, asked=1, locked=1, offers=(graded,))).ending
    assert ending
    assert (ending.phase, ending.reward, ending.resolved) == (EpisodePhase.FINISHED, 1.0, True)


def test_grading_goes_on_when_the_sandbox_is_lost_after_its_diff_was_stored() -> None:
    pending = Offer(number=1, outcome=SubmissionOutcome.PENDING)
    assert decided(replace(READY, sandboxes=(), asked=1, offers=(pending,))) == SandboxDecision(grade=1)


def test_after_a_submission_that_was_not_graded_the_agent_goes_on() -> None:
    offer = Offer(number=1, outcome=SubmissionOutcome.NOT_GRADED, reason="TestTimeout", message="too slow")
    assert decided(replace(READY, asked=1, locked=1, offers=(offer,))).release == 1
    assert decided(replace(READY, asked=2, locked=1, offers=(offer,))).take == 2
    assert decided(replace(READY, asked=1, offers=(offer,))).ending is None


def test_the_last_submission_that_was_not_graded_ends_the_episode_without_a_reward() -> None:
    offer = Offer(number=2, outcome=SubmissionOutcome.NOT_GRADED, reason="TestTimeout", message="too slow")
    ending = decided(replace(READY, asked=2, offers=(offer, offer))).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FAILED, "TestTimeout", None)


def test_an_episode_ends_by_its_deadline_and_by_silence() -> None:
    ending = decided(READY, now=READY.ready_at + LIMITS.episode).ending
    assert ending
    assert (ending.phase, ending.reason) == (EpisodePhase.EXPIRED, "EpisodeDeadline")
    late = READY.used_at + LIMITS.idle
    idle = decided(replace(READY, looked_at=late), now=late).ending
    assert idle
    assert (idle.phase, idle.reason) == (EpisodePhase.EXPIRED, "Idle")
    assert decided(READY, now=late).ending is None, "silence counts only when the sandbox was asked just now"


def test_a_submission_that_is_being_graded_does_not_expire() -> None:
    pending = Offer(number=1, outcome=SubmissionOutcome.PENDING)
    assert decided(replace(READY, asked=1, offers=(pending,)), now=NOW + 10_000).grade == 1


def test_a_submission_that_was_made_in_time_is_taken_however_late_the_operator_sees_it() -> None:
    asked = replace(READY, asked=1, looked_at=NOW + 10_000)
    decision = decided(asked, now=NOW + 10_000)
    assert (decision.ending, decision.take) == (None, 1)


def test_cancelling_ends_an_episode_but_takes_no_reward_away() -> None:
    ending = decided(replace(READY, cancelled=True)).ending
    assert ending
    assert (ending.phase, ending.reward) == (EpisodePhase.CANCELLED, None)
    graded = Offer(number=1, outcome=SubmissionOutcome.GRADED, reward=1.0, resolved=True, reason="Resolved")
    kept = decided(replace(READY, cancelled=True, asked=1, offers=(graded,))).ending
    assert kept
    assert kept.phase is EpisodePhase.FINISHED


def test_an_agent_that_may_have_reached_the_network_earns_neither_one_nor_zero() -> None:
    pending = Offer(number=1, outcome=SubmissionOutcome.PENDING)
    ending = decided(replace(READY, leaks=2, asked=1, offers=(pending,))).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FAILED, "IsolationLeak", None)


def test_the_hands_words_become_the_use_of_the_sandbox() -> None:
    said = {
        "calls": 3,
        "callSeconds": 1.5,
        "idleSeconds": 10.0,
        "locked": 2,
        "base": "a" * 40,
        "isolation": {"targets": 1, "leaks": [{"target": "10.0.0.1:443", "seconds": 3.0}], "leakCount": 1},
    }
    use = use_of(said, NOW)
    assert use == Use(
        looked_at=NOW, used_at=NOW - 10, calls=3, call_seconds=1.5, locked=2, base="a" * 40, targets=1, leaks=1
    )
    assert use_of({}, NOW) == Use(looked_at=NOW, used_at=NOW)


@pytest.mark.parametrize(
    ("reason", "outcome", "reward"),
    [("NothingCaptured", "Graded", 0.0), ("SubmissionTooLarge", "Graded", 0.0), ("CaptureFailed", "NotGraded", None)],
)
def test_a_diff_that_cannot_be_taken_ends_the_submission(reason: str, outcome: str, reward: float | None) -> None:
    entry = untaken(1, reason, "why", NOW)
    assert entry
    assert (entry.outcome, entry.reward, entry.message) == (outcome, reward, "why")


def test_a_diff_that_may_yet_be_taken_is_asked_for_again() -> None:
    assert untaken(1, "NotReady", "why", NOW) is None


def test_an_agent_that_ends_without_a_submission_earns_nothing() -> None:
    ending = decided(replace(READY, wants_agent=True, agent=AgentState(exit_code=0))).ending
    assert ending
    assert (ending.phase, ending.reward, ending.reason) == (EpisodePhase.FINISHED, 0.0, "NothingSubmitted")
    asked = decided(replace(READY, wants_agent=True, asked=1, agent=AgentState(exit_code=0)))
    assert asked.ending is None
    assert asked.take == 1


def test_an_agent_that_fails_before_its_first_call_has_given_no_answer() -> None:
    failed = replace(READY, wants_agent=True, agent=AgentState(exit_code=1), looked_at=NOW)
    ending = decided(failed).ending
    assert ending
    assert (ending.phase, ending.reward, ending.reason) == (EpisodePhase.FAILED, None, "AgentFailed")
    worked = decided(replace(failed, calls=1)).ending
    assert worked
    assert (worked.phase, worked.reward, worked.reason) == (EpisodePhase.FINISHED, 0.0, "NothingSubmitted")


def test_an_agent_that_fails_while_no_gateway_is_there_has_given_no_answer() -> None:
    failed = replace(READY, wants_agent=True, agent=AgentState(exit_code=1), looked_at=NOW, calls=3, gateway_away=True)
    ending = decided(failed).ending
    assert ending
    assert (ending.phase, ending.reward, ending.reason) == (EpisodePhase.FAILED, None, "AgentFailed")
    assert "while no gateway was there" in ending.message
    content = decided(replace(failed, agent=AgentState(exit_code=0))).ending
    assert content
    assert content.reward == 0.0


def test_the_sandbox_of_a_failed_agent_is_asked_for_calls_that_nobody_has_seen() -> None:
    failed = replace(READY, wants_agent=True, agent=AgentState(exit_code=1), looked_at=NOW - 1)
    decision = decided(failed)
    assert (decision.ending, decision.look) == (None, True)
    assert decided(replace(failed, calls=1)).look
    assert not decided(replace(failed, calls=1, looked_at=NOW)).look
    unreachable = decided(replace(failed, sandboxes=(sandbox(SandboxStage.WAITING),))).ending
    assert unreachable
    assert unreachable.reward is None


@pytest.mark.parametrize("reason", ["Infrastructure", "EvidenceIncomplete", "ImageUnavailable"])
def test_an_agent_whose_submission_was_lost_to_the_infrastructure_earns_neither_one_nor_zero(reason: str) -> None:
    lost = Offer(number=1, outcome=SubmissionOutcome.NOT_GRADED, reason=reason, message="the nodes went away")
    ending = decided(replace(READY, wants_agent=True, asked=1, offers=(lost,), agent=AgentState(exit_code=0))).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FAILED, reason, None)
    assert "the nodes went away" in ending.message


@pytest.mark.parametrize("reason", ["TestTimeout", "OutOfMemory", "ParseFailed"])
def test_an_agent_that_leaves_a_submission_that_ended_its_own_grading_earns_nothing(reason: str) -> None:
    own = Offer(number=1, outcome=SubmissionOutcome.NOT_GRADED, reason=reason)
    ending = decided(replace(READY, wants_agent=True, asked=1, offers=(own,), agent=AgentState(exit_code=0))).ending
    assert ending
    assert (ending.phase, ending.reason, ending.reward) == (EpisodePhase.FINISHED, "NothingSubmitted", 0.0)


def test_an_agent_that_the_cluster_ended_earns_neither_one_nor_zero() -> None:
    ending = decided(replace(READY, wants_agent=True, agent=AgentState(lost=True, reason="evicted"))).ending
    assert ending
    assert (ending.phase, ending.reward) == (EpisodePhase.FAILED, None)


OFFERS = st.lists(st.sampled_from(SubmissionOutcome), max_size=2).map(
    lambda outcomes: tuple(
        Offer(number=number, outcome=outcome, reward=1.0 if outcome is SubmissionOutcome.GRADED else None)
        for number, outcome in enumerate(outcomes, 1)
    )
)


@given(
    offers=OFFERS,
    asked=st.integers(0, 3),
    cancelled=st.booleans(),
    stage=st.sampled_from([None, *SandboxStage]),
    ready=st.booleans(),
    agent=st.sampled_from([None, AgentState(), AgentState(exit_code=1), AgentState(lost=True)]),
)
def test_a_reward_comes_from_a_graded_submission_or_from_an_agent_that_ended(  # noqa: PLR0917 - drawn
    offers: tuple[Offer, ...],
    asked: int,
    cancelled: bool,
    stage: SandboxStage | None,
    ready: bool,
    agent: AgentState | None,
) -> None:
    known = SandboxKnowledge(
        limits=LIMITS,
        offers=offers,
        asked=asked,
        cancelled=cancelled,
        sandboxes=(sandbox(stage),) if stage else (),
        ready_at=NOW if ready else 0.0,
        agent=agent,
    )
    decision = decided(known)
    effects = [decision.ending, decision.lost, decision.create, decision.take, decision.grade, decision.release]
    assert sum(bool(effect) for effect in effects) <= 1
    if decision.ending and decision.ending.reward is not None:
        graded = bool(offers) and offers[-1].outcome is SubmissionOutcome.GRADED
        assert graded or (agent and agent.exit_code is not None and decision.ending.reward == 0.0)


def ended(container: str, kind: str, **state: Any) -> PodView:
    return pod({kind: [{"name": container, "state": {"terminated": state}}]})


def test_a_sandbox_is_ready_when_its_pod_is() -> None:
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        "containerStatuses": [{"name": "task", "imageID": "x@sha256:0"}],
    }
    state = sandbox_state_of(pod(status), POD_LIMITS, NOW)
    assert (state.stage, state.addresses, state.image_id) == (
        SandboxStage.READY,
        ("10.0.0.1", "fd00::1"),
        "x@sha256:0",
    )


def test_an_unproven_network_is_a_fault() -> None:
    state = sandbox_state_of(ended("witness", "initContainerStatuses", exitCode=70), POD_LIMITS, NOW)
    assert (state.stage, state.reason) == (SandboxStage.LOST, "IsolationUnavailable")


def test_a_witness_that_was_started_again_is_no_fault() -> None:
    again = {
        "initContainerStatuses": [
            {"name": "witness", "restartCount": 1, "lastState": {"terminated": {"exitCode": 137}}}
        ],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    assert sandbox_state_of(pod(again), POD_LIMITS, NOW).stage is SandboxStage.READY


def test_a_failed_set_up_is_a_fact_and_a_killed_first_process_a_loss() -> None:
    refused = ended("task", "containerStatuses", exitCode=95, message="NotARepository no .git here")
    state = sandbox_state_of(refused, POD_LIMITS, NOW)
    assert (state.stage, state.reason) == (SandboxStage.REFUSED, "NotARepository")
    killed = ended("task", "containerStatuses", exitCode=137, reason="OOMKilled")
    assert sandbox_state_of(killed, POD_LIMITS, NOW).stage is SandboxStage.LOST


@pytest.mark.parametrize(
    ("state", "stage", "reason"),
    [
        ({"exitCode": 128, "reason": "StartError", "message": "context deadline exceeded"}, "Lost", "StartFailed"),
        ({"exitCode": 128, "reason": "StartError", "message": "no space left on device"}, "Lost", "StartFailed"),
        ({"exitCode": 95, "message": "StorageFull the volume is full"}, "Lost", "StartFailed"),
        ({"exitCode": 95, "message": "ScratchUnavailable"}, "Lost", "StartFailed"),
        ({"exitCode": 128, "reason": "StartError", "message": "exec format error"}, "Refused", "PlatformMismatch"),
        (
            {"exitCode": 127, "reason": "StartError", "message": "exec /bin/sh: no such file or directory"},
            "Refused",
            "SetupFailed",
        ),
    ],
)
def test_a_sandbox_that_does_not_start_is_judged_as_a_run_is(state: dict[str, Any], stage: str, reason: str) -> None:
    said = sandbox_state_of(ended("task", "containerStatuses", **state), POD_LIMITS, NOW)
    assert (said.stage, said.reason) == (stage, reason)


def test_a_sandbox_that_is_deleted_under_the_agent_is_lost() -> None:
    assert sandbox_state_of(pod(deleting=True), POD_LIMITS, NOW).stage is SandboxStage.LOST


def test_a_sandbox_that_no_node_takes_is_lost_when_its_queue_deadline_has_passed() -> None:
    assert sandbox_state_of(pod(), POD_LIMITS, NOW).stage is SandboxStage.WAITING
    assert sandbox_state_of(pod(), POD_LIMITS, NOW + 601).stage is SandboxStage.LOST


def running(unready_after: float) -> PodView:
    """A sandbox whose first process runs since ``NOW``, and that is not ready since so many seconds later."""
    unready = {"type": "Ready", "status": "False", "lastTransitionTime": rfc3339(NOW + unready_after)}
    task = {"name": "task", "state": {"running": {"startedAt": rfc3339(NOW)}}}
    return pod({"conditions": [unready], "containerStatuses": [task]})


def test_a_sandbox_that_is_never_ready_is_lost_when_its_set_up_must_be_over() -> None:
    never, late = running(-5), NOW + POD_LIMITS.setup + 2 * FUSE_SECONDS
    assert sandbox_state_of(never, POD_LIMITS, late).stage is SandboxStage.WAITING
    assert sandbox_state_of(never, POD_LIMITS, late + 1).stage is SandboxStage.LOST


def test_a_sandbox_that_is_not_ready_for_a_moment_keeps_its_agents_work_however_old_it_is() -> None:
    hours = 10_000.0
    moment = sandbox_state_of(running(hours), POD_LIMITS, NOW + hours + 20)
    assert (moment.stage, moment.deadline) == (SandboxStage.WAITING, NOW + hours + UNREADY_SECONDS)
    for_good = sandbox_state_of(running(hours), POD_LIMITS, NOW + hours + UNREADY_SECONDS + 1)
    assert (for_good.stage, for_good.reason) == (SandboxStage.LOST, "NodeLost")


def test_a_grading_that_finds_no_node_takes_the_place_of_its_own_sandbox() -> None:
    unplaced = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    placed = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    own, other = replace(pod(), run="sandbox-1"), replace(pod(), run="sandbox-1", owner="another")
    grading = replace(pod(unplaced), run="graded-1")
    assert in_the_way((own, other, grading), NOW + ROOM_SECONDS) == (own,)
    assert in_the_way((own, other, grading), NOW + ROOM_SECONDS - 1) == ()
    assert in_the_way((own, other, replace(grading, status=placed)), NOW + ROOM_SECONDS) == ()
    waiting = replace(pod(unplaced), run="sandbox-1")
    assert in_the_way((waiting, own), NOW + ROOM_SECONDS) == (), "a sandbox waits for others to end"


def test_an_agents_end_is_told_with_its_exit_code() -> None:
    assert agent_state_of(ended("agent", "containerStatuses", exitCode=3)).exit_code == 3
    assert agent_state_of(pod()).exit_code is None
    assert agent_state_of(pod(deleting=True)).lost


def agent_pod(*, deleting: bool = False, pod_status: dict[str, Any] | None = None, **terminated: Any) -> PodView:
    status = {"containerStatuses": [{"name": "agent", "state": {"terminated": terminated}}], **(pod_status or {})}
    return pod(status, deleting=deleting)


DISRUPTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]}


@pytest.mark.parametrize(
    "cut_off",
    [
        agent_pod(exitCode=137, reason="Error", pod_status={"phase": "Failed", "reason": "Evicted"}),
        agent_pod(exitCode=143, reason="Error", deleting=True, pod_status=DISRUPTED),
        agent_pod(exitCode=137, reason="ContainerStatusUnknown", pod_status={"phase": "Failed"}),
    ],
)
def test_an_agent_that_was_killed_with_its_pod_is_lost_though_its_container_has_an_exit_code(cut_off: PodView) -> None:
    state = agent_state_of(cut_off)
    assert (state.lost, state.exit_code) == (True, None)


def test_an_agent_that_ended_by_itself_is_not_lost() -> None:
    failed = agent_state_of(agent_pod(exitCode=3, reason="Error", pod_status={"phase": "Failed"}))
    assert (failed.lost, failed.exit_code) == (False, 3)
    done = agent_state_of(agent_pod(exitCode=0, reason="Completed", deleting=True))
    assert (done.lost, done.exit_code) == (False, 0)
