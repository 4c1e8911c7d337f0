"""An object comes back from its spec, its status and the store, and a spec that is no task names its field."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.controller.cache import object_view_of
from assay.controller.memory import Memory, memory_of, restore, status_from
from assay.domain.decide import FaultRecord, Knowledge
from assay.domain.documents import outcome_document
from assay.domain.outcomes import FaultKind
from assay.domain.status import status_of
from assay.domain.task import Refusal
from assay.store.artifacts import ArtifactLostError, Store
from builders import IMAGE, make_manifest, make_outcome


def raw_object(**spec: Any) -> dict[str, Any]:
    """An object as the API server gives it."""
    raw = make_manifest(**spec)
    raw["metadata"] |= {"uid": "uid-1", "generation": 1, "resourceVersion": "7"}
    return raw


def remembered(raw: dict[str, Any]) -> Memory:
    memory = memory_of(raw)
    assert isinstance(memory, Memory), memory
    return memory


def test_a_task_is_remembered_with_its_owner_plan_limits_and_profile() -> None:
    memory = remembered(raw_object(f2p=["t"], profile="swebench-v4"))
    assert (memory.owner.uid, memory.owner.namespace, memory.owner.name) == ("uid-1", "default", "lantern-7")
    assert [run.name for run in memory.plan.runs] == [
        *("unpatched-1", "unpatched-2", "unpatched-3"),
        *("patched-1", "patched-2"),
    ]
    assert memory.task.fail_to_pass == ("t",)
    assert memory.limits.test == 600
    assert memory.profile.name == "swebench-v4"


def test_suspend_and_priority_make_no_run_new_and_anything_else_does() -> None:
    epoch = remembered(raw_object()).owner.epoch
    assert remembered(raw_object(suspend=True, priority=9)).owner.epoch == epoch
    assert remembered(raw_object(f2p=["t"])).owner.epoch != epoch


@pytest.mark.parametrize(
    ("change", "field", "why"),
    [
        (
            {"task": {"id": "a", "image": "x:1", "tests": {"commands": [], "parser": "p"}}},
            "spec.task.tests.commands",
            "",
        ),
        ({"task": {"id": "a"}}, "spec.task", "required"),
        ({"profile": "no-such-profile"}, "spec.profile", "known: "),
        ({"timeouts": {"test": "9999h"}}, "spec.timeouts.test", "720h"),
    ],
)
def test_a_spec_that_cannot_be_worked_on_names_its_field(change: dict[str, Any], field: str, why: str) -> None:
    raw = raw_object()
    raw["spec"] |= change
    refusal = memory_of(raw)
    assert isinstance(refusal, Refusal)
    assert refusal.field.startswith(field)
    assert why in refusal.why


def test_a_status_that_does_not_parse_is_as_none() -> None:
    assert status_from({"status": {"phase": "Nonsense"}}) == api.TaskValidationStatus()
    assert status_from({}) == api.TaskValidationStatus()


def known_of(memory: Memory, **fields: Any) -> Knowledge:
    return Knowledge(task=memory.task, plan=memory.plan, profile=memory.profile, attempts=(), **fields)


def written(memory: Memory, store: Store) -> dict[str, Any]:
    """The object after a pass: one run finished and stored, another lost twice."""
    outcome = make_outcome("unpatched-1", failed=["t"], image_id=IMAGE)
    outcome = replace(outcome, results_artifact=store.put(outcome_document(outcome)), log=store.put(b"the log"))
    known = known_of(
        memory,
        outcomes={"unpatched-1": outcome},
        faults={
            "patched-1": tuple(
                FaultRecord(attempt=n, kind=FaultKind.DISRUPTED, message="evicted", at=5.0) for n in (1, 2)
            )
        },
        pinned=IMAGE,
    )
    status = status_of(
        known, generation=1, previous=memory.status, verdict=None, report=None, platform="linux/amd64", now=9.0
    )
    return raw_object(f2p=["t"]) | {"status": api.to_wire(status)}


async def test_a_restarted_operator_knows_finished_runs_faults_and_the_pinned_image(tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}")
    memory = remembered(written(remembered(raw_object(f2p=["t"])), store))
    await restore(memory, store)
    assert dict(memory.outcomes["unpatched-1"].results) == {"t": "FAILED"}
    assert memory.committed == frozenset({"unpatched-1"})
    assert [(fault.attempt, fault.kind) for fault in memory.faults["patched-1"]] == [
        (1, FaultKind.DISRUPTED),
        (2, FaultKind.DISRUPTED),
    ]
    assert (memory.pinned, memory.platform) == (IMAGE, "linux/amd64")


async def test_evidence_that_the_store_lost_is_an_error_and_never_half_an_outcome(tmp_path: Path) -> None:
    raw = written(remembered(raw_object(f2p=["t"])), Store(f"file://{tmp_path}/one"))
    memory = remembered(raw)
    with pytest.raises(ArtifactLostError):
        await restore(memory, Store(f"file://{tmp_path}/two"))
    assert memory.committed == frozenset()


async def test_runs_of_the_status_that_the_plan_does_not_know_are_left_out(tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}")
    raw = written(remembered(raw_object(f2p=["t"])), store)
    raw["status"]["runs"][0]["name"] = "unpatched-9"
    memory = remembered(raw)
    await restore(memory, store)
    assert not memory.outcomes
    assert memory.pinned == ""


async def test_a_regrade_by_another_parser_reads_the_stored_logs_again_and_stores_what_they_say(tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}")
    outcome = make_outcome("unpatched-1", passed=["old"], image_id=IMAGE)
    outcome = replace(outcome, log=store.put(b"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n"))
    outcome = replace(outcome, results_artifact=store.put(outcome_document(outcome)))
    memory = remembered(raw_object())
    known = known_of(memory, outcomes={"unpatched-1": outcome})
    status = status_of(
        known, generation=1, previous=memory.status, verdict=None, report=None, platform="linux/amd64", now=9.0
    )
    rules = api.Regrade(profile="pro", parser="parse_log_gotest")
    for regrade, results in ((rules, {"TestA": "PASSED", "TestB": "FAILED"}), (None, {"old": "PASSED"})):
        again = remembered(raw_object(regrade=regrade) | {"status": api.to_wire(status)})
        await restore(again, store)
        assert dict(again.outcomes["unpatched-1"].results) == results
    again = remembered(raw_object(regrade=rules) | {"status": api.to_wire(status)})
    assert (again.profile.name, again.task.parser, again.regrade) == ("pro", "parse_log_gotest", rules)
    await restore(again, store)
    stored = again.outcomes["unpatched-1"].results_artifact
    assert stored is not None
    assert b"TestB" in store.get(stored.sha256)


def test_a_verdict_is_open_again_until_it_was_judged_by_the_rules_that_are_asked_for() -> None:
    raw = raw_object(regrade=api.Regrade(profile="pro")) | {"kind": "TaskValidation"}
    report = {"uri": "file:///x", "sha256": "0" * 64, "bytes": 1}
    raw["status"] = {
        "phase": "Complete",
        "verdict": "Valid",
        "reason": "Any",
        "report": report,
        "observedGeneration": 1,
    }
    assert not object_view_of(raw).complete
    raw["status"]["regrade"] = {"profile": "pro", "parser": ""}
    assert object_view_of(raw).complete
    raw["spec"]["regrade"] = {"profile": "no-such", "parser": ""}
    assert object_view_of(raw).complete
