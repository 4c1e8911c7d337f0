"""A reference is the task whose bytes have its hash; other bytes are refused, no bytes are waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.controller.cache import Cache, object_view_of
from assay.controller.lines import Idle
from assay.controller.memory import Memory, memory_of
from assay.controller.tasks import TaskUnavailableError, load_bundled
from assay.controller.validations import ValidationLine
from assay.domain.datasets.digests import document_of
from assay.domain.decide import Knowledge
from assay.domain.task import Refusal
from assay.store.artifacts import Store
from builders import make_manifest


def bundled(**fields: Any) -> BundledTask:
    return BundledTask.model_validate(make_manifest()["spec"]["task"] | fields)


def referring(digest: str, id_: str = "acorn__lantern-7") -> dict[str, Any]:
    """An object that refers to a task."""
    raw = make_manifest()
    raw["metadata"] |= {"uid": "uid-1", "generation": 1}
    del raw["spec"]["task"]
    raw["spec"]["taskFrom"] = {"dataset": "acorn/tasks", "id": id_, "digest": digest}
    raw["spec"]["provenance"] = {"dataset": "acorn/tasks", "revision": "r1", "rowDigest": "0" * 64}
    return raw


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}/store")


async def test_a_reference_is_the_task_of_its_hash_even_with_five_megabytes_of_patch(store: Store) -> None:
    lines = 100_000
    body = "".join(f"+line {number} of a large file, made to be large\n" for number in range(lines))
    patch = f"diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,{lines} @@\n{body}"
    raw = referring(store.put(document_of(bundled(patch=patch))).sha256)
    task = await load_bundled(raw, store)
    assert isinstance(task, BundledTask)
    memory = memory_of(raw, task)
    assert isinstance(memory, Memory)
    assert memory.task.patch == patch.encode()
    assert memory.provenance is not None
    assert memory.provenance.revision == "r1"


async def test_an_inline_task_needs_no_store(store: Store) -> None:
    assert await load_bundled(make_manifest(), store) is None


async def test_other_bytes_are_refused_with_the_digests_field(store: Store, tmp_path: Path) -> None:
    right, other = store.put(document_of(bundled())), store.put(document_of(bundled(statement="another")))
    path = {digest: tmp_path / "store" / digest[:2] / f"{digest}.zst" for digest in (right.sha256, other.sha256)}
    path[right.sha256].write_bytes(path[other.sha256].read_bytes())
    refusal = await load_bundled(referring(right.sha256), store)
    assert isinstance(refusal, Refusal)
    assert refusal.field == "spec.taskFrom.digest"
    assert "other bytes" in refusal.why


@pytest.mark.parametrize("content", [b"no JSON", b"{}", b'{"id": 1}'])
async def test_a_document_that_is_no_task_is_refused(store: Store, content: bytes) -> None:
    refusal = await load_bundled(referring(store.put(content).sha256), store)
    assert isinstance(refusal, Refusal)
    assert refusal.field == "spec.taskFrom.digest"


async def test_a_document_of_another_task_is_refused(store: Store) -> None:
    refusal = await load_bundled(referring(store.put(document_of(bundled())).sha256, "another-1"), store)
    assert isinstance(refusal, Refusal)
    assert refusal.field == "spec.taskFrom.id"


async def test_a_task_that_is_not_there_yet_is_waited_for(store: Store) -> None:
    content = document_of(bundled())
    raw = referring(Store(store.uri + "-other").put(content).sha256)
    with pytest.raises(TaskUnavailableError):
        await load_bundled(raw, store)
    store.put(content)
    assert isinstance(await load_bundled(raw, store), BundledTask)


async def test_a_store_that_cannot_be_read_is_no_verdict(store: Store, tmp_path: Path) -> None:
    digest = store.put(document_of(bundled())).sha256
    path = tmp_path / "store" / digest[:2] / f"{digest}.zst"
    path.unlink()
    path.mkdir()
    with pytest.raises(TaskUnavailableError):
        await load_bundled(referring(digest), store)


@pytest.mark.parametrize(
    ("review", "required", "reason"),
    [
        (None, True, "StatementUnreviewed"),
        ({"decision": "Rejected", "reason": "names the fix"}, False, "StatementRejected"),
    ],
)
async def test_a_statement_that_may_not_be_used_ends_its_task_before_any_run(
    store: Store, review: dict[str, Any] | None, required: bool, reason: str
) -> None:
    raw = referring(store.put(document_of(bundled())).sha256)
    raw["spec"] |= {"statementReview": review} if review else {}
    found = await ValidationLine(store, Cache(), review_required=required).memory_of(raw)
    assert isinstance(found, Idle)
    assert found.ending is not None
    assert (found.status.phase, found.ending.labels) == ("Complete", ("Invalid", reason))


async def test_an_accepted_statement_is_run(store: Store) -> None:
    raw = referring(store.put(document_of(bundled())).sha256)
    raw["spec"]["statementReview"] = {"decision": "Accepted"}
    assert isinstance(await ValidationLine(store, Cache(), review_required=True).memory_of(raw), Memory)


async def test_a_bundles_task_on_the_other_side_of_its_repository_is_dropped_the_later_one(store: Store) -> None:
    digest, cache = store.put(document_of(bundled(repo="Acorn/Lantern"))).sha256, Cache({"acorn/lamp": "acorn/lantern"})
    first, second = referring(digest), referring(store.put(document_of(bundled(repo="acorn/lamp"))).sha256)
    for raw, uid, split, created in ((first, "uid-1", "eval", "01"), (second, "uid-2", "train", "02")):
        raw["metadata"] |= {"uid": uid, "creationTimestamp": f"2026-01-{created}T00:00:00Z"}
        raw["spec"]["split"] = split
        cache.see_object(raw)
    line = ValidationLine(store, cache)
    assert isinstance(await line.memory_of(first), Memory)
    found = await line.memory_of(second)
    assert isinstance(found, Idle)
    assert found.ending is not None
    assert found.ending.labels == ("Invalid", "SplitConflict")
    assert isinstance(await line.memory_of(first), Memory), "what came first stays"


async def test_a_task_that_was_dropped_for_its_statement_is_taken_up_again_once_it_is_accepted(store: Store) -> None:
    raw = referring(store.put(document_of(bundled())).sha256)
    line = ValidationLine(store, Cache(), review_required=True)
    dropped = await line.memory_of(raw)
    assert isinstance(dropped, Idle)
    raw["status"] = api.to_wire(dropped.status)
    assert object_view_of(raw | {"kind": "TaskValidation"}).complete
    raw["spec"]["statementReview"] = {"decision": "Accepted"}
    raw["metadata"]["generation"] = 2
    view = object_view_of(raw)
    assert (view.complete, view.decision) == (False, "Accepted")
    memory = await line.memory_of(raw)
    assert isinstance(memory, Memory)
    assert isinstance(memory.status, api.TaskValidationStatus)
    assert (memory.decision, memory.status.verdict, memory.status.observed_generation) == ("Accepted", None, 0)


def test_a_finished_bundled_tasks_side_is_known_from_its_status_after_a_restart() -> None:
    cache = Cache({"acorn/lamp": "acorn/lantern"})
    raw = referring("0" * 64)
    raw["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z"}
    raw["spec"]["split"] = "eval"
    raw["status"] = {"phase": "Complete", "verdict": "Valid", "source": "acorn/lantern", "observedGeneration": 1}
    cache.see_object(raw)
    assert [(placed.name, placed.split) for placed in cache.placed("Acorn/Lamp")] == [("lantern-7", "eval")]


async def test_the_status_tells_the_repository_under_its_present_name(store: Store) -> None:
    raw = referring(store.put(document_of(bundled(repo="acorn/lamp"))).sha256)
    line = ValidationLine(store, Cache({"acorn/lamp": "Acorn/Lantern"}))
    memory = await line.memory_of(raw)
    assert isinstance(memory, Memory)
    known = Knowledge(task=memory.task, plan=memory.plan, profile=memory.profile, attempts=(), outcomes={}, faults={})
    assert line.status(memory, known, None, None, generation=1, now=0.0).source == "acorn/lantern"
