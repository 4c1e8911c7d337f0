"""What becomes of an attempt whose log cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.controller.attempts import Attempts
from assay.controller.cache import object_view_of
from assay.controller.events import Recorder
from assay.controller.memory import Memory, memory_of
from assay.domain.decide import Attempt
from assay.domain.manifests import LABEL_OBJECT, LABEL_RUN, InputFile
from assay.domain.outcomes import FaultKind
from assay.domain.pods import PodState, Stage, view_of
from assay.kube.client import ApiError
from assay.store.artifacts import Store
from builders import make_manifest

CUT = (FaultKind.DISRUPTED, "DeletionByTaintManager: the node is gone")


class Server:
    """An API server that cannot reach any kubelet, or refuses itself."""

    def __init__(self, status: int) -> None:
        self._status = status

    async def log(self, *_: Any) -> bytes:
        raise ApiError(self._status, "", "dial tcp 10.0.0.1:10250: i/o timeout")


MANIFEST = make_manifest("task")
MANIFEST["metadata"] |= {"uid": "o", "generation": 1, "resourceVersion": "1"}


def made(state: PodState) -> tuple[Memory, Attempt]:
    """An object's memory, and an attempt of its first run in that state."""
    memory = memory_of(MANIFEST)
    assert isinstance(memory, Memory)
    run = memory.plan.first
    labels = {LABEL_OBJECT: "o", LABEL_RUN: run.name}
    pod = view_of({"metadata": {"namespace": "n", "name": "p", "uid": "p", "labels": labels}})
    return memory, Attempt(run=run, pod=pod, state=state)


async def lost_by(status: int, state: PodState, store: Path) -> list[FaultKind]:
    """Read an attempt in that state; return the faults that it leaves."""
    memory, attempt = made(state)
    server = Server(status)
    attempts = Attempts(server, Store(f"file://{store}"), Recorder(server))  # type: ignore[arg-type]
    await attempts.read(object_view_of(MANIFEST), memory, attempt)
    return [fault.kind for fault in memory.faults.get(attempt.run.name, ())]


async def test_a_pod_that_was_cut_off_and_whose_kubelet_is_gone_is_lost_by_its_cause(tmp_path: Path) -> None:
    state = PodState(stage=Stage.ENDED, exit_code=0, ended_at=4e9, cut=CUT)
    assert await lost_by(500, state, tmp_path) == [FaultKind.DISRUPTED]


async def test_an_ended_run_whose_node_has_not_given_its_log_for_long_is_lost(tmp_path: Path) -> None:
    assert await lost_by(500, PodState(stage=Stage.ENDED, exit_code=0, ended_at=1.0), tmp_path) == [FaultKind.NODE_LOST]


async def test_an_ended_run_whose_node_does_not_give_its_log_now_is_asked_again(tmp_path: Path) -> None:
    with pytest.raises(ApiError):
        await lost_by(500, PodState(stage=Stage.ENDED, exit_code=0, ended_at=4e9), tmp_path)


async def test_a_refusal_of_the_api_server_itself_loses_no_attempt(tmp_path: Path) -> None:
    with pytest.raises(ApiError):
        await lost_by(403, PodState(stage=Stage.ENDED, exit_code=0, ended_at=1.0, cut=CUT), tmp_path)


@pytest.mark.parametrize(("kind", "kept"), [("PullTimeout", 0), ("StartFailed", 0), ("Disrupted", 1)])
def test_the_inputs_of_an_attempt_that_was_not_started_are_made_again(kind: str, kept: int, tmp_path: Path) -> None:
    memory, attempt = made(PodState(stage=Stage.LOST))
    memory.files = (InputFile(secret="s", key="k", path="p"),)
    server = Server(500)
    attempts = Attempts(server, Store(f"file://{tmp_path}"), Recorder(server))  # type: ignore[arg-type]
    attempts.lose(object_view_of(MANIFEST), memory, attempt, FaultKind(kind), "a Secret is not there")
    assert len(memory.files) == kept
