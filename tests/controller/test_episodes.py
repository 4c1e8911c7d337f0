"""What an episode's JSON becomes: a grading, something that it waits for, or a refusal with its field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.controller.cache import object_view_of
from assay.controller.episodes import EpisodeLine
from assay.controller.lines import Idle
from assay.controller.memory import Memory
from assay.controller.sandbox_pods import Episode
from assay.domain.decide import Knowledge
from assay.domain.grading import Expectation
from assay.domain.submissions import Applied
from assay.domain.task import Refusal
from assay.kube.client import ApiError, Kind
from assay.store.artifacts import Store
from builders import PATCH, make_manifest, make_spec

REPORT = {"failToPass": ["f"], "passToPass": ["p"], "flaky": {"coin": "1/2"}, "unstable": [], "excluded": {}}
DIGEST = "registry.test/acorn/lantern@sha256:" + "b" * 64


class Server:
    """An API server that has at most one TaskValidation."""

    def __init__(self, validation: dict[str, Any] | None = None) -> None:
        self._validation = validation

    async def get(self, _kind: Kind, _namespace: str, name: str) -> dict[str, Any]:
        if self._validation is None:
            raise ApiError(404, "NotFound", f"there is no {name}")
        return self._validation


def episode(**spec: Any) -> dict[str, Any]:
    defaults = {"submission": {"patch": PATCH, "model": "m"}}
    metadata = {"name": "e", "namespace": "n", "uid": "u", "generation": 1}
    return {"kind": "AgentEpisode", "metadata": metadata, "spec": {**defaults, **spec}}


def validation(store: Store, **status: Any) -> dict[str, Any]:
    stored = store.put(json.dumps(REPORT).encode())
    report = {"uri": stored.uri, "sha256": stored.sha256, "bytes": stored.bytes}
    runs = [{"name": "patched-1", "outcome": "Finished", "exitCode": 0}]
    said = {"phase": "Complete", "verdict": "Valid", "report": report, "image": {"digest": DIGEST}, "runs": runs}
    return make_manifest("v") | {"status": said | status}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}")


def inline(f2p: tuple[str, ...]) -> dict[str, Any]:
    task = make_spec(f2p=f2p, p2p=("p",)).task
    assert task
    return api.to_wire(task)


async def test_the_log_is_read_by_the_parser_that_the_validations_verdict_was_made_with(store: Store) -> None:
    judged = validation(store, regrade={"parser": "parse_log_gotest"})
    memory = await EpisodeLine(Server(judged), store).memory_of(episode(validation="v"))  # type: ignore[arg-type]
    assert isinstance(memory, Memory)
    assert memory.task.parser == "parse_log_gotest"


async def test_a_validations_episode_takes_its_lists_its_image_and_keeps_the_submission(store: Store) -> None:
    memory = await EpisodeLine(Server(validation(store)), store).memory_of(episode(validation="v"))  # type: ignore[arg-type]
    assert isinstance(memory, Memory)
    assert memory.grading
    assert memory.grading.expected == Expectation(
        fail_to_pass=("f",),
        pass_to_pass=("p",),
        tolerated=frozenset({"coin"}),
        reference_exits=frozenset({(0, False)}),
    )
    assert isinstance(memory.grading.submission, Applied)
    assert (memory.pinned, memory.owner.kind, memory.limits.test) == (DIGEST, "AgentEpisode", 600)
    assert memory.grading.diff
    assert store.get(memory.grading.diff.sha256) == PATCH.encode()
    assert [run.name for run in memory.plan.runs] == ["graded-1"]


async def test_limits_test_is_the_deadline_of_each_command(store: Store) -> None:
    raw = episode(task=inline(("f",)), limits={"test": "20s"})
    memory = await EpisodeLine(Server(), store).memory_of(raw)  # type: ignore[arg-type]
    assert isinstance(memory, Memory)
    assert memory.limits.test == 20


async def test_a_stored_prediction_is_read_by_its_hash(store: Store) -> None:
    digest = store.put(PATCH.encode()).sha256
    raw = episode(task=inline(("f",)), submission={"digest": digest})
    memory = await EpisodeLine(Server(), store).memory_of(raw)  # type: ignore[arg-type]
    assert isinstance(memory, Memory)
    assert memory.grading
    assert memory.grading.submission == Applied(diff=PATCH.encode(), paths=(b"m.py",))


async def test_what_is_not_there_yet_is_waited_for(store: Store) -> None:
    pending = validation(store, verdict=None, phase="Running")
    for server, reason in ((Server(), "ValidationMissing"), (Server(pending), "ValidationPending")):
        idle = await EpisodeLine(server, store).memory_of(episode(validation="v"))  # type: ignore[arg-type]
        assert isinstance(idle, Idle)
        assert idle.again_seconds > 0
        assert {one.type: one.reason for one in idle.status.conditions}["Accepted"] == reason


async def test_an_episode_that_is_cancelled_while_it_waits_ends(store: Store) -> None:
    idle = await EpisodeLine(Server(), store).memory_of(episode(validation="v", cancel=True))  # type: ignore[arg-type]
    assert isinstance(idle, Idle)
    assert (idle.status.phase, idle.status.reason) == ("Cancelled", "Cancelled")
    assert idle.ending
    assert idle.ending.labels == ("NotGraded", "Cancelled")


async def test_an_episode_that_is_cancelled_while_it_is_graded_ends_without_a_reward(store: Store) -> None:
    line = EpisodeLine(Server(), store)  # type: ignore[arg-type]
    raw = episode(task=inline(("f",)))
    memory = await line.memory_of(raw)
    assert isinstance(memory, Memory)
    known = Knowledge(task=memory.task, plan=memory.plan, profile=memory.profile, attempts=())
    assert line.conclude(memory, known, 2) is None
    view = object_view_of(episode(task=inline(("f",)), cancel=True))
    grade = line.conclude(memory, replace(known, cancelled=view.cancelled), 2)
    assert grade
    assert (grade.reason, grade.reward) == ("Cancelled", None)


async def test_an_episode_with_a_sandbox_waits_for_the_master_key_and_says_so(store: Store) -> None:
    raw = episode(validation="v")
    del raw["spec"]["submission"]
    idle = await EpisodeLine(Server(), store).memory_of(raw)  # type: ignore[arg-type]
    assert isinstance(idle, Idle)
    assert idle.status.phase == "Pending"
    assert {one.type: one.reason for one in idle.status.conditions}["SandboxReady"] == "MasterKeyMissing"


class Driver:
    """Keeps the episodes that it is to take a step of."""

    def __init__(self) -> None:
        self.stepped: list[Episode] = []

    async def step(self, episode: Episode) -> Idle:
        self.stepped.append(episode)
        return Idle(status=episode.status)


def go_episode(**spec: Any) -> dict[str, Any]:
    raw = episode(validation="v", network="GoProxy", **spec)
    del raw["spec"]["submission"]
    return raw


async def test_an_episode_on_the_module_gateway_is_refused_its_tasks_modules_and_what_it_says_itself(
    store: Store,
) -> None:
    found = validation(store)
    found["spec"]["goPolicy"] = {"owned": ["x.dev/task"]}
    driver = Driver()
    line = EpisodeLine(Server(found), store, driver)  # type: ignore[arg-type]
    for raw in (go_episode(), go_episode(goPolicy={"owned": ["x.dev/mine"]})):
        assert isinstance(await line.memory_of(raw), Idle)
    assert [each.go_policy and each.go_policy.owned for each in driver.stepped] == [
        ("x.dev/task",),
        ("x.dev/mine", "x.dev/task"),
    ]


async def test_an_episode_on_the_module_gateway_without_any_policy_is_refused_by_its_field(store: Store) -> None:
    driver = Driver()
    line = EpisodeLine(Server(validation(store)), store, driver)  # type: ignore[arg-type]
    refusal = await line.memory_of(go_episode())
    assert isinstance(refusal, Refusal)
    assert (refusal.field, "TaskValidation v" in refusal.why) == ("spec.goPolicy.owned", True)
    assert not driver.stepped


REFUSED = {
    "spec.task.tests.failToPass": {"task": inline(())},
    "spec.profile": {"task": inline(("f",)), "profile": "nowhere"},
    "spec.submission.digest": {"task": inline(("f",)), "submission": {"digest": "0" * 64}},
    "spec.submission.patchBase64": {"task": inline(("f",)), "submission": {"patchBase64": "="}},
    "spec.task": {},
}


@pytest.mark.parametrize(("field", "spec"), REFUSED.items())
async def test_a_spec_that_cannot_be_graded_is_refused_by_its_field(
    store: Store, field: str, spec: dict[str, Any]
) -> None:
    refusal = await EpisodeLine(Server(), store).memory_of(episode(**spec))  # type: ignore[arg-type]
    assert isinstance(refusal, Refusal)
    assert refusal.field == field


async def test_an_invalid_validation_is_refused_with_its_reason(store: Store) -> None:
    invalid = validation(store, verdict="Invalid", reason="NoTargetTests", message="none")
    refusal = await EpisodeLine(Server(invalid), store).memory_of(episode(validation="v"))  # type: ignore[arg-type]
    assert isinstance(refusal, Refusal)
    assert "NoTargetTests" in refusal.why


async def test_what_is_held_of_an_episode_goes_with_it(store: Store) -> None:
    line = EpisodeLine(Server(), store)  # type: ignore[arg-type]
    raw = episode(task=inline(("t",)))
    line._tasks[raw["metadata"]["uid"]] = object()  # type: ignore[assignment]
    line.forget(raw["metadata"]["uid"])
    line.forget("never seen")
    assert not line._tasks
