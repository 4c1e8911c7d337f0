"""Upstream slow, dead and lying, a full disk: no wrong byte, no skipped policy, a clear 502 or 504, and recovery."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from yarl import URL

from assay.goproxy.http_upstream import HttpUpstream, is_below
from assay.goproxy.upstream import DirectoryUpstream, UpstreamFaultError
from goproxy.stage import T1, Answer, Behaviour, Stage, http, make_files, make_info, make_stage, make_zip, read_answer

TEXT = "golang.org/x/text/@v/v0.14.0"
FILES = make_files("golang.org/x/text", "v0.14.0")
ZIP = FILES[f"{TEXT}.zip"]


async def _recovers(stage: Stage, suffix: str) -> None:
    stage.upstream.answers.clear()
    answer = await stage.ask(f"/{TEXT}.{suffix}")
    assert (answer.status, answer.body) == (200, FILES[f"{TEXT}.{suffix}"])


def _mute() -> Behaviour:
    async def behave(_: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    return behave


def _trickle() -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(300):
            writer.write(b"m")
            await asyncio.sleep(0.1)

    return behave


def _endless() -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"10000\r\n" + b"m" * 65536 + b"\r\n")
            await writer.drain()

    return behave


def _hang_up() -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.close()

    return behave


FAULTS: dict[str, tuple[str, bytes | Behaviour, int]] = {
    "mute": ("mod", _mute(), 504),
    "trickling": ("mod", _trickle(), 504),
    "mute on a zip": ("zip", _mute(), 504),
    "endless": ("mod", _endless(), 502),
    "hangs up": ("mod", _hang_up(), 502),
    "shorter than its length": ("mod", http(200, b"module golang.org/x/text\n", length=26), 504),
    "zip shorter than its length": ("zip", http(200, ZIP, length=len(ZIP) + 1), 504),
    "zip longer than its length": ("zip", http(200, ZIP, length=len(ZIP) - 7), 502),
    "truncated zip": ("zip", http(200, ZIP[:-30]), 502),
    "half a zip": ("zip", http(200, ZIP[: len(ZIP) // 2]), 502),
    "empty zip": ("zip", http(200), 502),
    "page as a zip": ("zip", http(200, b"<html>moved</html>"), 502),
    "zip with a comment": ("zip", http(200, ZIP[:-2] + b"\x04\x00evil"), 502),
    "zip behind other bytes": ("zip", http(200, b"PK\x03\x04evil" + ZIP), 502),
    "zip of another version": ("zip", http(200, make_zip("golang.org/x/text", "v0.15.0")), 502),
    "info of another version": ("info", http(200, make_info("v0.15.0")), 502),
    "info that is a page": ("info", http(200, b"<html>moved</html>"), 502),
    "mute on an info": ("info", _mute(), 504),
    "endless zip": ("zip", _endless(), 504),
    "302 to elsewhere": ("zip", http(302, b"", "Location: https://evil.example/x"), 502),
    "302 without a place": ("zip", http(302), 502),
    "bad HTTP": ("mod", b"HELLO\r\n\r\n", 502),
    "two lengths": ("mod", http(200, b"module golang.org/x/text\n", "Content-Length: 3"), 502),
    "wrong compression": ("mod", http(200, b"module x\n", "Content-Encoding: gzip"), 502),
}


@pytest.mark.parametrize(("suffix", "answer", "status"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_faulty_upstream_is_a_502_or_504_with_a_sentence_and_is_forgotten(
    tmp_path: Path, suffix: str, answer: bytes | Behaviour, status: int
) -> None:
    patience = 0.4 if status == 504 else 20.0
    async with make_stage(tmp_path, total_seconds=patience, zip_seconds=patience) as stage:
        stage.upstream.files = dict(FILES)
        stage.upstream.answers[f"{TEXT}.{suffix}"] = answer
        got = await stage.ask(f"/{TEXT}.{suffix}")
        assert (got.status, got.text.count("\n")) == (status, 1)
        assert [path.name for path in (tmp_path / "spool").iterdir()] == []
        await _recovers(stage, suffix)


async def test_bytes_behind_an_answer_are_not_taken_for_the_next_one(stage: Stage) -> None:
    stage.upstream.files = dict(FILES)
    stage.upstream.answers[f"{TEXT}.info"] = FILES_INFO + http(200, b"module github.com/evil/x\n")
    assert (await stage.ask(f"/{TEXT}.info")).status == 200
    for _ in range(3):
        answer = await stage.ask(f"/{TEXT}.mod")
        assert (answer.status, answer.body) == (200, FILES[f"{TEXT}.mod"])


FILES_INFO = http(200, FILES[f"{TEXT}.info"])


async def test_a_dead_upstream_is_a_502_and_what_is_cached_is_served_on(tmp_path: Path) -> None:
    async with make_stage(tmp_path) as stage:
        stage.upstream.files = dict(FILES)
        assert (await stage.ask(f"/{TEXT}.mod")).status == 200
        dead = HttpUpstream("http://127.0.0.1:1", private=True)
        async with make_stage(tmp_path, upstream=dead) as offline:
            assert (await offline.ask(f"/{TEXT}.mod")).body == FILES[f"{TEXT}.mod"]
            assert (await offline.ask(f"/{TEXT}.zip")).status == 502
            assert (await offline.ask("/github.com/acme/widget/@v/list")).status == 403


async def test_a_fault_is_counted_by_its_word(stage: Stage) -> None:
    stage.upstream.answers[f"{TEXT}.mod"] = http(302, b"", "Location: https://evil.example/x")
    await stage.ask(f"/{TEXT}.mod")
    assert await stage.metric("assay_goproxy_upstream_faults_total", fault="redirect") == 1
    assert await stage.metric("assay_goproxy_requests_total", kind="mod", status="5xx") == 1


async def test_a_redirect_to_an_allowed_place_is_followed_inside(tmp_path: Path) -> None:
    async with (
        make_stage(tmp_path / "storage") as storage,
        make_stage(tmp_path / "cache", redirects=(f"http://127.0.0.1:{storage.upstream.port}/bucket/",)) as stage,
    ):
        stage.upstream.files = dict(FILES)
        place = f"http://127.0.0.1:{storage.upstream.port}/bucket/object?signature=a%2Fb"
        stage.upstream.answers[f"{TEXT}.zip"] = http(302, b"", f"Location: {place}")
        storage.upstream.answers["bucket/object?signature=a%2Fb"] = http(200, ZIP)
        answer = await stage.ask(f"/{TEXT}.zip")
        assert (answer.status, answer.body) == (200, ZIP)
        assert "location" not in answer.headers
        assert storage.upstream.paths == ["/bucket/object?signature=a%2Fb"]


async def test_redirects_end_after_three_hops(tmp_path: Path) -> None:
    async with (
        make_stage(tmp_path / "storage") as storage,
        make_stage(tmp_path / "cache", redirects=(f"http://127.0.0.1:{storage.upstream.port}/",)) as stage,
    ):
        loop = http(302, b"", f"Location: http://127.0.0.1:{storage.upstream.port}/again")
        stage.upstream.answers[f"{TEXT}.mod"] = storage.upstream.answers["again"] = loop
        assert (await stage.ask(f"/{TEXT}.mod")).status == 502
        assert len(storage.upstream.heads) == 3


@pytest.mark.parametrize(
    ("url", "below"),
    [
        ("https://store.example/bucket/a", True),
        ("https://store.example/bucket/a?x=/../y", True),
        ("https://store.example/bucketeer/a", False),
        ("https://store.example/bucket/../other/a", False),
        ("https://store.example/bucket/%2e%2e/other", False),
        ("https://store.example/bucket/..%2fother", False),
        ("https://store.example/bucket/..\\other", False),
        ("http://store.example/bucket/a", False),
        ("https://store.example:444/bucket/a", False),
        ("https://user@store.example/bucket/a", False),
        ("https://store.example.evil.example/bucket/a", False),
        ("https://evil.example/https://store.example/bucket/a", False),
    ],
)
def test_the_allow_list_of_redirects_compares_origin_and_path(url: str, below: bool) -> None:
    assert is_below(URL(url, encoded=True), URL("https://store.example/bucket/", encoded=True)) is below


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0x7f.1"])
async def test_a_private_address_is_never_asked(host: str) -> None:
    upstream = HttpUpstream(f"http://{host}:1")
    with pytest.raises(UpstreamFaultError) as fault:
        await upstream.fetch("x", limit=10, seconds=5, sink=lambda _: None)
    await upstream.close()
    assert fault.value.status == 502
    assert "refused" not in str(fault.value.__cause__)


async def test_a_directory_of_module_files_is_an_upstream(tmp_path: Path) -> None:
    for path, body in FILES.items():
        (tmp_path / "modules" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "modules" / path).write_bytes(body)
    (tmp_path / "modules/golang.org/x/text/@v/v0.15.0.mod").mkdir()
    async with make_stage(tmp_path / "cache", upstream=DirectoryUpstream(tmp_path / "modules")) as stage:
        for path, body in FILES.items():
            assert (await stage.ask(f"/{path}")).body == body
        assert (await stage.ask("/golang.org/x/text/@latest")).status == 404
        assert (await stage.ask("/golang.org/x/text/@v/v0.15.0.mod")).status == 404
        assert (await stage.ask("/github.com/acme/widget/@v/list")).status == 403


async def test_the_cache_on_disk_stays_within_its_bound_and_serves_what_it_gave_up(tmp_path: Path) -> None:
    bodies = {
        number: {"go.mod": b"module example.com/m\n", "a": hashlib.shake_256(b"%d" % number).digest(300_000)}
        for number in range(4)
    }
    async with make_stage(tmp_path, cache_bytes=700_000, memory_bytes=1) as stage:
        for number, files in bodies.items():
            stage.upstream.files |= make_files("example.com/m", f"v1.0.{number}", files=files)
        for number in (0, 1, 2, 3, 0):
            path = f"example.com/m/@v/v1.0.{number}.zip"
            assert (await stage.ask(f"/{path}")).body == stage.upstream.files[path]
        size = sum(file.stat().st_size for file in (tmp_path / "objects").iterdir())
        assert size <= 700_000
        assert await stage.metric("assay_goproxy_cache_bytes") == size


async def test_a_cached_file_that_changed_on_disk_is_fetched_again(tmp_path: Path) -> None:
    async with make_stage(tmp_path) as stage:
        stage.upstream.files = dict(FILES)
        await stage.ask(f"/{TEXT}.mod")
    [file] = (tmp_path / "objects").iterdir()
    file.write_bytes(b"module golang.org/x/text // but not the same\n")
    async with make_stage(tmp_path) as stage:
        stage.upstream.files = dict(FILES)
        assert (await stage.ask(f"/{TEXT}.mod")).body == FILES[f"{TEXT}.mod"]
        assert len(stage.upstream.heads) == 1


async def test_a_large_file_that_was_given_up_before_it_was_sent_is_fetched_and_judged_again(tmp_path: Path) -> None:
    async with make_stage(tmp_path) as stage:
        big = {"go.mod": b"module example.com/big\n", "a": hashlib.shake_256(b"x").digest(1 << 20)}
        stage.upstream.files = make_files("example.com/big", "v1.0.0", files=big)
        path = "example.com/big/@v/v1.0.0.zip"
        assert (await stage.ask(f"/{path}")).status == 200
        for file in (tmp_path / "objects").iterdir():
            file.unlink()
        assert (await stage.ask(f"/{path}")).body == stage.upstream.files[path]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command itself, in a process of its own, over a directory; with its port."""
    modules = tmp_path / "modules"
    big = {"go.mod": b"module example.com/big\n", "a": hashlib.shake_256(b"x").digest(1 << 20)}
    for path, body in (FILES | make_files("example.com/big", "v1.0.0", files=big)).items():
        (modules / path).parent.mkdir(parents=True, exist_ok=True)
        (modules / path).write_bytes(body)
    digest = hashlib.sha256(T1.encode()).hexdigest()
    run = {"run": "r", "podUID": "u", "tokenSHA256": digest, "addresses": ["127.0.0.1"], "owned": ["github.com/a/b"]}
    (tmp_path / "policies.json").write_text(json.dumps({"runs": [run]}))
    start = "import typer; from assay.cli import goproxy; app = typer.Typer(); goproxy.register(app); app()"
    options = [
        "--upstream",
        str(modules),
        "--policies",
        str(tmp_path / "policies.json"),
        "--cache-dir",
        str(tmp_path / "c"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", start, *options, "--host", "127.0.0.1", "--port", "0", "--health-port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "operator")},
    )
    assert process.stdout is not None
    yield process, int(process.stdout.readline().split("port ")[1].split(",")[0])
    process.kill()
    process.communicate()


async def _get(port: int, path: str) -> Answer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /t/{T1}/{path} HTTP/1.1\r\nHost: g\r\n\r\n".encode())
    answer = await read_answer(reader)
    writer.close()
    return answer


async def test_a_full_disk_is_a_502_and_ends_when_there_is_room_again(
    command: tuple[subprocess.Popen[str], int],
) -> None:
    process, port = command
    assert (await _get(port, f"{TEXT}.zip")).body == ZIP
    # A limit on the size of files makes the kernel refuse writes as a full disk does, in that process alone.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (65_536, resource.RLIM_INFINITY))
    full = await _get(port, "example.com/big/@v/v1.0.0.zip")
    assert (full.status, full.text) == (502, "the gateway's disk is full; try again\n")
    assert (await _get(port, "github.com/a/b/@v/list")).status == 403
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert (await _get(port, "example.com/big/@v/v1.0.0.zip")).status == 200


async def test_the_command_logs_each_decision_and_ends_in_peace(command: tuple[subprocess.Popen[str], int]) -> None:
    process, port = command
    assert (await _get(port, "github.com/a/b/@v/list")).status == 403
    process.send_signal(signal.SIGTERM)
    output, _ = await asyncio.to_thread(process.communicate, timeout=20)
    [line] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert (line["decision"], line["rule"], line["module"], line["run"]) == ("denied", "owned", "github.com/a/b", "r")
    assert process.returncode == 0
    assert T1 not in output
