"""What the watches told: the newest version counts, and what the operator deleted stays deleted."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.controller.cache import Cache, object_view_of


def raw_object(uid: str = "o", version: int = 1, **fields: Any) -> dict[str, Any]:
    metadata = {"namespace": "n", "name": uid, "uid": uid, "generation": 1, "resourceVersion": str(version)}
    return {"kind": "TaskValidation", "metadata": metadata | fields.pop("metadata", {})} | fields


def raw_pod(uid: str = "p", owner: str = "o", version: int = 1, **status: Any) -> dict[str, Any]:
    labels = {"assay.dev/object": owner, "assay.dev/run": "unpatched-1"}
    metadata = {"namespace": "n", "name": uid, "uid": uid, "labels": labels, "resourceVersion": str(version)}
    return {"metadata": metadata, "status": status}


def test_an_object_is_kept_without_its_task() -> None:
    view = object_view_of(
        raw_object(
            spec={"suspend": True, "priority": 7, "task": {"patch": "x" * 10**6}},
            status={"phase": "Complete", "verdict": "Valid", "observedGeneration": 1},
            metadata={"creationTimestamp": "1970-01-01T00:01:00Z", "deletionTimestamp": "1970-01-01T00:02:00Z"},
        )
    )
    assert (view.suspended, view.priority, view.complete, view.observed) == (True, 7, True, 1)
    assert (view.created, view.deleting) == (60.0, True)
    assert "xxx" not in repr(view)


def test_an_object_that_says_little_has_defaults() -> None:
    view = object_view_of(raw_object())
    assert (view.complete, view.suspended, view.priority, view.observed, view.deleting) == (False, False, 0, 0, False)


def test_an_episode_is_complete_in_a_final_phase() -> None:
    phases = ("Pending", "Ready", "Grading", "Finished", "Expired", "Cancelled", "Failed")
    views = [object_view_of(raw_object(kind="AgentEpisode", status={"phase": phase})) for phase in phases]
    assert [view.complete for view in views] == [False] * 3 + [True] * 4
    assert {view.kind for view in views} == {"AgentEpisode"}


def test_complete_without_a_verdict_is_not_complete() -> None:
    assert not object_view_of(raw_object(status={"phase": "Complete"})).complete


def test_a_late_event_does_not_take_the_operators_own_write_back() -> None:
    cache = Cache()
    cache.see_object(raw_object(version=10, status={"phase": "Complete", "verdict": "Valid"}))
    assert cache.see_object(raw_object(version=9)).complete
    found = cache.get("o")
    assert found is not None
    assert found.complete


def test_pods_are_found_by_their_owner() -> None:
    cache = Cache()
    for uid, owner in (("p1", "a"), ("p2", "a"), ("p3", "b")):
        cache.see_pod(raw_pod(uid, owner))
    assert {pod.uid for pod in cache.pods_of("a")} == {"p1", "p2"}
    assert [pod.uid for pod in cache.pods_of("b")] == ["p3"]
    assert cache.pods_of("c") == []
    assert len(list(cache.pods())) == 3


def test_a_deleted_pod_does_not_come_back_by_a_late_event() -> None:
    cache = Cache()
    cache.see_pod(raw_pod(version=5))
    dropped = cache.drop_pod("p")
    assert dropped is not None
    assert dropped.uid == "p"
    assert cache.see_pod(raw_pod(version=6)) is None
    assert cache.pods_of("o") == []
    assert cache.drop_pod("p") is None


def test_an_older_version_of_a_pod_changes_nothing() -> None:
    cache = Cache()
    cache.see_pod(raw_pod(version=5, phase="Failed"))
    assert cache.see_pod(raw_pod(version=4, phase="Running")) is None
    assert cache.pods_of("o")[0].status["phase"] == "Failed"


def test_an_object_that_is_gone_is_unknown() -> None:
    cache = Cache()
    cache.see_object(raw_object())
    cache.drop_object("o")
    assert (cache.get("o"), len(cache), list(cache.objects())) == (None, 0, [])


@given(st.lists(st.integers(1, 50), min_size=1, unique=True), st.randoms(use_true_random=False))
def test_events_in_any_order_and_number_end_in_the_newest_version(versions: list[int], shuffle: random.Random) -> None:
    cache, events = Cache(), versions * 2
    shuffle.shuffle(events)
    for version in events:
        cache.see_object(raw_object(version=version))
        cache.see_pod(raw_pod(version=version, phase=str(version)))
    found = cache.get("o")
    assert found is not None
    assert found.resource_version == max(versions)
    assert cache.pods_of("o")[0].status["phase"] == str(max(versions))
