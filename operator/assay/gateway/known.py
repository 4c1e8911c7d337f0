"""What this gateway knows of the cluster by watching it: nothing that another gateway would not know, too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from assay.domain.ors.episodes import EpisodeView, view_of_episode
from assay.domain.ors.tasks import TaskEntry, entry_of, environments_of, in_order


class KnownEpisodes:
    """Views of all episodes, by name, and the waiting for a change of one."""

    def __init__(self) -> None:
        self.synced = False
        self._views: dict[str, EpisodeView] = {}
        self._stale: set[str] = set()
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def __len__(self) -> int:
        return len(self._views)

    def get(self, name: str) -> EpisodeView | None:
        """Return an episode as last seen."""
        return self._views.get(name)

    def open_of(self, owner: str) -> int:
        """Count the episodes of an owner (by label) that are not over."""
        return sum(view.owner == owner and not view.final for view in self._views.values())

    def begin(self) -> None:
        """Begin a list."""
        self._stale = set(self._views)

    def see(self, raw: Mapping[str, Any]) -> EpisodeView:
        """Note an episode; an older version of the same object changes nothing.  Return what is known then."""
        view = view_of_episode(raw)
        self._stale.discard(view.name)
        known = self._views.get(view.name)
        if known and known.uid == view.uid and int(known.version or 0) > int(view.version or 0):
            return known
        self._views[view.name] = view
        self._wake(view.name)
        return view

    def drop(self, raw: Mapping[str, Any]) -> None:
        """Forget an episode that is gone."""
        self.forget(raw["metadata"]["name"], raw["metadata"]["uid"])

    def forget(self, name: str, uid: str) -> None:
        """Forget an episode, unless another one has taken its name."""
        known = self._views.get(name)
        if known and known.uid == uid:
            del self._views[name]
            self._wake(name)

    def end(self) -> None:
        """End a list: what was not in it is gone."""
        for name in self._stale:
            self._views.pop(name, None)
            self._wake(name)
        self._stale = set()
        self.synced = True

    async def change(self, name: str, *, seen: EpisodeView | None, seconds: float) -> None:
        """Wait until the episode is another than ``seen``, at most ``seconds``."""
        if self._views.get(name) != seen:
            return
        event = asyncio.Event()
        self._waiting.setdefault(name, set()).add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiting = self._waiting[name]
            waiting.discard(event)
            if not waiting:
                del self._waiting[name]

    def _wake(self, name: str) -> None:
        for event in self._waiting.get(name, ()):
            event.set()


class KnownTasks:
    """The tasks that clients can choose from."""

    def __init__(self, selections: Mapping[str, Mapping[str, str]], default: str) -> None:
        self.synced = False
        self._selections = selections
        self._default = default
        self._entries: dict[str, TaskEntry] = {}
        self._stale: set[str] = set()
        self._orders: dict[tuple[str, str], tuple[str, ...]] = {}
        self._environments: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._entries)

    def environments(self) -> tuple[str, ...]:
        """Return the environments' names, the default one first."""
        if not self._environments:
            self._environments = environments_of(
                self._entries.values(), selections=self._selections, default=self._default
            )
        return self._environments

    def names(self, environment: str, split: str) -> tuple[str, ...]:
        """Return the tasks of a split, in order."""
        key = (environment, split)
        if key not in self._orders:
            self._orders[key] = in_order(self._entries.values(), environment=environment, split=split)
        return self._orders[key]

    def get(self, environment: str, task: str) -> TaskEntry | None:
        """Return a task of an environment; None when it has no such task."""
        entry = self._entries.get(task)
        return entry if entry and environment in entry.environments else None

    def begin(self) -> None:
        """Begin a list."""
        self._stale = set(self._entries)

    def see(self, raw: Mapping[str, Any]) -> None:
        """Note a TaskValidation."""
        name = raw["metadata"]["name"]
        self._stale.discard(name)
        entry = entry_of(raw, selections=self._selections, default=self._default)
        if entry != self._entries.get(name):
            self._put(name, entry)

    def drop(self, raw: Mapping[str, Any]) -> None:
        """Forget a TaskValidation."""
        self._put(raw["metadata"]["name"], None)

    def end(self) -> None:
        """End a list: what was not in it is gone."""
        for name in self._stale:
            self._put(name, None)
        self._stale = set()
        self.synced = True

    def _put(self, name: str, entry: TaskEntry | None) -> None:
        if entry is None:
            self._entries.pop(name, None)
        else:
            self._entries[name] = entry
        self._orders = {}
        self._environments = ()
