"""What a raw socket can try: smuggling, pipelining, identities, budgets."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import http_parser

from assay.goproxy.policies import FilePolicies, TablePolicies
from assay.goproxy.server import assert_c_parser
from goproxy.stage import (
    T1,
    T2,
    T2_POD,
    Stage,
    http,
    make_files,
    make_record,
    make_records,
    make_stage,
    statuses,
    until,
)

GOOD = f"GET /t/{T1}/golang.org/x/text/@v/list HTTP/1.1\r\nHost: g\r\n"
OWNED = f"GET /t/{T1}/github.com/acme/widget/@v/list HTTP/1.1\r\nHost: g\r\n\r\n"
SMUGGLED = {
    "body by length": f"{GOOD}Content-Length: {len(OWNED)}\r\n\r\n{OWNED}",
    "chunked body": f"{GOOD}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{OWNED}",
    "length and chunked": f"{GOOD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{OWNED}",
    "two lengths": f"{GOOD}Content-Length: 0\r\nContent-Length: 5\r\n\r\n{OWNED}",
    "signed length": f"{GOOD}Content-Length: +5\r\n\r\n{OWNED}",
    "space before the colon": f"{GOOD}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{OWNED}",
    "unknown encoding": f"{GOOD}Transfer-Encoding: xchunked\r\n\r\n{OWNED}",
    "two hosts": f"{GOOD}Host: h\r\n\r\n{OWNED}",
    "bare line feeds": GOOD.replace("\r\n", "\n") + "\n" + OWNED,
    "folded header": f"{GOOD}X: a\r\n b\r\n\r\n{OWNED}",
    "header without a name": f"{GOOD}: x\r\n\r\n{OWNED}",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": f"GET /t/{T1}/golang.org/x/text/@v/list\r\n\r\n",
    "space in the target": f"GET /t/{T1}/golang.org/x/text /@v/list HTTP/1.1\r\nHost: g\r\n\r\n",
    "NUL in the target": f"GET /t/{T1}/golang.org/x/te\0xt/@v/list HTTP/1.1\r\nHost: g\r\n\r\n",
    "long target": f"GET /t/{T1}/golang.org/{'x' * 9000}/@v/list HTTP/1.1\r\nHost: g\r\n\r\n",
}


@pytest.mark.parametrize("data", SMUGGLED.values(), ids=SMUGGLED.keys())
async def test_a_doubtful_request_is_a_400_and_nothing_behind_it_is_answered(generous: Stage, data: str) -> None:
    answer = await generous.raw(data.encode("latin-1"))
    assert statuses(answer) == ["400"]
    assert generous.upstream.heads == []


async def test_each_pipelined_request_is_judged_by_itself(generous: Stage) -> None:
    head = f"HEAD /t/{T1}/github.com/acme/widget/@latest HTTP/1.1\r\nHost: g\r\n\r\n"
    answer = await generous.raw(f"{GOOD}\r\n{OWNED}{GOOD}\r\n{head}".encode(), answers=4)
    assert statuses(answer) == ["200", "403", "200", "403"]


async def test_nothing_behind_an_upgrade_is_taken_for_a_request(generous: Stage) -> None:
    answer = await generous.raw(f"{GOOD}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n{OWNED}".encode())
    assert statuses(answer) == ["200"]


async def test_a_zip_that_the_client_reads_slowly_or_leaves_is_counted_and_frees_its_place(tmp_path: Path) -> None:
    async with make_stage(tmp_path, run_concurrency=1) as stage:
        big = {"go.mod": b"module example.com/big\n", "a.bin": hashlib.shake_256(b"x").digest(4 << 20)}
        stage.upstream.files = make_files("example.com/big", "v1.0.0", files=big)
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(f"GET /t/{T1}/example.com/big/@v/v1.0.0.zip HTTP/1.1\r\nHost: g\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.transport.abort()
        whole = await stage.ask("/example.com/big/@v/v1.0.0.zip")
        assert whole.body == stage.upstream.files["example.com/big/@v/v1.0.0.zip"]
        account = stage.gateway.ledger.account("runs/T1")
        await until(lambda: account.bytes > len(whole.body))


async def test_the_peer_must_be_the_pod_of_the_token(generous: Stage) -> None:
    assert (await generous.ask("/golang.org/x/text/@v/list", token=T2, pod=T2_POD)).status == 200
    assert (await generous.ask("/golang.org/x/text/@v/list", token=T1, pod=T2_POD)).status == 403
    assert len(generous.upstream.heads) == 1


async def test_without_preserved_addresses_the_token_alone_counts(tmp_path: Path) -> None:
    async with make_stage(tmp_path, generous=True, require_peer_match=False) as stage:
        assert (await stage.ask("/golang.org/x/text/@v/list", token=T1, pod=T2_POD)).status == 200


async def test_a_pod_without_an_address_yet_is_nobody(tmp_path: Path) -> None:
    policies = TablePolicies([make_record(addresses=frozenset())])
    async with make_stage(tmp_path, generous=True, policies=policies) as stage:
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 403


async def test_the_token_of_a_run_that_is_gone_opens_nothing(generous: Stage) -> None:
    assert isinstance(generous.policies, TablePolicies)
    generous.policies.drop("runs/T1")
    assert (await generous.ask("/golang.org/x/text/@v/list")).status == 403
    generous.policies.put(make_record("T1-token-new-run-bbbbbb"))
    assert (await generous.ask("/golang.org/x/text/@v/list")).status == 403
    assert (await generous.ask("/golang.org/x/text/@v/list", token="T1-token-new-run-bbbbbb")).status == 200


def _policy_file(path: Path, *runs: dict[str, Any]) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({"runs": runs}))
    draft.rename(path)


def _entry(token: str) -> dict[str, Any]:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"run": "r", "podUID": "u", "tokenSHA256": digest, "addresses": ["127.0.0.1"], "owned": ["github.com/a/b"]}


async def test_a_policy_file_is_read_again_when_replaced_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "policies.json"
    policies = FilePolicies(file)
    async with make_stage(tmp_path / "cache", generous=True, policies=policies) as stage:
        assert (await stage.health("/readyz")).status == 503
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 403
        _policy_file(file, _entry(T1))
        assert (await stage.health("/readyz")).status == 200
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 200
        file.write_text("{")
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 200
        _policy_file(file, {**_entry(T2), "owned": []})
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 200
        _policy_file(file, _entry(T2))
        assert (await stage.ask("/golang.org/x/text/@v/list")).status == 403


async def test_budgets_of_a_run_end_in_429(tmp_path: Path) -> None:
    async with make_stage(tmp_path, generous=True, run_requests=2) as stage:
        got = [(await stage.ask("/golang.org/x/text/@v/list")).status for _ in range(3)]
        assert got == [200, 200, 429]
        assert (await stage.ask("/golang.org/x/text/@v/list", token=T2, pod=T2_POD)).status == 200


async def test_the_byte_budget_of_a_run_ends_in_429(tmp_path: Path) -> None:
    async with make_stage(tmp_path, generous=True, run_bytes=1) as stage:
        got = [(await stage.ask("/golang.org/x/text/@v/list")).status for _ in range(2)]
        assert got == [200, 429]


async def test_requests_of_one_run_beyond_its_places_wait_and_then_give_up(tmp_path: Path) -> None:
    async with make_stage(tmp_path, run_concurrency=1, run_queue=1, run_queue_seconds=0.2, total_seconds=1.0) as stage:
        release = asyncio.Event()

        async def slowly(writer: asyncio.StreamWriter) -> None:
            await release.wait()
            writer.write(http(200, b"v1.0.0\n"))

        stage.upstream.answers["example.com/slow/@v/list"] = slowly
        first = asyncio.create_task(stage.ask("/example.com/slow/@v/list"))
        await asyncio.sleep(0.05)
        rest = await asyncio.gather(*(stage.ask("/example.com/slow/@v/list") for _ in range(3)))
        release.set()
        assert [answer.status for answer in rest] == [429, 429, 429]
        assert (await first).status == 200


async def test_usage_and_metrics_count_and_name_no_token(generous: Stage, decisions: list[dict[str, Any]]) -> None:
    await generous.ask("/golang.org/x/text/@v/list")
    await generous.ask("/github.com/acme/widget/@v/list")
    await generous.ask("/github.com/acme/%zz/@v/list")
    usage = json.loads((await generous.health("/usage")).body)
    assert usage == {
        "runs/T1": {
            "requests": 3,
            "denied": 1,
            "bytes": 7,
            "modules": ["golang.org/x/text"],
            "rules": {"owned": 1},
            "active": 0,
        }
    }
    assert await generous.metric("assay_goproxy_requests_total", kind="list", status="2xx") == 1
    assert await generous.metric("assay_goproxy_denials_total", rule="owned") == 1
    metrics = (await generous.health("/metrics")).text
    assert not any(word in metrics for word in (T1, "runs/T1", "golang.org"))
    assert T1 not in json.dumps(decisions)
    served, denied, refused = decisions
    assert (served["decision"], denied["decision"], refused["decision"]) == ("served", "denied", "refused")
    assert (served["run"], served["podUID"], served["peer"]) == ("runs/T1", "uid-T1", "127.0.0.1")
    assert served["sha256"] == hashlib.sha256(b"v1.0.0\n").hexdigest()
    assert (denied["module"], denied["evidence"], denied["status"]) == (
        "github.com/acme/widget", "github.com/acme/widget", 403,
    )  # fmt: skip


async def test_malformed_http_leaves_no_token_in_any_log(generous: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await generous.raw(f"GET /t/{T1}/x HTTP/1.1\r\nHost : g\r\n\r\n".encode())
    assert "malformed HTTP was refused" in caplog.text
    assert T1 not in caplog.text


async def test_the_protocol_port_serves_neither_health_nor_metrics(generous: Stage) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/usage"):
        assert (await generous.ask(path, token=None)).status == 403
        assert (await generous.ask(path)).status == 404
        assert (await generous.health(path)).status == 200


async def test_two_hundred_sandboxes_at_once_get_right_bytes_and_their_own_policy(tmp_path: Path) -> None:
    tokens = [f"T-{number:04d}-token-dddddddd" for number in range(200)]
    records = [
        make_record(token, run=f"r{number}", policy=make_record().policy if number % 2 else make_records()[1].policy)
        for number, token in enumerate(tokens)
    ]
    async with make_stage(tmp_path, policies=TablePolicies(records)) as stage:
        stage.upstream.files = make_files("golang.org/x/text", "v0.14.0") | make_files(
            "github.com/acme/widget", "v1.0.0"
        )
        paths = ("golang.org/x/text/@v/v0.14.0.zip", "github.com/acme/widget/@v/v1.0.0.zip")
        answers = await asyncio.gather(*(stage.ask(f"/{path}", token=token) for token in tokens for path in paths))
        for number in range(200):
            allowed, widget = answers[2 * number : 2 * number + 2]
            assert allowed.body == stage.upstream.files[paths[0]]
            assert widget.status == (403 if number % 2 else 200)
        assert len(stage.upstream.heads) == 6  # each file was fetched once


def test_the_gateway_refuses_to_start_on_the_python_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_c_parser()
    monkeypatch.setattr(http_parser, "HttpRequestParser", http_parser.HttpRequestParserPy)
    with pytest.raises(RuntimeError, match="C extension"):
        assert_c_parser()
