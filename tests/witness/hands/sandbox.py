"""A sandbox pod as real processes: the hands, and serve.sh as the first process of a process namespace of its own."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from job_templates.repositories import Tree, commit
from witness.pod import ROOT, closed_port, wait_for

SERVE_SH = ROOT / "job_templates" / "serve.sh"
AS_MODULE = (
    f"import sys, runpy; sys.path.insert(0, {str(ROOT / 'operator')!r}); "
    "runpy.run_module('assay.witness.hands', run_name='__main__', alter_sys=True)"
)
KEY = "5" * 64
TREE: Tree = {
    "a.txt": b"one\ntwo\n",
    "bin/tool": (b"#!/bin/sh\necho tool\n", 0o755),
    "link": (b"a.txt", 0),
    "data.bin": bytes(range(256)) * 4,
}
SHELLS = {"bash": ("bash",), "dash": ("dash",), "busybox": ("busybox", "sh")}


class Sandbox:
    """The folders of one sandbox and the processes in it."""

    def __init__(self, folder: Path, tree: Tree | None = TREE) -> None:
        self.folder = folder
        self.io, self.private, self.top = folder / "io", folder / "record", folder / "repo"
        for path in (self.io, self.private, self.top):
            path.mkdir(parents=True)
        self.io.chmod(0o777)
        self.base = commit(self.top, tree) if tree is not None else ""
        self.message = folder / "termination-log"
        self.port = closed_port()
        self.targets = f"127.0.0.1:{closed_port()}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._numbers = itertools.count(1)

    def start_hands(self, **settings: str) -> subprocess.Popen[bytes]:
        environment = {
            "PATH": os.environ["PATH"],
            "ASSAY_IO": str(self.io),
            "ASSAY_RECORD": str(self.private),
            "ASSAY_ISOLATION_TARGETS": self.targets,
            "ASSAY_ADDRESS": "127.0.0.1",
            "ASSAY_PORT": str(self.port),
            "ASSAY_KEY": KEY,
            **settings,
        }
        return self._start([sys.executable, "-I", "-c", AS_MODULE], environment)

    def start_serve(
        self, shell: Sequence[str] = SHELLS["bash"], env: Mapping[str, str] | None = None, path: str | None = None
    ) -> subprocess.Popen[bytes]:
        environment = {
            "PATH": path or os.environ["PATH"],
            "HOME": str(self.folder),
            "ASSAY_IO": str(self.io),
            "ASSAY_WORKDIR": str(self.top),
            "ASSAY_TERMINATION_MESSAGE": str(self.message),
            **(env or {}),
        }
        alone = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        return self._start([*alone, *shell, str(SERVE_SH)], environment)

    def _start(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command, env=dict(environment), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def up(self, shell: str = "bash", **settings: str) -> Sandbox:
        self.hands = self.start_hands(**settings)
        self.serve = self.start_serve(SHELLS[shell])
        self.wait_ready()
        return self

    def wait_ready(self, seconds: float = 60.0) -> None:
        wait_for(lambda: self.readiness()[0] == 200 or self._is_over(), seconds)
        assert self.readiness()[0] == 200, (self.readiness(), self.log)

    def _is_over(self) -> bool:
        return any(process.poll() is not None for process in (self.hands, self.serve))

    def readiness(self) -> tuple[int, str]:
        try:
            status, _, body = self.ask("GET", "/readyz", key=None)
        except OSError:
            return 0, ""
        return status, str(json.loads(body).get("error", ""))

    def ask(
        self, method: str, path: str, body: Any = None, *, key: str | None = KEY, seconds: float = 60.0
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request; ``body`` bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as response:
                return response.status, dict(response.headers), response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()
        except urllib.error.URLError as error:
            raise OSError(str(error)) from error

    def json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        status, _, data = self.ask(method, path, body)
        assert status < 300, (status, data)
        found: dict[str, Any] = json.loads(data)
        return found

    def state(self) -> dict[str, Any]:
        return self.json("GET", "/v1/state")

    def start(self, body: Mapping[str, Any], identifier: str | None = None) -> str:
        identifier = identifier or f"call-{next(self._numbers)}"
        self.json("PUT", f"/v1/calls/{identifier}", body)
        return identifier

    def finish(self, identifier: str, seconds: float = 60.0) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while (state := self.json("GET", f"/v1/calls/{identifier}?wait=5"))["state"] != "done":
            assert time.monotonic() < until, (state, self.log)
        return state

    def output(self, identifier: str) -> bytes:
        return self.ask("GET", f"/v1/calls/{identifier}/output")[2]

    def call(self, body: Mapping[str, Any] | str, seconds: float = 60.0) -> tuple[int | None, bytes]:
        """Run to the end; exit code and output."""
        identifier = self.start({"script": body} if isinstance(body, str) else body)
        state = self.finish(identifier, seconds)
        assert state["error"] is None, state
        return state["exitCode"], self.output(identifier)

    def write(self, path: str, content: bytes, mode: str = "keep", **more: str) -> tuple[int | None, bytes]:
        encoded = base64.b64encode(content).decode()
        return self.call({"write": {"path": path, "content": encoded, "mode": mode, **more}})

    def submit(self, number: int = 1) -> tuple[int, bytes]:
        while True:
            status, _, body = self.ask("POST", f"/v1/submissions/{number}")
            if status != 202:
                return status, body

    def release(self, number: int = 1) -> None:
        self.json("POST", f"/v1/submissions/{number}/release")

    def restart_hands(self, **settings: str) -> None:
        self.hands.kill()
        self.hands.wait()
        self.hands = self.start_hands(**settings)
        self.wait_ready()

    def close(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def sandbox_in(folder: Path, tree: Tree | None = TREE) -> Iterator[Sandbox]:
    sandbox = Sandbox(folder, tree)
    try:
        yield sandbox
    finally:
        sandbox.close()


def half_open(port: int, data: bytes) -> socket.socket:
    """A connection that begins a request and says no more."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(data)
    return connection
