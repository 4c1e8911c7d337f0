"""The stage of the gateway's tests: a running gateway, two runs, and an upstream whose every byte a test can choose."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.domain.gomodules import GoPolicy
from assay.domain.goproxy.records import RunRecord
from assay.goproxy.http_upstream import upstream_of
from assay.goproxy.policies import PolicySource, TablePolicies
from assay.goproxy.server import Gateway, running
from assay.goproxy.settings import Settings
from assay.goproxy.upstream import Upstream

T1, T2 = "T1-token-aaaaaaaaaaaaaa", "T2-token-bbbbbbbbbbbbbb"
T1_POD, T2_POD = "127.0.0.1", "127.0.0.2"
SUMDB = "sum.example.org"
WIDGET = GoPolicy(
    owned=frozenset(
        {
            "github.com/Acme/Widget",
            "github.com/acme-labs/widget-go",
            "go.acme.dev/widget",
            "go.acme.dev/widget/v2",
            "github.com/Acme/Widget/tools",
            "github.com/newco/gadget",
        }
    ),
    fork_names=frozenset({"widget", "widget-go"}),
    nested_elsewhere=frozenset({"go.acme.dev/widget/proto"}),
)
OTHER = GoPolicy(owned=frozenset({"github.com/other/task"}), fork_names=frozenset({"task"}))


def make_record(token: str = T1, **fields: Any) -> RunRecord:
    given = {
        "run": f"runs/{token[:2]}",
        "pod_uid": f"uid-{token[:2]}",
        "addresses": frozenset({T1_POD}),
        "policy": WIDGET,
    }
    return RunRecord(token_sha256=hashlib.sha256(token.encode()).hexdigest(), **{**given, **fields})


def make_records() -> list[RunRecord]:
    return [make_record(), make_record(T2, addresses=frozenset({T2_POD}), policy=OTHER)]


def escape(plain: str) -> str:
    return re.sub("[A-Z]", lambda match: "!" + match[0].lower(), plain)


def unescape(escaped: str) -> str:
    return re.sub("!([a-z])", lambda match: match[1].upper(), escaped)


def make_info(version: str, *, origin: str | None = None, time: str = "2024-01-02T03:04:05Z") -> bytes:
    info: dict[str, Any] = {"Version": version, "Time": time}
    if origin is not None:
        info["Origin"] = {"VCS": "git", "URL": origin}
    return json.dumps(info).encode()


def make_zip(
    module: str, version: str, files: Mapping[str, bytes] | None = None, *, names: Iterable[str] = ()
) -> bytes:
    files = {"go.mod": f"module {module}\n".encode(), "a.go": b"package a\n"} if files is None else files
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(f"{module}@{version}/{name}", body)
        for name in names:
            archive.writestr(name, b"package x\n")
    return buffer.getvalue()


def make_files(
    module: str, version: str, *, gomod: str = "", origin: str | None = None, **zip_fields: Any
) -> dict[str, bytes]:
    """The files of one version under their upstream paths."""
    base = f"{escape(module)}/@v"
    return {
        f"{base}/list": f"{version}\n".encode(),
        f"{base}/{escape(version)}.info": make_info(version, origin=origin),
        f"{base}/{escape(version)}.mod": (gomod or f"module {module}\n").encode(),
        f"{base}/{escape(version)}.zip": make_zip(module, version, **zip_fields),
    }


def http(status: int, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class FakeUpstream:
    """A server of exactly the bytes that a test chose, by path; every request's head is kept.

    ``answers`` wins over ``files``; a path in neither is a 404, unless ``generous`` makes up a module for it.
    """

    def __init__(self, *, generous: bool = False) -> None:
        self.files: dict[str, bytes] = {}
        self.answers: dict[str, bytes | Behaviour] = {}
        self.heads: list[str] = []
        self.generous = generous
        self.port = 0

    @property
    def paths(self) -> list[str]:
        return [head.split(" ")[1] for head in self.heads]

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[None]:
        writers: set[asyncio.StreamWriter] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.add(writer)
            try:
                while True:
                    head = (await reader.readuntil(b"\r\n\r\n")).decode()
                    self.heads.append(head)
                    await self._answer(head.split(" ")[1].lstrip("/"), writer)
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writers.discard(writer)
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for writer in list(writers):
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        answer = self.answers.get(path)
        if callable(answer):
            await answer(writer)
        elif answer is not None:
            writer.write(answer)
        elif path in self.files:
            writer.write(http(200, self.files[path]))
        else:
            made_up = _made_up(path) if self.generous else None
            writer.write(http(404, b"nothing here\n") if made_up is None else http(200, made_up))


def _made_up(path: str) -> bytes | None:
    """What an upstream that has everything says."""
    if path.startswith("sumdb/"):
        return _made_up_sum(path)
    module, _, file = path.partition("/@")
    module = unescape(module)
    stem, _, suffix = file.removeprefix("v/").rpartition(".")
    version = unescape(stem)
    match suffix if file.startswith("v/") and stem else file:
        case "v/list":
            return b"v1.0.0\n"
        case "latest":
            return make_info("v1.0.0")
        case "info":
            return make_info(version if version.startswith("v") else "v1.0.1-0.20240102030405-abcdefabcdef")
        case "mod":
            return f"module {module}\n".encode()
        case "zip":
            return make_zip(module, version)
    return None


TREE = "go.sum database tree\n5\nAAAA=\n\n\u2014 sum.example.org AAAA=\n"


def make_sum(module: str, version: str) -> bytes:
    return f"3\n{module} {version} h1:aaaa=\n{module} {version}/go.mod h1:bbbb=\n\n{TREE}".encode()


def _made_up_sum(path: str) -> bytes | None:
    _, _, kind, *rest = path.split("/")
    if kind == "latest":
        return TREE.encode()
    if kind == "lookup":
        module, _, version = "/".join(rest).partition("@")
        return make_sum(unescape(module), unescape(version))
    width = int(rest[-1]) if rest[-2].endswith(".p") else 256
    return b"h" * 32 * width


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool = False

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Stage:
    """A running gateway and the way to talk to it."""

    port: int
    health_port: int
    gateway: Gateway
    upstream: FakeUpstream
    policies: PolicySource
    cache_dir: Path
    log: list[dict[str, Any]] = field(default_factory=list)

    async def raw(self, data: bytes, *, answers: int = 1) -> bytes:
        """Send bytes; return what comes until there are so many status lines and then silence, or the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        got = b""
        try:
            while chunk := await asyncio.wait_for(reader.read(1 << 16), 20 if len(statuses(got)) < answers else 0.2):
                got += chunk
        except TimeoutError:
            pass
        finally:
            writer.close()
        return got

    async def ask(
        self,
        path: str,
        *,
        token: str | None = T1,
        pod: str = T1_POD,
        method: str = "GET",
        headers: Iterable[str] = ("Host: gateway",),
    ) -> Answer:
        """Ask for a path below the token's prefix; for the bare target where the token is None."""
        target = path if token is None else f"/t/{token}{path}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(pod, 0))
        try:
            writer.write("\r\n".join([f"{method} {target} HTTP/1.1", *headers, "", ""]).encode("latin-1"))
            async with asyncio.timeout(20):
                return await read_answer(reader, method)
        finally:
            writer.close()

    async def health(self, path: str) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.health_port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
            return await read_answer(reader, "GET")
        finally:
            writer.close()

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        total = 0.0
        for line in (await self.health("/metrics")).text.splitlines():
            match = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
            if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
                total += float(match[2])
        return total


def statuses(answers: bytes) -> list[str]:
    """The statuses of several answers on one connection; all bodies must end in a new line."""
    return re.findall(r"^HTTP/[0-9.]+ ([0-9]+)", answers.decode("latin-1"), re.MULTILINE)


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that the gateway does after it has answered."""
    for _ in range(2000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


async def read_answer(reader: asyncio.StreamReader, method: str = "GET") -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    length = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
    body = await reader.readexactly(length)
    return Answer(int(status_line.split(" ")[1]), headers, body, headers.get("connection") == "close")


@asynccontextmanager
async def make_stage(
    cache_dir: Path,
    *,
    generous: bool = False,
    policies: PolicySource | None = None,
    upstream: Upstream | None = None,
    upstream_directory: Path | None = None,
    **settings: Any,
) -> AsyncIterator[Stage]:
    fake = FakeUpstream(generous=generous)
    policies = policies or TablePolicies(make_records())
    async with fake.serving():
        given = {
            "upstream": str(upstream_directory or f"http://127.0.0.1:{fake.port}"),
            "upstream_suffix": "",
            "cache_dir": cache_dir,
            "host": "127.0.0.1",
            "port": 0,
            "health_port": 0,
            "databases": frozenset({SUMDB}),
            "private_upstream": True,
            "total_seconds": 5.0,
            "zip_seconds": 5.0,
        }
        chosen = Settings(**{**given, **settings})
        async with running(chosen, policies, upstream or upstream_of(chosen)) as up:
            yield Stage(up.port, up.health_port, up.gateway, fake, policies, cache_dir)
