"""Which side of a data set a repository is on: what is for evaluation must not be trained on, whichever came first."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from assay.domain.screening import Dropped
from assay.domain.verdict import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A task's place: its repository under one name, its side, and when it came (epoch seconds; the UID breaks ties)."""

    uid: str
    name: str
    repo: str
    split: str
    created: float


def canonical_repo(repo: str, renamed: Mapping[str, str]) -> str:
    """Return the one name of a repository: lower case, and the present name of a renamed or forked one.

    ``renamed`` maps a former name or a fork to the repository that it stands for; chains are followed, rings end.
    """
    known = {old.lower(): new.lower() for old, new in renamed.items()}
    name, seen = repo.strip().lower().removesuffix(".git"), set()
    while name in known and name not in seen:
        seen.add(name)
        name = known[name]
    return name


def split_conflict(task: Placed, others: Iterable[Placed]) -> Dropped | None:
    """Return why a task may not stand beside earlier ones of its repository, None when it may.

    ``others`` are the tasks of the same repository that are not dropped.  The later one of a pair on both sides goes.
    """
    if not task.split or not task.repo:
        return None
    earlier = [
        other
        for other in others
        if other.uid != task.uid
        and other.split
        and other.split != task.split
        and (other.created, other.uid) < (task.created, task.uid)
    ]
    if not earlier:
        return None
    first = min(earlier, key=lambda other: (other.created, other.uid))
    message = f"{task.repo} is on the {first.split} side already, by {first.name}; a repository is on one side alone"
    return Dropped(reason=Reason.SPLIT_CONFLICT, message=message)


def proposed_sides(
    tasks: Mapping[str, int], *, eval_repos: Collection[str], fraction: float, seed: int
) -> Mapping[str, str]:
    """Return a side for each repository, ``train`` or ``eval``, by repository and never by task.

    ``tasks`` is a repository's name -> how many tasks it has.  ``eval_repos`` are on the eval side; of the others so many
    follow, in an order that ``seed`` decides, that the side has ``fraction`` of all tasks.  A repository that would take
    the side past it stays out, so the side is never larger than asked for but by ``eval_repos``.
    """
    sides = {repo: "eval" if repo in eval_repos else "train" for repo in tasks}
    wanted = fraction * sum(tasks.values())
    held = sum(count for repo, count in tasks.items() if sides[repo] == "eval")
    for repo in sorted(tasks, key=lambda repo: hashlib.sha256(f"{seed}/{repo}".encode()).digest()):
        if sides[repo] == "train" and held + tasks[repo] <= wanted:
            sides[repo] = "eval"
            held += tasks[repo]
    return sides
