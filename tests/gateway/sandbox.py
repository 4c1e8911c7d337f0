"""A sandbox by the contract of the hands, over a local directory and the real bash: one call at a time, spooled output."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web


@dataclass
class Call:
    body: dict[str, Any]
    state: str = "queued"
    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    error: str = ""
    process: asyncio.subprocess.Process | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Sandbox:
    """Serves the hands on a port of its own; ``ran`` lists the scripts that were begun."""

    def __init__(self, tree: Path, spool: Path, key: str) -> None:
        self.tree, self.spool, self.key = tree, spool, key
        self.calls: dict[str, Call] = {}
        self.ran: list[str] = []
        self.touches = 0
        self.locked: int | None = None
        self.refuse = 0
        self.running = ""
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        app = web.Application(client_max_size=16 << 20, middlewares=[self._guard])
        app.router.add_get("/v1/state", self._state)
        app.router.add_post("/v1/touch", self._touch)
        app.router.add_put("/v1/calls/{id}", self._put)
        app.router.add_get("/v1/calls/{id}", self._get)
        app.router.add_get("/v1/calls/{id}/output", self._output)
        app.router.add_post("/v1/calls/{id}/cancel", self._cancel)
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        for call in self.calls.values():
            _kill(call)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            raise web.HTTPUnauthorized(text="the key is wrong")
        if self.refuse:
            self.refuse -= 1
            request.transport.close()
            return web.Response()
        return await handler(request)

    async def _state(self, _: web.Request) -> web.Response:
        return web.json_response({"ready": True, "running": self.running, "locked": self.locked})

    async def _touch(self, _: web.Request) -> web.Response:
        self.touches += 1
        return web.json_response({})

    async def _put(self, request: web.Request) -> web.Response:
        name, body = request.match_info["id"], await request.json()
        call = self.calls.get(name)
        if call is None:
            if self.locked is not None:
                raise LockedError(text="locked for a submission")
            call = self.calls[name] = Call(body)
            task = asyncio.create_task(self._perform(name, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif call.body != body:
            raise web.HTTPConflict(text="another call has this id")
        return await self._waited(request, name, call)

    async def _get(self, request: web.Request) -> web.Response:
        return await self._waited(request, request.match_info["id"], self._call(request))

    async def _waited(self, request: web.Request, name: str, call: Call) -> web.Response:
        try:
            async with asyncio.timeout(min(20, float(request.query.get("wait", "0")))):
                await call.done.wait()
        except TimeoutError:
            pass
        return self._said(name, call, most=int(request.query.get("output", "0")))

    async def _output(self, request: web.Request) -> web.Response:
        self._call(request)
        content = self._spooled(request.match_info["id"])
        offset, limit = int(request.query["offset"]), int(request.query["limit"])
        headers = {"X-Output-Bytes": str(len(content)), "X-Offset": str(offset)}
        return web.Response(body=content[offset : offset + limit], headers=headers)

    async def _cancel(self, request: web.Request) -> web.Response:
        _kill(self._call(request))
        return web.json_response({})

    def _call(self, request: web.Request) -> Call:
        call = self.calls.get(request.match_info["id"])
        if call is None:
            raise web.HTTPNotFound(text="no such call")
        return call

    def _said(self, name: str, call: Call, *, most: int = 0) -> web.Response:
        content = self._spooled(name) if call.done.is_set() else b""
        size = len(content)
        inline = {"output": base64.b64encode(content).decode()} if call.done.is_set() and size <= most else {}
        return web.json_response(
            inline
            | {
                "state": call.state,
                "exitCode": call.exit_code,
                "timedOut": call.timed_out,
                "seconds": call.seconds,
                "outputBytes": size,
                "error": call.error,
            }
        )

    def _spooled(self, name: str) -> bytes:
        file = self.spool / name
        return file.read_bytes() if file.exists() else b""

    async def _perform(self, name: str, call: Call) -> None:
        async with self._turn:
            call.state, self.running, began = "running", name, time.monotonic()
            if "script" in call.body:
                await self._script(name, call)
            elif "read" in call.body:
                self._read(name, call)
            else:
                self._write(name, call)
            call.seconds, call.state, self.running = time.monotonic() - began, "done", ""
            call.done.set()

    async def _script(self, name: str, call: Call) -> None:
        self.ran.append(call.body["script"])
        with (self.spool / name).open("wb") as out:
            call.process = await asyncio.create_subprocess_exec(
                "/bin/bash", "-c", call.body["script"], cwd=self.tree, stdout=out, stderr=out, start_new_session=True
            )
            try:
                async with asyncio.timeout(call.body["timeoutSeconds"]):
                    await call.process.wait()
            except TimeoutError:
                call.timed_out = True
                _kill(call)
                await call.process.wait()
        code = call.process.returncode
        call.exit_code = 128 - code if code is not None and code < 0 else code

    def _read(self, name: str, call: Call) -> None:
        call.exit_code = 0
        try:
            (self.spool / name).write_bytes((self.tree / call.body["read"]).read_bytes())
        except OSError as error:
            self._fail(name, call, error)

    def _fail(self, name: str, call: Call, error: OSError) -> None:
        named = call.body.get("read") or call.body["write"]["path"]
        (self.spool / name).write_text(f"{named}: {error.strerror}\n")
        call.exit_code = 1

    def _write(self, name: str, call: Call) -> None:
        given = call.body["write"]
        call.exit_code = 0
        target = (self.tree / given["path"]).resolve()
        try:
            if "replaces" in given and hashlib.sha256(target.read_bytes()).hexdigest() != given["replaces"]:
                call.exit_code = 3
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_name(f".{target.name}.fresh")
            fresh.write_bytes(base64.b64decode(given["content"]))
            if target.exists():
                fresh.chmod(target.stat().st_mode & 0o7777)
            fresh.rename(target)
        except OSError as error:
            self._fail(name, call, error)


class LockedError(web.HTTPClientError):
    status_code = 423


def _kill(call: Call) -> None:
    if call.process is not None and call.process.returncode is None:
        os.killpg(call.process.pid, signal.SIGKILL)
