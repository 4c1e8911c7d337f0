"""Everything that a request may need: settings, keys, the cluster as it is known, and ways to ask it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from weakref import WeakValueDictionary

import aiohttp

from assay.domain.keys import agent_key, agent_of_key, same_key, sandbox_key
from assay.domain.ors.episodes import EpisodeView, Stand, stand_of
from assay.domain.task import seconds_of
from assay.gateway.callers import MAX_KEY_CHARS, Caller, Keyring
from assay.gateway.known import KnownEpisodes, KnownTasks
from assay.gateway.metrics import Metrics
from assay.gateway.settings import Settings
from assay.kube.client import AGENT_EPISODES, ApiError, Client
from assay.kube.hands import Hands, HandsError

TOUCH_SECONDS = 20.0
REMEMBERED_TOUCHES = 20_000
UNREACHABLE = (OSError, aiohttp.ClientError, TimeoutError)


class World:
    """What one gateway process has; another one has the same."""

    def __init__(
        self, settings: Settings, client: Client, session: aiohttp.ClientSession, keyring: Keyring, master: bytes
    ) -> None:
        self.settings = settings
        self.client = client
        self.session = session
        self.keyring = keyring
        self.master = master
        self.metrics = Metrics()
        self.episodes = KnownEpisodes()
        self.tasks = KnownTasks(settings.environments, settings.default_environment)
        self._touched: OrderedDict[str, float] = OrderedDict()
        self._edits: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._touching: set[asyncio.Task[None]] = set()

    async def caller_of(self, key: str) -> Caller | None:
        """Return whose key this is: an API key of the file, or the key of an episode's own agent."""
        if not key or len(key) > MAX_KEY_CHARS:
            return None
        claim = agent_of_key(key)
        if claim is None:
            return self.keyring.caller_of(key)
        namespace, name = claim
        view = await self.episode(name) if namespace == self.settings.namespace else None
        if view is None:
            return None
        true_key = agent_key(self.master, namespace=namespace, name=name, uid=view.uid)
        return Caller(name=f"agent {name}", episode=name) if same_key(key, true_key) else None

    async def episode(self, name: str) -> EpisodeView | None:
        """Return an episode; one that was not seen yet is asked for."""
        return self.episodes.get(name) or await self.refreshed(name)

    async def refreshed(self, name: str) -> EpisodeView | None:
        """Return an episode as the API server has it now; None when there is none."""
        known = self.episodes.get(name)
        try:
            return self.episodes.see(await self.client.get(AGENT_EPISODES, self.settings.namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
            if known:
                self.episodes.forget(name, known.uid)
            return None

    def hands(self, view: EpisodeView) -> Hands:
        """Return the hands of an episode's sandbox."""
        return Hands(self.session, view.endpoint, sandbox_key(self.master, view.uid))

    def editing(self, uid: str) -> asyncio.Lock:
        """Return the lock that edits of an episode's files hold."""
        lock = self._edits.get(uid)
        if lock is None:
            lock = self._edits[uid] = asyncio.Lock()
        return lock

    def touch(self, view: EpisodeView) -> None:
        """Tell the sandbox, sooner or later, that its episode is in use."""
        now = time.monotonic()
        if stand_of(view) is not Stand.OPEN or now < self._touched.get(view.uid, -TOUCH_SECONDS) + TOUCH_SECONDS:
            return
        self._touched[view.uid] = now
        self._touched.move_to_end(view.uid)
        if len(self._touched) > REMEMBERED_TOUCHES:
            self._touched.popitem(last=False)
        task = asyncio.create_task(self._touch(view))
        self._touching.add(task)
        task.add_done_callback(self._touching.discard)

    async def _touch(self, view: EpisodeView) -> None:
        try:
            await self.hands(view).touch()
        except (*UNREACHABLE, HandsError):
            self._touched.pop(view.uid, None)  # the next ping tries again
            self.metrics.sandbox_faults.inc()


def call_seconds(view: EpisodeView) -> int:
    """Return the longest time of one tool call in seconds."""
    return seconds_of(view.call_timeout) or 600
