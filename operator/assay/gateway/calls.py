"""Drive one tool call to its answer, whatever happens to sandboxes, connections and gateways on the way."""

from __future__ import annotations

import asyncio
import logging
import time

from assay.domain.ors.answers import finished_refusal, over_result, spent_refusal, submission_result
from assay.domain.ors.episodes import EpisodeView, Stand, stand_of, submission_of_call, submit_patch
from assay.domain.ors.results import Output, Refused, Result, infrastructure
from assay.domain.ors.tools import Bash, CreateFile, StrReplace, SubmitAnswer, Tool, View
from assay.gateway.tools import Toolbox, conflict
from assay.gateway.world import UNREACHABLE, World, call_seconds
from assay.kube.client import AGENT_EPISODES, ApiError
from assay.kube.hands import HandsError

log = logging.getLogger(__name__)

LOOK_SECONDS = 30.0
"""How long a change is waited for before the API server is asked, in case that a watch has missed it."""
LONGEST_PAUSE = 5.0
CONFLICT = 409
LOCKED = 423
IMPOSSIBLE = frozenset({400, 413})
SandboxTool = Bash | View | StrReplace | CreateFile
_NAMES = {
    Bash: "bash",
    View: "view",
    StrReplace: "str_replace",
    CreateFile: "create_file",
    SubmitAnswer: "submit_answer",
}


async def answer(world: World, view: EpisodeView, tool: Tool, identifier: str) -> Result:
    """Return what a call answers.  The same call with the same ``identifier`` has one effect and one answer."""
    if isinstance(tool, SubmitAnswer):
        return await _submitted(world, view.name, identifier)
    return await _carried_out(world, view.name, tool, identifier)


async def _carried_out(world: World, name: str, tool: SandboxTool, identifier: str) -> Result:
    patience = _Patience(world.settings.lost_seconds)
    while True:
        view = await _known(world, name)
        result = _at_once(view, _NAMES[type(tool)])
        if result is not None or view is None:
            return result or _deleted(_NAMES[type(tool)])
        if stand_of(view) is not Stand.OPEN:
            await _change(world, view)
            continue
        try:
            result = await _tried(world, view, tool, identifier)
        except HandsError as error:
            if error.status == CONFLICT:
                return conflict(_NAMES[type(tool)])
            if error.status in IMPOSSIBLE:
                return Refused(text=f"Tool input validation error: {error.message}", reason="input_validation")
            exhausted = patience.lost(error) if error.status != LOCKED else ""
        except UNREACHABLE as error:
            exhausted = patience.lost(error)
        else:
            if result is not None:
                return result
            continue
        if exhausted:
            world.metrics.sandbox_faults.inc()
            log.warning("%s: its sandbox is out of reach: %s", name, exhausted)
            return infrastructure(_NAMES[type(tool)], "The sandbox is out of reach; the call may be tried again.")
        await patience.pause()
        await _look(world, name)


class _Patience:
    """How long one call waits for a sandbox that is out of reach, and how often it tries."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = 0.0
        self._pause = 0.1

    def lost(self, error: Exception) -> str:
        """Note a fault; return what it was once patience has come to its end, else nothing."""
        self._since = self._since or time.monotonic()
        over = time.monotonic() - self._since > self._seconds
        return f"{type(error).__name__}: {error}" if over else ""

    async def pause(self) -> None:
        """Wait, every time a little longer."""
        await asyncio.sleep(self._pause)
        self._pause = min(LONGEST_PAUSE, self._pause * 2)


def _at_once(view: EpisodeView | None, tool: str) -> Result | None:
    """Return the answer that needs no sandbox; None when one is needed."""
    if view is None:
        return _deleted(tool)
    stand = stand_of(view)
    if stand is Stand.FINISHED:
        return finished_refusal()
    if stand is Stand.OVER:
        return over_result(view, tool)
    return spent_refusal(view) if view.calls >= view.most_calls else None


async def _tried(world: World, view: EpisodeView, tool: SandboxTool, identifier: str) -> Result | None:
    """Return the tool's answer; None when the episode came to its end first."""
    box = Toolbox(
        world.hands(view),
        master=world.master,
        uid=view.uid,
        identifier=identifier,
        seconds=call_seconds(view),
        editing=world.editing(view.uid),
    )
    running = asyncio.ensure_future(box.run(tool))
    ending = asyncio.ensure_future(_ended(world, view))
    try:
        await asyncio.wait((running, ending), return_when=asyncio.FIRST_COMPLETED)
        return running.result() if running.done() else None
    finally:
        for task in (running, ending):
            task.cancel()
        await asyncio.gather(running, ending, return_exceptions=True)


async def _ended(world: World, view: EpisodeView) -> None:
    seen: EpisodeView | None = view
    while seen is not None and seen.uid == view.uid and stand_of(seen) not in (Stand.FINISHED, Stand.OVER):
        await world.episodes.change(view.name, seen=seen, seconds=LOOK_SECONDS)
        seen = world.episodes.get(view.name)


async def _submitted(world: World, name: str, identifier: str) -> Result:
    waited = False
    await _look(world, name)
    while True:
        view = await _known(world, name)
        if view is None:
            return _deleted("submit_answer")
        number = submission_of_call(view, identifier)
        if number:
            result = submission_result(view, number)
            if result is not None:
                return result
            await _change(world, view)
            continue
        stand = stand_of(view)
        if stand is Stand.FINISHED:
            return finished_refusal()
        if stand is Stand.OVER:
            return over_result(view, "submit_answer")
        if stand is Stand.OPEN:
            refusal = _refusal(view, waited=waited)
            if refusal is not None:
                return refusal
            await _ask(world, view, identifier)
            continue
        waited = waited or stand is Stand.GRADING
        await _change(world, view)


def _refusal(view: EpisodeView, *, waited: bool) -> Result | None:
    if waited:
        text = "Another submission was being graded and was not graded in the end; this call submitted nothing. Call submit_answer again."
        return Output(text=f"{text}\nExit code: 1", metadata={"ok": False, "tool": "submit_answer", "exit_code": 1})
    if view.submit >= view.most_submissions:
        return Refused(
            text=f"all {view.most_submissions} submissions of this episode are used up", reason="episode_finished"
        )
    return None


async def _ask(world: World, view: EpisodeView, identifier: str) -> None:
    """Ask for a submission; when the episode has changed meanwhile, only what is known of it changes."""
    try:
        raw = await world.client.patch(AGENT_EPISODES, view.namespace, view.name, submit_patch(view, identifier))
        world.episodes.see(raw)
    except ApiError as error:
        if error.status not in (0, 404, 409) and error.status < 500:
            raise
        await asyncio.sleep(0.1)
        await _look(world, view.name)


async def _known(world: World, name: str) -> EpisodeView | None:
    while True:
        view = world.episodes.get(name)
        if view is not None or await _look(world, name):
            return world.episodes.get(name)
        await asyncio.sleep(1)


async def _change(world: World, view: EpisodeView) -> None:
    await world.episodes.change(view.name, seen=view, seconds=LOOK_SECONDS)
    if world.episodes.get(view.name) == view:
        await _look(world, view.name)


async def _look(world: World, name: str) -> bool:
    """Ask the API server for an episode; say whether it answered. While it does not, what is known stays."""
    try:
        await world.refreshed(name)
    except ApiError as error:
        log.warning("%s: %s", name, error)
        return False
    return True


def _deleted(tool: str) -> Output:
    return infrastructure(tool, "The episode was deleted.")
