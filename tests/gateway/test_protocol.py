"""The protocol's rules, by hand over HTTP: a real gateway, a real API server, a sandbox by the contract."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from assay.domain.keys import agent_key
from assay.domain.ors.episodes import episode_name
from assay.kube.client import AGENT_EPISODES, TASK_VALIDATIONS
from gateway.conftest import NAME
from gateway.stage import KEYS, MASTER, Raw, Stage, add_task, gone, result_of, write_keys

pytestmark = pytest.mark.api

Clients = Callable[..., Raw]
REFUSED = {
    "ok": False,
    "error": "the episode is finished: its submission has been graded",
    "reason": "episode_finished",
}


async def until(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    """Wait until ``ask`` answers what is wanted."""
    async with asyncio.timeout(20):
        while await ask() != wanted:  # noqa: ASYNC110 - what is asked has no event
            await asyncio.sleep(0.05)


async def told(value: object) -> object:
    return value


async def status_of(request: Awaitable[tuple[int, object]]) -> int:
    return (await request)[0]


async def submits(stage: Stage) -> object:
    return (await stage.client.get(AGENT_EPISODES, stage.namespace, NAME))["spec"]["submit"]


async def test_tasks_are_found_with_and_without_an_environment_in_front(client: Clients) -> None:
    raw = client(sid="never-created")
    assert await raw.get("/health") == (200, {"status": "ok"})
    assert (await raw.get("/version"))[0] == 200
    assert await raw.get("/list_environments") == (200, ["lanterns"])
    for prefix in ("", "/lanterns", "/LANTERNS"):
        assert await raw.get(f"{prefix}/splits") == (
            200,
            [{"name": "train", "type": "train"}, {"name": "test", "type": "test"}],
        )
        status, listed = await raw.post(f"{prefix}/tasks", {"split": "train"})
        assert (status, listed) == (200, {"tasks": [{"task": "first"}, {"task": "second"}], "env_name": "lanterns"})
        assert await raw.post(f"{prefix}/num_tasks", {"split": "test"}) == (200, {"num_tasks": 1})
        for index in (1, -1):
            found = {"task": {"task": "second"}, "env_name": "lanterns"}
            assert await raw.post(f"{prefix}/task", {"split": "train", "index": index}) == (200, found)
        ranged = await raw.post(f"{prefix}/task_range", {"split": "train", "start": -1, "stop": 99})
        assert ranged == (200, {"tasks": [{"task": "second"}], "env_name": "lanterns"})
        status, tools = await raw.get(f"{prefix}/tools")
        names = [tool["name"] for tool in tools["tools"]]
        assert names == ["bash", "create_file", "str_replace", "submit_answer", "view"]
        assert all(set(tool) == {"name", "description", "input_schema"} for tool in tools["tools"])
    assert (await raw.post("/tasks", {"split": "validation"}))[0] == 400
    assert "Invalid index" in (await raw.post("/task", {"split": "train", "index": 2}))[1]["detail"]
    assert (await raw.get("/nowhere/tools"))[0] == 404
    assert (await raw.post("/lanterns/score_group", {"candidates": []}))[0] == 404


async def test_tasks_come_and_go_with_their_verdict(client: Clients, stage: Stage) -> None:
    raw = client()

    async def listed() -> object:
        return (await raw.get("/list_environments"))[1]

    await add_task(stage.client, stage.namespace, "new", labels={"assay.dev/dataset": "other"})
    await until(listed, ["lanterns", "other"])
    assert (await raw.post("/other/tasks", {"split": "train"}))[1]["tasks"] == [{"task": "new"}]
    deployed = await raw.post("/num_tasks", {"split": "train"}, **{"X-Deployment": "somebody/Other"})
    assert deployed == (200, {"num_tasks": 1})
    await stage.client.delete(TASK_VALIDATIONS, stage.namespace, "new")
    await until(listed, ["lanterns"])


async def test_nobody_gets_in_without_a_key(client: Clients, stage: Stage) -> None:
    for who in ("nobody", "", "assay-agent." + stage.namespace + ".ep-1.00", "k" * 2_000):
        status, answer = await client(who=who, sid="s1").post("/create_session")
        assert (status, answer["detail"]) == (401, "the header X-API-Key has no valid key")


async def test_keys_may_be_replaced_while_the_gateway_runs(client: Clients, stage: Stage) -> None:
    raw = client()
    assert (await raw.get("/list_environments"))[0] == 200
    (stage.directory / "keys.json").write_text('{"keys": []}')
    assert (await raw.get("/list_environments"))[0] == 401
    (stage.directory / "keys.json").write_text('{"keys": [{"name": "x", "sha256": "short"}]}')
    write_keys(stage.directory / "keys.json")
    assert (await raw.get("/list_environments"))[0] == 200


async def test_create_session_speaks_both_forms(client: Clients) -> None:
    raw = client()
    status, answer = await raw.post("/create_session")
    assert status == 200
    assert len(answer["sid"]) == 32
    raw.headers["Accept"] = "text/event-stream"
    (told, sid), end = await raw.stream({}, "/create_session")
    assert (told, len(sid), end) == ("task_id", 32, ("end", ""))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"task_spec": {"task": "first"}, "toolset_name": "codex"}, 400, "toolset"),
        ({"task_spec": {"task": "first"}, "split": "train", "index": 0}, 400, "either"),
        ({}, 400, "either"),
        ({"task_spec": {"task": "dropped"}}, 400, "Invalid task"),
        ({"task_spec": {"instance_id": "first"}}, 400, "task_spec"),
        ({"split": "train", "index": 2}, 400, "Invalid index"),
        ({"split": "dev", "index": 0}, 400, "Invalid split"),
        ({"split": "train", "index": "0"}, 422, "whole number"),
        ({"task_spec": {"task": "first"}, "env_name": "nowhere"}, 404, "unknown environment"),
        (b"{", 400, "not JSON"),
        (b"[]", 422, "object"),
        (b"[" * 100_000, 400, "not JSON"),
    ],
)
async def test_a_wrong_create_is_refused_with_a_sentence(client: Clients, body: object, status: int, said: str) -> None:
    answered, answer = await client(sid="s1").post("/create", body)
    assert answered == status
    assert said in answer["detail"]


async def test_create_needs_a_session_and_may_be_repeated(client: Clients, stage: Stage) -> None:
    assert (await client().post("/create", {"task_spec": {"task": "first"}}))[0] == 400
    raw = client(sid="s1")
    task = {"task": "first", "patch": "cheat", "tests": {"failToPass": []}}
    opening = {"env_name": "Lanterns", "task_spec": task, "secrets": {"a": "b"}}
    assert await raw.post("/create", opening) == (200, {"sid": "s1"})
    assert await raw.post("/create", {"split": "train", "index": 0}) == (200, {"sid": "s1"})
    status, answer = await raw.post("/create", {"split": "train", "index": 1})
    assert status == 400
    assert answer["detail"].startswith("Session already exists")
    made = await stage.client.get(AGENT_EPISODES, stage.namespace, NAME)
    assert made["spec"]["validation"] == "first"
    assert "cheat" not in json.dumps(made)


async def test_an_episode_with_modules_is_opened_only_for_tasks_that_say_which_are_their_own(
    stage: Stage, session: aiohttp.ClientSession
) -> None:
    await add_task(stage.client, stage.namespace, "go", goPolicy={"owned": ["x.dev/lantern"]})
    async with stage.gateway(episode={"network": "GoProxy"}) as gateway:
        raw = Raw(session, gateway.port, sid="s1")
        status, answer = await raw.post("/create", {"task_spec": {"task": "first"}})
        assert (status, "TaskValidation first has no spec.goPolicy.owned" in answer["detail"]) == (400, True)
        await raw.create("go")
    made = await stage.client.get(AGENT_EPISODES, stage.namespace, NAME)
    assert (made["spec"]["network"], "goPolicy" in made["spec"]) == ("GoProxy", False)


async def test_ping_is_answered_from_create_on_and_prompt_needs_no_sandbox(client: Clients, stage: Stage) -> None:
    stage.cast.hold_start.clear()
    raw = client(sid="s1")
    assert (await raw.post("/ping"))[0] == 404
    await raw.create()
    assert await raw.post("/ping") == (200, {"status": "ok"})
    for path in ("/prompt", "/lanterns/prompt"):
        status, (block,) = await raw.get(path)
        assert status == 200
        assert block["type"] == "text"
        assert "Make f return 2." in block["text"]
        assert "/lantern" in block["text"]
        assert "test_hidden" not in block["text"]
    assert (await raw.get("/messages"))[1][0]["blocks"][0] == block
    assert (await raw.get("/task_tools"))[0] == 200


async def test_another_owner_has_no_part_in_a_session(client: Clients, episode: Raw) -> None:
    bob = client(sid="s1", who="bob")
    for path in ("/ping", "/call"):
        assert (await bob.post(path, {"name": "bash", "input": {}}))[0] == 404
    assert (await bob.get("/prompt"))[0] == 404
    assert (await bob.post("/delete"))[0] == 200
    assert (await episode.post("/ping"))[0] == 200
    await bob.create("second")
    events = await episode.stream({"name": "bash", "input": {"command": "echo mine", "description": "x"}})
    stolen = {"name": "bash", "input": {"command": "echo mine", "description": "x"}, "task_id": events[0][1]}
    assert await bob.stream(stolen) == [("error", "unknown task_id")]
    made_up = stolen | {"task_id": "0" * 32 + "-" + "0" * 16}
    assert await episode.stream(made_up) == [("error", "unknown task_id")]


async def test_a_call_shows_signs_of_life_while_the_sandbox_starts(
    stage: Stage, session: aiohttp.ClientSession
) -> None:
    stage.cast.hold_start.clear()
    async with stage.gateway(heartbeat_seconds=0.2) as gateway:
        raw = Raw(session, gateway.port, sid="s1")
        await raw.create()
        body = {"name": "bash", "input": {"command": "echo here", "description": "x"}}
        calling = asyncio.create_task(raw.stream(body))
        await asyncio.sleep(1)
        stage.cast.hold_start.set()
        events = await calling
    assert events[0][0] == "task_id"
    assert [name for name, _ in events].count("") >= 3
    assert result_of(events)["output"]["blocks"][0]["text"] == "here\nExit code: 0"


async def test_the_same_task_id_gets_the_same_answer_from_any_gateway_and_runs_once(
    stage: Stage, session: aiohttp.ClientSession
) -> None:
    body = {"name": "bash", "input": {"command": "echo once >>log; sleep 2; cat log", "description": "x"}}
    async with stage.gateway() as first:
        raw = Raw(session, first.port, sid="s1")
        await raw.create()
        async with session.post(raw.url + "/call", data=json.dumps(body), headers=raw.headers) as response:
            told = (await response.content.readuntil(b"\n\n")).decode()
        task_id = told.split("data: ")[1].strip()
        assert told.startswith("event: task_id\n")
    async with stage.gateway() as second, stage.gateway() as third:
        resumed = [
            Raw(session, gateway.port, sid="s1").call(**body["input"], name="bash", task_id=task_id)
            for gateway in (second, third)
        ]
        results = await asyncio.gather(*resumed)
        assert results[0] == results[1]
        assert results[0]["output"]["blocks"][0]["text"] == "once\nExit code: 0"
        other = await Raw(session, third.port, sid="s1").call("bash", command="ls", description="x", task_id=task_id)
        assert (other["ok"], other["reason"]) == (False, "input_validation")
    assert stage.cast.sandbox_of(NAME).ran == [body["input"]["command"]]


async def test_a_lost_connection_to_the_sandbox_is_overcome(episode: Raw, stage: Stage) -> None:
    await episode.bash("true")
    sandbox = stage.cast.sandbox_of(NAME)
    sandbox.refuse = 4
    assert await episode.bash("echo x >>log; cat log") == "x\nExit code: 0"


async def test_a_sandbox_out_of_reach_is_a_fault_of_the_infrastructure(
    stage: Stage, session: aiohttp.ClientSession
) -> None:
    async with stage.gateway(lost_seconds=0.5) as gateway:
        raw = Raw(session, gateway.port, sid="s1")
        await raw.create()
        await raw.bash("true")
        stage.cast.sandbox_of(NAME).refuse = 10_000
        result = await raw.call("bash", command="true", description="x")
    assert result["ok"]
    assert result["output"]["metadata"]["failure_class"] == "infrastructure"
    assert result["output"]["metadata"]["invalid"] is True
    assert (result["output"]["reward"], result["output"]["finished"]) == (None, False)


@pytest.mark.parametrize(("answer", "reward"), [("right", 1.0), ("wrong", 0.0)])
async def test_a_submission_gets_its_reward_once_and_ends_the_episode(
    episode: Raw, stage: Stage, answer: str, reward: float
) -> None:
    await episode.bash(f"echo {answer} >answer")
    events = await episode.stream({"name": "submit_answer", "input": {}})
    done = result_of(events)
    assert (done["output"]["reward"], done["output"]["finished"]) == (reward, True)
    text = done["output"]["blocks"][0]["text"]
    assert f"{int(reward)} of 1 pass" in text
    assert "test_" not in text
    for name, given in (("bash", {"command": "true", "description": "x"}), ("submit_answer", {}), ("nonsense", {})):
        assert await episode.call(name, **given) == REFUSED
    assert result_of(await episode.stream({"name": "submit_answer", "input": {}, "task_id": events[0][1]})) == done
    assert (await episode.post("/ping"))[0] == 200
    made = await stage.client.get(AGENT_EPISODES, stage.namespace, NAME)
    assert made["spec"]["submit"] == 1
    assert made["metadata"]["annotations"]["assay.dev/submit-1"] == events[0][1]


async def test_a_submission_survives_the_death_of_its_gateway(stage: Stage, session: aiohttp.ClientSession) -> None:
    stage.cast.hold_grading.clear()
    body = {"name": "submit_answer", "input": {}}
    async with stage.gateway() as first:
        raw = Raw(session, first.port, sid="s1")
        await raw.create()
        await raw.bash("echo right >answer")
        async with session.post(raw.url + "/call", data=json.dumps(body), headers=raw.headers) as response:
            told = (await response.content.readuntil(b"\n\n")).decode()
            await until(lambda: submits(stage), 1)
    async with stage.gateway() as second:
        raw = Raw(session, second.port, sid="s1")
        resumed = asyncio.create_task(raw.call("submit_answer", task_id=told.split("data: ")[1].strip()))
        await asyncio.sleep(0.3)
        stage.cast.hold_grading.set()
        assert (await resumed)["output"]["reward"] == 1.0
    assert (await stage.client.get(AGENT_EPISODES, stage.namespace, NAME))["spec"]["submit"] == 1


async def test_calls_wait_while_a_submission_is_graded_and_two_submissions_give_one_reward(
    episode: Raw, stage: Stage
) -> None:
    await episode.bash("echo right >answer")
    stage.cast.hold_grading.clear()
    submits = [asyncio.create_task(episode.call("submit_answer")) for _ in range(2)]
    await until(lambda: told(stage.cast.sandbox_of(NAME).locked), 1)
    waiting = asyncio.create_task(episode.call("bash", command="echo wrong >answer", description="x"))
    done, _ = await asyncio.wait((waiting, *submits), timeout=1)
    assert not done
    stage.cast.hold_grading.set()
    assert await waiting == REFUSED
    results = [await submit for submit in submits]
    assert sorted(result["ok"] for result in results) == [False, True]
    (graded,) = [result for result in results if result["ok"]]
    assert graded["output"]["reward"] == 1.0
    assert stage.cast.sandbox_of(NAME).ran == ["echo right >answer"]


async def test_a_submission_that_is_not_graded_leaves_another(episode: Raw, stage: Stage) -> None:
    stage.cast.outcomes = [{"outcome": "NotGraded", "reason": "TestTimeout"}] * 2
    for left in (2, 1):
        result = await episode.call("submit_answer")
        assert (result["output"]["reward"], result["output"]["finished"]) == (None, False)
        assert result["output"]["metadata"]["failure_class"] == "timeout"
        assert f"Submissions left: {left}" in result["output"]["blocks"][0]["text"]
        assert await episode.bash("echo right >answer") == "(no output)\nExit code: 0"
    assert (await episode.call("submit_answer"))["output"]["reward"] == 1.0


async def test_an_expired_episode_is_gone_for_pings_and_calls(episode: Raw, stage: Stage) -> None:
    await episode.bash("true")
    await stage.cast.status(NAME, phase="Expired", message="no call and no ping came for too long")
    await until(lambda: status_of(episode.post("/ping")), 404)
    status, answer = await episode.post("/call", {"name": "bash", "input": {"command": "x", "description": "x"}})
    assert status == 410
    assert "no ping came" in answer["detail"]


async def test_delete_ends_running_calls_and_leaves_nothing(episode: Raw, stage: Stage) -> None:
    calling = asyncio.create_task(episode.call("bash", command="sleep 600", description="x"))
    await until(lambda: told(any(sandbox.running for sandbox in stage.cast.sandboxes.values())), True)
    for _ in range(2):
        assert await episode.post("/delete") == (200, {"sid": "s1"})
        assert await episode.post("/delete_session") == (200, {"sid": "s1"})
    async with asyncio.timeout(20):
        assert (await calling)["output"]["finished"] is False
    assert await gone(stage.client, stage.namespace, NAME)
    assert (await episode.post("/ping"))[0] == 404
    assert (await episode.post("/call", {"name": "bash", "input": {}}))[0] == 404


async def test_quotas_count_the_episodes_that_are_open(client: Clients, stage: Stage) -> None:
    write_keys(stage.directory / "keys.json", alice=2)
    await client(sid="a").create()
    await client(sid="b").create()
    status, answer = await client(sid="c").post("/create", {"task_spec": {"task": "first"}})
    assert (status, answer["detail"]) == (429, "this key may have 2 episodes open at a time")
    await client(sid="c", who="bob").create()
    await client(sid="a").post("/delete")
    await client(sid="c").create()


async def test_tool_calls_are_limited(stage: Stage, session: aiohttp.ClientSession) -> None:
    async with stage.gateway(episode={"limits": {"toolCalls": 5}}) as gateway:
        raw = Raw(session, gateway.port, sid="s1")
        await raw.create()
        await raw.bash("echo right >answer")
        await stage.cast.status(NAME, toolCalls={"count": 5})

        async def reason() -> object:
            return (await raw.call("bash", command="true", description="x")).get("reason")

        await until(reason, "input_validation")
        assert (await raw.call("submit_answer"))["output"]["reward"] == 1.0


async def test_an_agents_key_opens_its_own_episode_and_nothing_else(
    client: Clients, stage: Stage, episode: Raw
) -> None:
    manifest = {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "AgentEpisode",
        "metadata": {"name": "with-agent", "namespace": stage.namespace},
        "spec": {"validation": "second", "environment": "lanterns", "agent": {"image": "registry.test/agent:1"}},
    }
    made = await stage.client.create(AGENT_EPISODES, stage.namespace, manifest)
    key = agent_key(MASTER, namespace=stage.namespace, name="with-agent", uid=made["metadata"]["uid"])
    agent = client(who=key)
    assert await agent.post("/create_session") == (200, {"sid": "with-agent"})
    assert await agent.post("/lanterns/tasks", {"split": "train"}) == (
        200,
        {"tasks": [{"task": "second"}], "env_name": "lanterns"},
    )
    agent = client(who=key, sid="with-agent")
    await agent.create("second")
    assert await agent.bash("echo hello") == "hello\nExit code: 0"
    assert (await agent.post("/create", {"task_spec": {"task": "first"}}))[0] == 400
    for sid in ("s1", NAME, episode_name("agent with-agent", "s1")):
        assert (await client(who=key, sid=sid).post("/ping"))[0] == 404
    assert (await client(who=key[:-1] + "x", sid="with-agent").post("/ping"))[0] == 401
    assert (await agent.post("/delete"))[0] == 200
    assert not await gone(stage.client, stage.namespace, "with-agent")


async def test_pings_and_calls_touch_the_sandbox(episode: Raw, stage: Stage) -> None:
    await episode.bash("true")
    await episode.post("/ping")
    await until(lambda: told(stage.cast.sandbox_of(NAME).touches), 1)


async def test_no_secret_and_no_key_gets_into_the_log(client: Clients, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    raw = client(sid="the-session")
    raw.headers["X-Secrets"] = "c2VjcmV0LXZhbHVl"
    await raw.create()
    await raw.post("/ping")
    await raw.bash("echo hush-hush")
    assert (await raw.post("/call", b"hush"))[0] == 400
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith(("assay", "aiohttp")))
    assert "POST /create 200" in ours
    for word in ("c2VjcmV0", KEYS["alice"], "hush", "the-session"):
        assert word not in ours


async def test_half_a_request_and_a_client_that_leaves_harm_nobody(episode: Raw, port: int) -> None:
    writers = []
    for start in (b"", b"POST /call HT", b"POST /call HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        writers.append(writer)
    body = {"name": "bash", "input": {"command": "touch begun; sleep 1; echo ran >>log", "description": "x"}}
    async with episode.session.post(episode.url + "/call", data=json.dumps(body), headers=episode.headers) as response:
        await response.content.readuntil(b"\n\n")
        # A call that its client leaves before it has reached the sandbox does not run.
        await episode.bash("until test -e begun; do sleep 0.1; done")
        response.close()
    said = await episode.bash("until test -s log; do sleep 0.1; done; cat log")
    for writer in writers:
        writer.close()
    assert said == "ran\nExit code: 0"


async def test_health_is_told_on_a_port_of_its_own(stage: Stage, session: aiohttp.ClientSession) -> None:
    async with stage.gateway() as gateway:
        for path, said in (("/healthz", "ok\n"), ("/readyz", "ok\n")):
            async with session.get(f"http://127.0.0.1:{gateway.health_port}{path}") as response:
                assert (response.status, await response.text()) == (200, said)
        async with session.get(f"http://127.0.0.1:{gateway.health_port}/metrics") as response:
            text = await response.text()
        assert "assay_gateway_tasks 3.0" in text
        async with session.get(f"http://127.0.0.1:{gateway.port}/metrics") as response:
            assert response.status == 401
