from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.goproxy.policies import TablePolicies
from goproxy.stage import (
    SUMDB,
    T1_POD,
    Stage,
    escape,
    make_files,
    make_info,
    make_record,
    make_stage,
    make_sum,
    make_zip,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/goproxy/answers.json").read_text())["vectors"]


def _path(vector: dict[str, Any]) -> str:
    module, version = escape(vector["module"]), vector["version"]
    match vector["kind"]:
        case "latest":
            return f"{module}/@latest"
        case "lookup":
            return f"sumdb/{SUMDB}/lookup/{module}@{version}"
        case kind:
            return f"{module}/@v/{version}.{kind}"


def _upstream_files(vector: dict[str, Any]) -> dict[str, bytes]:
    module, version = vector["module"], vector["version"]
    known = version if version.startswith("v") else "v1.0.0"
    files = make_files(module, known, gomod=vector.get("gomod", ""), origin=vector.get("origin"))
    zip_files = {name: text.encode() for name, text in vector["files"].items()} if "files" in vector else None
    files[f"{escape(module)}/@v/{known}.zip"] = make_zip(module, known, zip_files, names=vector.get("names", ()))
    files[f"sumdb/{SUMDB}/lookup/{escape(module)}@{known}"] = make_sum(module, known)
    if vector["kind"] in {"latest", "info"}:
        files[_path(vector)] = make_info(known, origin=vector.get("origin"))
    if "info" in vector:
        files[_path(vector)] = vector["info"].encode()
    return files


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
async def test_an_answer_is_judged_before_a_byte_of_it_leaves(
    stage: Stage, decisions: list[dict[str, Any]], vector: dict[str, Any]
) -> None:
    stage.upstream.files = _upstream_files(vector)
    if "raw" in vector:
        stage.upstream.answers[_path(vector)] = f"HTTP/1.1 {vector['raw']}\r\nContent-Length: 6\r\n\r\nsecret".encode()
    answer = await stage.ask(f"/{_path(vector)}")
    assert answer.status == vector["status"], answer.body
    assert [line["rule"] for line in decisions] == [vector.get("rule", "")]
    if answer.status == 200:
        assert answer.body == stage.upstream.files[_path(vector)]
    else:
        assert b"secret" not in answer.body
        assert answer.text.count("\n") == 1


async def test_what_one_run_was_served_is_judged_again_for_the_next(tmp_path: Path) -> None:
    other = make_record("T3-token-cccccccccccccc", policy=make_record().policy.__class__(owned=frozenset({"x.dev/x"})))
    async with make_stage(tmp_path, policies=TablePolicies([make_record(), other])) as stage:
        stage.upstream.files = make_files("github.com/other/gizmo", "v1.0.0", gomod="module go.acme.dev/widget\n")
        served = await stage.ask("/github.com/other/gizmo/@v/v1.0.0.zip", token="T3-token-cccccccccccccc")
        assert served.status == 200
        denied = await stage.ask("/github.com/other/gizmo/@v/v1.0.0.zip")
        assert (denied.status, len(stage.upstream.heads)) == (403, 3)


@pytest.mark.parametrize(
    ("time", "status"),
    [("2023-12-31T23:59:59Z", 200), ("2024-01-01T00:00:01Z", 403), ("2024-01-01T00:30:00+01:00", 200), ("soon", 403)],
)
async def test_a_cut_off_hides_later_versions_and_those_without_a_time(tmp_path: Path, time: str, status: int) -> None:
    record = make_record(not_after=datetime(2024, 1, 1, tzinfo=UTC))
    async with make_stage(tmp_path, policies=TablePolicies([record])) as stage:
        stage.upstream.files = make_files("golang.org/x/text", "v0.14.0")
        stage.upstream.files["golang.org/x/text/@v/v0.14.0.info"] = make_info("v0.14.0", time=time)
        for suffix in ("info", "zip"):
            answer = await stage.ask(f"/golang.org/x/text/@v/v0.14.0.{suffix}", pod=T1_POD)
            assert answer.status == status, suffix


async def test_the_toolchain_is_refused_to_a_task_on_what_it_embeds(tmp_path: Path) -> None:
    policy = make_record().policy.__class__(owned=frozenset({"golang.org/x/tools", "github.com/golang/tools"}))
    async with make_stage(tmp_path, policies=TablePolicies([make_record(policy=policy)])) as stage:
        version = "v0.0.1-go1.22.4.linux-amd64"
        embedded = f"golang.org/toolchain@{version}/src/cmd/vendor/golang.org/x/tools/a.go"
        stage.upstream.files = make_files("golang.org/toolchain", version, names=[embedded])
        answer = await stage.ask(f"/golang.org/toolchain/@v/{version}.zip")
        assert (answer.status, "holds a copy" in answer.text) == (403, True)


async def test_a_sum_record_of_another_module_is_not_passed_on(stage: Stage) -> None:
    stage.upstream.files = make_files("golang.org/x/text", "v0.14.0")
    stage.upstream.files[f"sumdb/{SUMDB}/lookup/golang.org/x/text@v0.14.0"] = make_sum(
        "github.com/acme/widget", "v1.0.0"
    )
    assert (await stage.ask(f"/sumdb/{SUMDB}/lookup/golang.org/x/text@v0.14.0")).status == 502


async def test_a_lookup_of_a_version_that_upstream_lacks_never_reaches_the_database(stage: Stage) -> None:
    answer = await stage.ask(f"/sumdb/{SUMDB}/lookup/agents.example.org/stolen-data@v1.0.0")
    assert answer.status == 404
    assert not [path for path in stage.upstream.paths if "sumdb" in path]


@pytest.mark.parametrize("body", [b"h" * 31, b"h" * 257 * 32, b""])
async def test_a_tile_of_the_wrong_length_is_not_passed_on(stage: Stage, body: bytes) -> None:
    stage.upstream.files[f"sumdb/{SUMDB}/tile/8/0/000"] = body
    assert (await stage.ask(f"/sumdb/{SUMDB}/tile/8/0/000")).status == 502


async def test_a_list_that_is_a_page_is_not_passed_on(stage: Stage) -> None:
    stage.upstream.files["golang.org/x/text/@v/list"] = b"<html>\nsign in\n"
    assert (await stage.ask("/golang.org/x/text/@v/list")).status == 502


async def test_an_empty_list_is_an_answer(stage: Stage) -> None:
    stage.upstream.files["golang.org/x/text/@v/list"] = b""
    answer = await stage.ask("/golang.org/x/text/@v/list")
    assert (answer.status, answer.body) == (200, b"")
