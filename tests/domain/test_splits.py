"""One repository, one side: what came later on the other side is dropped."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.domain.splits import Placed, canonical_repo, split_conflict

TASK = Placed(uid="b", name="second", repo="a/b", split="train", created=2.0)


def test_the_later_of_two_sides_is_dropped_and_told_by_whom() -> None:
    first = replace(TASK, uid="a", name="first", split="eval", created=1.0)
    dropped = split_conflict(TASK, [first, TASK])
    assert dropped
    assert dropped.reason == "SplitConflict"
    assert "a/b is on the eval side already, by first" in dropped.message
    assert split_conflict(first, [first, TASK]) is None


def test_one_side_alone_is_no_conflict() -> None:
    assert split_conflict(TASK, [replace(TASK, uid="a", created=1.0), TASK]) is None


def test_a_task_without_a_side_is_none() -> None:
    other = replace(TASK, uid="a", split="eval", created=1.0)
    assert split_conflict(replace(TASK, split=""), [other]) is None
    assert split_conflict(TASK, [replace(other, split="")]) is None
    assert split_conflict(replace(TASK, repo=""), [other]) is None


def test_a_renamed_repository_and_its_forks_are_one() -> None:
    renamed = {"Old/Name": "new/name", "fork/name": "old/name"}
    names = {canonical_repo(name, renamed) for name in ("old/name", "NEW/name", "fork/name.git", " new/name ")}
    assert names == {"new/name"}
    assert canonical_repo("a/a", {"a/a": "b/b", "b/b": "a/a"}) in {"a/a", "b/b"}


@given(
    st.lists(
        st.tuples(st.sampled_from(["train", "eval"]), st.integers(0, 3)).map(lambda drawn: drawn),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_the_order_only_one_side_is_left(drawn: list[tuple[str, int]]) -> None:
    tasks = [
        Placed(uid=str(number), name=str(number), repo="a/b", split=split, created=float(created))
        for number, (split, created) in enumerate(drawn)
    ]
    left: list[Placed] = []
    for task in sorted(tasks, key=lambda task: (task.created, task.uid)):
        if split_conflict(task, left) is None:
            left.append(task)
    assert len({task.split for task in left}) == 1
