from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goproxy.stage import SUMDB, T1, T2, WIDGET, Stage

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/goproxy/requests.json").read_text())["vectors"]
TOKENS = {"T1": T1, "T2": T2}


def _token(vector: dict[str, Any]) -> str | None:
    named = vector.get("token", "T1")
    return None if vector.get("bare") else TOKENS.get(named, named)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
async def test_a_vector_gets_its_status_its_rule_and_nothing_else_goes_upstream(
    generous: Stage, decisions: list[dict[str, Any]], vector: dict[str, Any]
) -> None:
    answer = await generous.ask(
        vector["target"],
        token=_token(vector),
        method=vector.get("method", "GET"),
        headers=vector.get("headers", ["Host: gateway"]),
    )
    assert answer.status == vector["status"]
    assert [path.lstrip("/") for path in generous.upstream.paths] == vector["upstream"]
    assert [line["rule"] for line in decisions] == [vector.get("rule", "")]
    if vector.get("closes") or vector["status"] == 400:
        assert answer.closed


SIMPLE = [vector for vector in VECTORS if vector.get("method", "GET") in {"GET", "HEAD"}]


@pytest.mark.parametrize("vector", SIMPLE, ids=[vector["name"] for vector in SIMPLE])
async def test_head_and_get_have_the_same_status_and_head_no_body(generous: Stage, vector: dict[str, Any]) -> None:
    headers = vector.get("headers", ["Host: gateway"])
    got = await generous.ask(vector["target"], token=_token(vector), headers=headers)
    head = await generous.ask(vector["target"], token=_token(vector), method="HEAD", headers=headers)
    assert head.status == got.status
    assert head.headers.get("content-length") == str(len(got.body))


async def test_upstream_sees_fixed_headers_and_none_of_the_clients(generous: Stage) -> None:
    await generous.ask(
        "/golang.org/x/text/@v/list",
        headers=[
            "Host: evil",
            "X-Forwarded-For: 127.0.0.2",
            "Cookie: a=b",
            "Authorization: Basic eA==",
            "User-Agent: curl",
        ],
    )
    [head] = generous.upstream.heads
    names = {line.partition(":")[0].lower() for line in head.split("\r\n")[1:] if line}
    assert names == {"host", "user-agent", "accept", "accept-encoding"}
    assert "evil" not in head
    assert T1 not in head


async def test_a_denial_is_one_readable_sentence_without_the_token(generous: Stage) -> None:
    answer = await generous.ask("/github.com/acme/widget/@v/list")
    assert answer.text == "this module is the task's own repository; no version of it is served here\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_range_and_conditions_get_the_whole_object(generous: Stage) -> None:
    whole = await generous.ask("/golang.org/x/text/@v/v0.14.0.zip")
    part = await generous.ask(
        "/golang.org/x/text/@v/v0.14.0.zip",
        headers=["Host: g", "Range: bytes=0-3", "If-None-Match: *", "If-Modified-Since: Mon, 01 Jan 2035 00:00:00 GMT"],
    )
    assert (part.status, part.body) == (200, whole.body)
    assert "content-range" not in part.headers


async def test_only_the_named_headers_are_sent(generous: Stage) -> None:
    answer = await generous.ask("/golang.org/x/text/@v/v0.14.0.zip")
    assert set(answer.headers) == {
        "content-type",
        "content-length",
        "cache-control",
        "server",
        "date",
        "x-content-type-options",
        "accept-ranges",
    }
    assert answer.headers["content-type"] == "application/zip"


async def test_a_denied_object_that_is_cached_is_denied_before_the_cache_is_looked_at(generous: Stage) -> None:
    served = await generous.ask("/github.com/acme/widget/@v/v1.0.0.zip", token=T2, pod="127.0.0.2")
    assert served.status == 200
    asked = len(generous.upstream.heads)
    lookups = await generous.metric("assay_goproxy_cache_lookups_total")
    denied = await generous.ask("/github.com/acme/widget/@v/v1.0.0.zip")
    assert denied.status == 403
    assert len(generous.upstream.heads) == asked
    assert await generous.metric("assay_goproxy_cache_lookups_total") == lookups


def test_the_vectors_speak_of_the_fixture_that_the_stage_makes() -> None:
    assert SUMDB in VECTORS[21]["target"]
    assert "github.com/Acme/Widget" in WIDGET.owned
