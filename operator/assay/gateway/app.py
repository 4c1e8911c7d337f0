"""The protocol's endpoints, with and without an environment in front.  Each handler reads, asks once and answers."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from assay import __version__
from assay.domain.keys import call_id, owns_call
from assay.domain.ors.answers import finished_refusal
from assay.domain.ors.episodes import EpisodeView, Stand, stand_of, submission_of_call
from assay.domain.ors.prompt import prompt_of
from assay.domain.ors.requests import SPLITS, call_of, index_of, listing_of, opening_of, session_of
from assay.domain.ors.results import Output, Refused, Result, text_blocks
from assay.domain.ors.tasks import at_index, part_of
from assay.domain.ors.tools import TOOLS, SubmitAnswer, Tool, ToolRefusal, tool_of
from assay.gateway.calls import answer
from assay.gateway.door import CALLER, TooLargeError, body_of, door, granted, refused
from assay.gateway.sessions import delete_episode, environment_of, found, names_of, open_episode
from assay.gateway.statements import StatementError, task_of
from assay.gateway.streams import stream_events, stream_result
from assay.gateway.world import World

TOO_LARGE = Refused(
    text="Tool input validation error: the input is larger than 10 MiB; pass it in parts", reason="input_validation"
)


class Endpoints:
    """Handlers of one gateway."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def health(self, _: web.Request) -> web.Response:
        """Say that the process answers."""
        return web.json_response({"status": "ok"})

    async def version(self, _: web.Request) -> web.Response:
        """Say which version answers."""
        return web.json_response({"version": __version__, "build_sha": None})

    async def list_environments(self, request: web.Request) -> web.Response:
        """List the environments that the caller can use."""
        caller = request[CALLER]
        if caller.episode:
            return web.json_response([environment_of(self._world, caller, "")])
        return web.json_response(list(self._world.tasks.environments()))

    async def tools(self, request: web.Request) -> web.Response:
        """List the tools: the same for every task."""
        self._environment(request)
        return web.json_response({"tools": TOOLS, "terminal_tool": None, "supports_score_group": False})

    async def splits(self, request: web.Request) -> web.Response:
        """List the splits."""
        self._environment(request)
        return web.json_response([{"name": name, "type": name} for name in SPLITS])

    async def tasks(self, request: web.Request) -> web.Response:
        """List a split's tasks, or a part of them (start and stop)."""
        environment = self._environment(request)
        listing = granted(listing_of(await body_of(request)))
        names = names_of(self._world, request[CALLER], environment, listing.split)
        return web.json_response({"tasks": part_of(names, listing), "env_name": environment})

    async def num_tasks(self, request: web.Request) -> web.Response:
        """Count a split's tasks."""
        environment = self._environment(request)
        listing = granted(listing_of(await body_of(request)))
        return web.json_response({"num_tasks": len(names_of(self._world, request[CALLER], environment, listing.split))})

    async def task(self, request: web.Request) -> web.Response:
        """Return the task at an index of a split."""
        environment = self._environment(request)
        body = await body_of(request)
        names = names_of(self._world, request[CALLER], environment, granted(listing_of(body)).split)
        name = granted(at_index(names, granted(index_of(body))))
        return web.json_response({"task": {"task": name}, "env_name": environment})

    async def create_session(self, request: web.Request) -> web.StreamResponse:
        """Give out a session's id; nothing is made yet."""
        await body_of(request)
        session = request[CALLER].episode or secrets.token_hex(16)
        if "text/event-stream" in request.headers.get("Accept", ""):
            return await stream_events(request, ("task_id", session), ("end", ""))
        return web.json_response({"sid": session})

    async def create(self, request: web.Request) -> web.Response:
        """Make the session's episode."""
        session = granted(session_of(request.headers.get("X-Session-ID")))
        opening = granted(opening_of(await body_of(request)))
        named = opening.environment or _deployment(self._world, request)
        environment = environment_of(self._world, request[CALLER], named)
        await open_episode(self._world, request[CALLER], session, opening, environment)
        return web.json_response({"sid": session})

    async def ping(self, request: web.Request) -> web.Response:
        """Say whether the episode lives, or is finished."""
        view = await self._episode(request)
        if stand_of(view) is Stand.OVER:
            raise refused(404, f"the episode is over ({view.phase}) {view.message}")
        return web.json_response({"status": "ok"})

    async def prompt(self, request: web.Request) -> web.Response:
        """Return what the agent is asked to do; no sandbox is needed for it."""
        return web.json_response(text_blocks(await self._prompt(request)))

    async def messages(self, request: web.Request) -> web.Response:
        """Return the same as a conversation's first message."""
        blocks = text_blocks(await self._prompt(request))
        return web.json_response([{"role": "user", "blocks": blocks, "detail": None}])

    async def task_tools(self, request: web.Request) -> web.Response:
        """List the tools of the session's task."""
        await self._episode(request)
        return await self.tools(request)

    async def call(self, request: web.Request) -> web.StreamResponse:
        """Carry out a tool call, or find the answer to one that was lost."""
        world, view = self._world, await self._episode(request)
        try:
            call = granted(call_of(await body_of(request)))
        except TooLargeError:
            return await self._told(request, TOO_LARGE, secrets.token_hex(16))
        if call.task_id and not owns_call(world.master, uid=view.uid, identifier=call.task_id):
            return await stream_events(request, ("error", "unknown task_id"))
        if call.task_id:
            world.metrics.resumed.inc()
        stand = stand_of(view)
        if stand is Stand.OVER:
            raise refused(410, f"the episode is over ({view.phase}). {view.message}".strip())
        identifier = call.task_id or call_id(world.master, uid=view.uid, nonce=secrets.token_hex(16))
        if stand is Stand.FINISHED and not submission_of_call(view, identifier):
            return await self._told(request, finished_refusal(), identifier)
        tool = tool_of(call.name, call.input)
        if isinstance(tool, ToolRefusal):
            return await self._told(request, Refused(text=tool.text, reason=tool.reason), identifier)
        return await self._streamed(request, view, tool, identifier, call.name)

    async def score_group(self, _: web.Request) -> web.Response:
        """Refuse what is not offered, as the protocol says it."""
        raise refused(404, "score_group is not supported")

    async def delete(self, request: web.Request) -> web.Response:
        """End the session's episode."""
        session = granted(session_of(request.headers.get("X-Session-ID")))
        await delete_episode(self._world, request[CALLER], session)
        return web.json_response({"sid": session})

    async def delete_session(self, request: web.Request) -> web.Response:
        """End a session: what there is to end, ``/delete`` ends."""
        return web.json_response({"sid": granted(session_of(request.headers.get("X-Session-ID")))})

    def _environment(self, request: web.Request) -> str:
        named = request.match_info.get("environment") or _deployment(self._world, request)
        return environment_of(self._world, request[CALLER], named)

    async def _episode(self, request: web.Request) -> EpisodeView:
        if "environment" in request.match_info:
            self._environment(request)
        session = granted(session_of(request.headers.get("X-Session-ID")))
        return await found(self._world, request[CALLER], session)

    async def _prompt(self, request: web.Request) -> str:
        view = await self._episode(request)
        if view.deleting:
            raise refused(410, "the episode was deleted")
        try:
            task = await task_of(self._world, view)
        except StatementError as error:
            if error.lasting:
                raise refused(410, str(error)) from error
            raise refused(503, str(error), X_Backend_State="starting", Retry_After="2") from error
        return prompt_of(task, offline=view.network == "Offline")

    async def _streamed(
        self, request: web.Request, view: EpisodeView, tool: Tool, identifier: str, name: str
    ) -> web.StreamResponse:
        metrics, started = self._world.metrics, time.monotonic()

        async def work() -> Result:
            result = await answer(self._world, view, tool, identifier)
            metrics.call_seconds.labels(name).observe(time.monotonic() - started)
            metrics.calls.labels(name, _end_of(tool, result)).inc()
            return result

        with metrics.streams.track_inprogress():
            heartbeat = self._world.settings.heartbeat_seconds
            return await stream_result(request, identifier=identifier, work=work, heartbeat=heartbeat)

    async def _told(self, request: web.Request, result: Result, identifier: str) -> web.StreamResponse:
        async def work() -> Result:
            return result

        self._world.metrics.calls.labels("none", _end_of(None, result)).inc()
        return await stream_result(request, identifier=identifier, work=work, heartbeat=10)


def application(world: World) -> web.Application:
    """Return the application for clients."""
    endpoints = Endpoints(world)
    app = web.Application(middlewares=[door(world)], client_max_size=0)
    routes: list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
        ("GET", "tools", endpoints.tools),
        ("GET", "splits", endpoints.splits),
        ("POST", "tasks", endpoints.tasks),
        ("POST", "num_tasks", endpoints.num_tasks),
        ("POST", "task", endpoints.task),
        ("POST", "task_range", endpoints.tasks),
        ("GET", "prompt", endpoints.prompt),
        ("GET", "messages", endpoints.messages),
        ("GET", "task_tools", endpoints.task_tools),
        ("POST", "call", endpoints.call),
        ("POST", "score_group", endpoints.score_group),
    ]
    for verb, path, handler in routes:
        app.router.add_route(verb, f"/{path}", handler)
        app.router.add_route(verb, f"/{{environment}}/{path}", handler)
    app.router.add_get("/health", endpoints.health)
    app.router.add_get("/version", endpoints.version)
    app.router.add_get("/list_environments", endpoints.list_environments)
    app.router.add_post("/create_session", endpoints.create_session)
    app.router.add_post("/create", endpoints.create)
    app.router.add_post("/ping", endpoints.ping)
    app.router.add_post("/delete", endpoints.delete)
    app.router.add_post("/delete_session", endpoints.delete_session)
    return app


def health_application(world: World) -> web.Application:
    """Return the application of the second port: /healthz, /readyz, /metrics."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        wrong = unready(world)
        return web.Response(status=503 if wrong else 200, text=f"{wrong or 'ok'}\n")

    async def metrics(_: web.Request) -> web.Response:
        world.metrics.episodes.set(len(world.episodes))
        world.metrics.tasks.set(len(world.tasks))
        return web.Response(body=world.metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    for path, handler in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics)):
        app.router.add_get(path, handler)
    return app


def unready(world: World) -> str:
    """Return what a gateway still waits for; empty when it can serve."""
    if not (world.episodes.synced and world.tasks.synced):
        return "waiting for the first lists of episodes and tasks"
    return ""


def _deployment(world: World, request: web.Request) -> str:
    """Return the environment that a client's X-Deployment names, where it names one of ours."""
    named = request.headers.get("X-Deployment", "").rpartition("/")[2].lower()
    return named if named in world.tasks.environments() else ""


def _end_of(tool: Tool | None, result: Result) -> str:
    if isinstance(result, Refused):
        return result.reason
    if result.metadata.get("failure_class"):
        return str(result.metadata["failure_class"])
    return "graded" if isinstance(tool, SubmitAnswer) and isinstance(result, Output) and result.finished else "answered"
