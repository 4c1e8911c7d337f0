"""Places for pods: never too many, the best claim first, nobody forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.controller.slots import Slots


def test_places_are_given_until_there_are_none() -> None:
    slots = Slots(2)
    assert slots.take("a", "a-1", priority=0, since=1)
    assert slots.take("b", "b-1", priority=0, since=2)
    assert not slots.take("c", "c-1", priority=0, since=3)
    assert (slots.held, slots.waiting) == (2, 1)


def test_a_pod_that_has_its_place_takes_no_second_one() -> None:
    slots = Slots(1)
    assert slots.take("a", "a-1", priority=0, since=1)
    assert slots.take("a", "a-1", priority=0, since=1)
    assert slots.held == 1


def test_a_freed_place_calls_the_claim_of_the_highest_priority_then_of_the_oldest() -> None:
    slots = Slots(1)
    slots.take("a", "a-1", priority=0, since=1)
    slots.take("young", "y-1", priority=0, since=9)
    slots.take("old", "o-1", priority=0, since=2)
    slots.take("urgent", "u-1", priority=5, since=10)
    assert slots.free("a-1") == "urgent"
    assert not slots.take("old", "o-1", priority=0, since=2)
    assert slots.take("urgent", "u-1", priority=5, since=10)
    assert slots.free("u-1") == "old"


def test_a_newcomer_does_not_overtake_one_who_waits() -> None:
    slots = Slots(1)
    slots.take("a", "a-1", priority=0, since=1)
    slots.take("b", "b-1", priority=0, since=2)
    slots.free("a-1")
    assert not slots.take("c", "c-1", priority=0, since=3)
    assert slots.take("b", "b-1", priority=0, since=2)


def test_who_withdraws_leaves_the_place_to_the_next() -> None:
    slots = Slots(1)
    slots.take("a", "a-1", priority=0, since=1)
    slots.take("b", "b-1", priority=0, since=2)
    slots.take("c", "c-1", priority=0, since=3)
    slots.forget("b")
    assert slots.free("a-1") == "c"


def test_a_claim_whose_priority_has_changed_is_one_claim() -> None:
    slots = Slots(1)
    slots.take("a", "a-1", priority=0, since=1)
    slots.take("b", "b-1", priority=0, since=2)
    slots.take("c", "c-1", priority=1, since=3)
    slots.take("b", "b-1", priority=7, since=2)
    assert slots.waiting == 2
    assert slots.free("a-1") == "b"


def test_pods_that_exist_are_held_beyond_the_limit_and_nobody_is_called_until_they_are_fewer() -> None:
    slots = Slots(1)
    slots.hold("a", "a-1")
    slots.hold("b", "b-1")
    assert not slots.take("c", "c-1", priority=0, since=1)
    assert slots.free("a-1") is None
    assert slots.free("b-1") == "c"


def test_a_pod_that_holds_no_place_calls_nobody() -> None:
    slots = Slots(1)
    slots.take("a", "a-1", priority=0, since=1)
    slots.take("b", "b-1", priority=0, since=2)
    assert slots.free("unknown") is None


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["take", "free", "forget"]), st.integers(0, 5), st.integers(0, 2)), max_size=60),
)
def test_there_are_never_too_many_and_a_free_place_with_a_claim_has_somebody_to_call(
    size: int, steps: list[tuple[str, int, int]]
) -> None:
    slots, held = Slots(size), set()
    for what, who, priority in steps:
        key, pod = f"key-{who}", f"pod-{who}"
        if what == "take":
            if slots.take(key, pod, priority=priority, since=who):
                held.add(pod)
        elif what == "free":
            slots.free(pod)
            held.discard(pod)
        else:
            slots.forget(key)
        assert slots.held == len(held) <= size
        assert (slots.next() is not None) == (slots.waiting > 0 and len(held) < size)
