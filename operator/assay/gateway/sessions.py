"""Sessions and the episodes behind them: opened, found again by any gateway, deleted."""

from __future__ import annotations

import contextlib
import logging

from assay.domain.ors.episodes import (
    EpisodeView,
    Stand,
    episode_name,
    manifest_of_episode,
    owner_label,
    stand_of,
)
from assay.domain.ors.requests import Opening
from assay.domain.ors.tasks import at_index
from assay.gateway.callers import Caller
from assay.gateway.door import granted, refused
from assay.gateway.world import UNREACHABLE, World
from assay.kube.client import AGENT_EPISODES, ApiError
from assay.kube.hands import HandsError

log = logging.getLogger(__name__)

CANCEL_SECONDS = 2.0


def name_of(caller: Caller, session: str) -> str:
    """Return the name of the episode that a caller means; an agent has but one."""
    if not caller.episode:
        return episode_name(caller.name, session)
    if session != caller.episode:
        raise refused(404, "this key opens one session only, its own")
    return caller.episode


async def found(world: World, caller: Caller, session: str) -> EpisodeView:
    """Return the episode of a session, whoever opened it first; note that it is in use."""
    view = await world.episode(name_of(caller, session))
    if view is None:
        raise refused(404, "unknown session: there is no episode of this X-Session-ID, or it was deleted")
    world.touch(view)
    return view


def environment_of(world: World, caller: Caller, named: str) -> str:
    """Return an environment by its name in any case; nothing named is the default one, or an agent's own."""
    if caller.episode:
        view = world.episodes.get(caller.episode)
        return (view.environment if view else "") or world.settings.default_environment
    environments = world.tasks.environments()
    if not named:
        return environments[0]
    if named.lower() not in environments:
        raise refused(404, f"unknown environment {named[:100]!r}; there are {', '.join(environments)[:2000]}")
    return named.lower()


def names_of(world: World, caller: Caller, environment: str, split: str) -> tuple[str, ...]:
    """Return the tasks of a split; an agent has but one."""
    if not caller.episode:
        return world.tasks.names(environment, split)
    view = world.episodes.get(caller.episode)
    return ((view.validation if view else "") or caller.episode,) if split == "train" else ()


async def open_episode(world: World, caller: Caller, session: str, opening: Opening, environment: str) -> None:
    """Make the episode of a session, unless it is there already for the same task."""
    name = name_of(caller, session)
    task = opening.task or granted(at_index(names_of(world, caller, environment, opening.split), opening.index))
    known = await world.episode(name)
    if known is None and not caller.episode:
        known = await _made(world, caller, name, task, environment)
    if known is None:
        raise refused(404, "the episode of this key is gone")
    if known.deleting:
        raise refused(410, "the episode of this session was deleted; open a new session")
    if task not in {known.validation, known.name} or (not caller.episode and known.environment != environment[:63]):
        raise refused(400, "Session already exists, with another task")


async def _made(world: World, caller: Caller, name: str, task: str, environment: str) -> EpisodeView:
    """Create the object; one that another gateway has made meanwhile will do."""
    entry = world.tasks.get(environment, task)
    if entry is None:
        raise refused(400, f"Invalid task: environment {environment!r} has no valid task {task[:100]!r}")
    if world.settings.episode.get("network") == "GoProxy" and not entry.owns_modules:
        raise refused(
            400, f"Invalid task: TaskValidation {task} has no spec.goPolicy.owned, which network GoProxy needs"
        )
    if world.episodes.open_of(owner_label(caller.name)) >= caller.max_episodes:
        raise refused(429, f"this key may have {caller.max_episodes} episodes open at a time", Retry_After="10")
    manifest = manifest_of_episode(
        name=name,
        namespace=world.settings.namespace,
        owner=caller.name,
        task=task,
        environment=environment,
        settings=world.settings.episode,
    )
    try:
        return world.episodes.see(await world.client.create(AGENT_EPISODES, world.settings.namespace, manifest))
    except ApiError as error:
        if error.status == 403:
            raise refused(429, f"the cluster takes no more episodes: {error.message}", Retry_After="10") from error
        if error.status not in (0, 409):
            raise
        view = await world.refreshed(name)
        if view is None:
            raise
        return view


async def delete_episode(world: World, caller: Caller, session: str) -> None:
    """End an episode and all that it has; none is a success.  An agent's episode stays, with its reward."""
    if caller.episode:
        return
    view = await world.episode(name_of(caller, session))
    if view is None:
        return
    await _cancel_call(world, view)
    await world.client.delete(AGENT_EPISODES, view.namespace, view.name, uid=view.uid)
    world.episodes.forget(view.name, view.uid)


async def _cancel_call(world: World, view: EpisodeView) -> None:
    """End the running call, where there is one and the sandbox can be reached: its pod will be gone in a moment."""
    if stand_of(view) is not Stand.OPEN:
        return
    with contextlib.suppress(*UNREACHABLE, HandsError):
        hands = world.hands(view)
        running = (await hands.state()).get("running")
        if isinstance(running, str) and running:
            await hands.cancel(running)
