"""What the watches have told: the little of each object that a decision needs, and the object's pods.

A watch may lag behind the operator's own writes, so those are noted here too: the newer version wins, and a pod that
the operator has deleted does not come back by a late event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.episodes import FINAL
from assay.domain.goproxy.usage import is_uncounted
from assay.domain.pods import PodView, seconds_since_1970, view_of
from assay.domain.regrading import is_to_regrade
from assay.domain.screening import is_reopened
from assay.domain.splits import Placed, canonical_repo

REMEMBERED_DELETIONS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectView:
    """An object, without its task; ``complete``: its end is written and final, but for a count that is ``uncounted``.

    ``split`` and ``repo`` (of an inline task, or as the status says it) say which side of a data set its repository is on; a ``dropped`` task is on
    none.  ``decision`` is what was last decided on its statement.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: int
    created: float
    deleting: bool
    complete: bool
    observed: int
    suspended: bool
    priority: int
    split: str = ""
    repo: str = ""
    dropped: bool = False
    uncounted: bool = False
    cancelled: bool = False
    decision: str = ""


def object_view_of(raw: Mapping[str, Any]) -> ObjectView:
    """Return the view of an object's JSON, as the API server gives it: a list's items name their kind too."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    generation = int(metadata.get("generation", 0))
    complete = _is_complete(raw["kind"], spec, status, generation)
    return ObjectView(
        kind=raw["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=generation,
        resource_version=int(metadata.get("resourceVersion") or 0),
        created=seconds_since_1970(metadata.get("creationTimestamp")),
        deleting=bool(metadata.get("deletionTimestamp")),
        complete=complete,
        observed=int(status.get("observedGeneration") or 0),
        suspended=bool(spec.get("suspend")),
        priority=int(spec.get("priority") or 0),
        split=spec.get("split") or "",
        repo=((spec.get("task") or {}).get("repo") or status.get("source") or "") if spec.get("split") else "",
        dropped=status.get("verdict") == "Invalid",
        uncounted=complete and raw["kind"] == "AgentEpisode" and is_uncounted(spec, status),
        cancelled=bool(spec.get("cancel")),
        decision=decision_in(spec),
    )


def decision_in(spec: Mapping[str, Any]) -> str:
    """Return the decision on the statement in a spec's JSON, empty when there is none."""
    return (spec.get("statementReview") or {}).get("decision") or ""


def _is_complete(kind: str, spec: Mapping[str, Any], status: Mapping[str, Any], generation: int) -> bool:
    if kind == "AgentEpisode":
        return status.get("phase") in FINAL
    if status.get("phase") != "Complete" or status.get("verdict") is None:
        return False
    reason = status.get("reason") or ""
    if status.get("report") and spec.get("regrade") != status.get("regrade"):
        asked, judged = (api.Regrade.model_validate(said.get("regrade") or {}) for said in (spec, status))
        if is_to_regrade(asked, judged, reason=reason):
            return False
    return not is_reopened(
        verdict=status["verdict"],
        reason=reason,
        decision=decision_in(spec),
        changed=int(status.get("observedGeneration") or 0) != generation,
    )


class Cache:
    """Objects and pods by UID, pods by owner too."""

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        """Begin with nothing known; ``renamed`` maps former names of repositories, and forks, to the present ones."""
        self._renamed = dict(renamed or {})
        self._objects: dict[str, ObjectView] = {}
        self._pods: dict[str, PodView] = {}
        self._owned: dict[str, set[str]] = {}
        self._deleted: dict[str, None] = {}
        self._repos: dict[str, str] = {}
        self._placed: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, uid: str) -> ObjectView | None:
        """Return an object, None when there is none."""
        return self._objects.get(uid)

    def objects(self) -> Iterator[ObjectView]:
        """Iterate over all objects."""
        return iter(tuple(self._objects.values()))

    def pods(self) -> Iterator[PodView]:
        """Iterate over all pods."""
        return iter(tuple(self._pods.values()))

    def pods_of(self, uid: str) -> list[PodView]:
        """Return the pods of an object."""
        return [self._pods[pod] for pod in self._owned.get(uid, ())]

    def see_object(self, raw: Mapping[str, Any]) -> ObjectView:
        """Note an object; an older version than the known one changes nothing."""
        view = object_view_of(raw)
        known = self._objects.get(view.uid)
        if known is None or view.resource_version >= known.resource_version:
            self._objects[view.uid] = view
            if view.repo:
                self.place(view.uid, view.repo)
            return view
        return known

    def present_name(self, repo: str) -> str:
        """Return the name that all names of a repository come down to."""
        return canonical_repo(repo, self._renamed)

    def place(self, uid: str, repo: str) -> None:
        """Note the repository of an object's task, under its present name."""
        repo = self.present_name(repo)
        if self._repos.get(uid) != repo:
            self._unplace(uid)
            self._repos[uid] = repo
            self._placed.setdefault(repo, set()).add(uid)

    def placed(self, repo: str) -> list[Placed]:
        """Return the tasks of a repository that are on a side and not dropped."""
        name = self.present_name(repo)
        views = [self._objects[uid] for uid in self._placed.get(name, ()) if uid in self._objects]
        return [
            Placed(uid=view.uid, name=view.name, repo=name, split=view.split, created=view.created)
            for view in views
            if view.split and not view.dropped and not view.deleting
        ]

    def _unplace(self, uid: str) -> None:
        repo = self._repos.pop(uid, None)
        if repo is not None:
            self._placed[repo].discard(uid)
            if not self._placed[repo]:
                del self._placed[repo]

    def drop_object(self, uid: str) -> None:
        """Note that an object is gone."""
        self._objects.pop(uid, None)
        self._unplace(uid)

    def see_pod(self, raw: Mapping[str, Any]) -> PodView | None:
        """Note a pod; None when it is one that the operator has deleted, or an older version."""
        view = view_of(raw)
        known = self._pods.get(view.uid)
        if view.uid in self._deleted or (known and view.resource_version < known.resource_version):
            return None
        self._pods[view.uid] = view
        self._owned.setdefault(view.owner, set()).add(view.uid)
        return view

    def drop_pod(self, uid: str) -> PodView | None:
        """Note that a pod is gone, or that the operator has asked for its deletion."""
        self._deleted[uid] = None
        while len(self._deleted) > REMEMBERED_DELETIONS:
            del self._deleted[next(iter(self._deleted))]
        view = self._pods.pop(uid, None)
        if view:
            owned = self._owned.get(view.owner)
            if owned:
                owned.discard(uid)
                if not owned:
                    del self._owned[view.owner]
        return view
