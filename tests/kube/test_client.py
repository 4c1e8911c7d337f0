"""The client's verbs on a real API server, and on servers that fail in every way that a network has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes_client

from assay.kube import client as module
from assay.kube.client import LEASES, PODS, SECRETS, TASK_VALIDATIONS, ApiError, Client, Kind
from assay.kube.evidence import read_evidence
from assay.kube.pods import ForeignObjectError, ensure_pod, ensure_secrets
from builders import make_manifest, make_task
from manifests import pod


def secret(name: str, namespace: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"part": "test"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"k": "v"}, **fields}


@pytest.mark.parametrize(
    ("kind", "names", "path"),
    [
        (PODS, ("n", "p"), "/api/v1/namespaces/n/pods/p"),
        (PODS, ("n", "p", "log"), "/api/v1/namespaces/n/pods/p/log"),
        (TASK_VALIDATIONS, ("n",), "/apis/assay.dev/v1alpha1/namespaces/n/taskvalidations"),
        (LEASES, ("a/../b", "c?d"), "/apis/coordination.k8s.io/v1/namespaces/a%2F..%2Fb/leases/c%3Fd"),
    ],
)
def test_a_name_is_one_part_of_a_path_whatever_it_holds(kind: Kind, names: tuple[str, ...], path: str) -> None:
    assert kind.path(*names) == path


@pytest.mark.api
class TestApiServer:
    """Against the real one."""

    async def test_an_object_is_made_read_replaced_and_deleted(self, client: Client, namespace: str) -> None:
        made = await client.create(SECRETS, namespace, secret("a", namespace))
        made["metadata"]["labels"]["part"] = "other"
        await client.replace(SECRETS, namespace, "a", made)
        assert (await client.get(SECRETS, namespace, "a"))["metadata"]["labels"] == {"part": "other"}
        await client.delete(SECRETS, namespace, "a", uid=made["metadata"]["uid"])
        with pytest.raises(ApiError) as gone:
            await client.get(SECRETS, namespace, "a")
        assert (gone.value.status, gone.value.reason) == (404, "NotFound")

    async def test_a_second_creation_is_a_conflict(self, client: Client, namespace: str) -> None:
        await client.create(SECRETS, namespace, secret("a", namespace))
        with pytest.raises(ApiError) as error:
            await client.create(SECRETS, namespace, secret("a", namespace))
        assert (error.value.status, error.value.reason) == (409, "AlreadyExists")

    async def test_a_deletion_does_not_hit_another_object_of_the_name(self, client: Client, namespace: str) -> None:
        await client.create(SECRETS, namespace, secret("a", namespace))
        await client.delete(SECRETS, namespace, "a", uid="00000000-0000-0000-0000-000000000000")
        assert (await client.get(SECRETS, namespace, "a"))["metadata"]["name"] == "a"

    async def test_deleting_what_is_not_there_is_a_success(self, client: Client, namespace: str) -> None:
        await client.delete(SECRETS, namespace, "none")

    async def test_a_stale_version_is_refused(self, client: Client, namespace: str) -> None:
        made = await client.create(SECRETS, namespace, secret("a", namespace))
        await client.replace(SECRETS, namespace, "a", made | {"stringData": {"k": "w"}})
        with pytest.raises(ApiError) as error:
            await client.replace(SECRETS, namespace, "a", made)
        assert error.value.status == 409

    async def test_pages_give_every_object_once_and_only_those_selected(self, client: Client, namespace: str) -> None:
        for number in range(7):
            await client.create(SECRETS, namespace, secret(f"s-{number}", namespace))
        other = secret("other", namespace)
        other["metadata"]["labels"] = {}
        await client.create(SECRETS, namespace, other)
        pages = [page async for page in client.pages(SECRETS, namespace, selector="part=test", size=3)]
        assert [len(page) for page in pages] == [3, 3, 1]
        assert sorted(item["metadata"]["name"] for page in pages for item in page) == [f"s-{n}" for n in range(7)]

    async def test_a_status_is_merged_under_its_precondition_and_the_spec_stays(
        self, client: Client, namespace: str
    ) -> None:
        made = await client.create(TASK_VALIDATIONS, namespace, make_manifest("a", namespace=namespace))
        version = made["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "status": {"phase": "Running", "observedGeneration": 1}}
        changed = await client.patch_status(TASK_VALIDATIONS, namespace, "a", patch)
        assert (changed["status"]["phase"], changed["spec"]) == ("Running", made["spec"])
        with pytest.raises(ApiError) as stale:
            await client.patch_status(TASK_VALIDATIONS, namespace, "a", patch)
        assert stale.value.status == 409

    async def test_a_refusal_carries_the_servers_reason_and_field(self, client: Client, namespace: str) -> None:
        manifest = make_manifest("a", namespace=namespace)
        manifest["spec"]["runs"] = {"unpatched": 0}
        with pytest.raises(ApiError) as error:
            await client.create(TASK_VALIDATIONS, namespace, manifest)
        assert (error.value.status, error.value.reason) == (422, "Invalid")
        assert "spec.runs.unpatched" in error.value.message

    async def test_a_pod_is_made_once_however_often_it_is_asked_for(self, client: Client, namespace: str) -> None:
        manifest = owned_pod(namespace)
        owner = await client.create(SECRETS, namespace, secret("owner", namespace))
        for reference in manifest["metadata"]["ownerReferences"]:  # one that is there, or the pod is garbage
            reference |= {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"]}
        first = await ensure_pod(client, manifest)
        again = await ensure_pod(client, manifest)
        assert first["metadata"]["uid"] == again["metadata"]["uid"]

    async def test_a_pod_of_somebody_else_is_never_taken_for_ours(self, client: Client, namespace: str) -> None:
        manifest = owned_pod(namespace)
        foreign = manifest | {"metadata": manifest["metadata"] | {"ownerReferences": []}}
        await client.create(PODS, namespace, foreign)
        with pytest.raises(ForeignObjectError, match=manifest["metadata"]["name"]):
            await ensure_pod(client, manifest)

    async def test_secrets_are_made_once(self, client: Client, namespace: str) -> None:
        secrets = [secret("a", namespace), secret("b", namespace)]
        await ensure_secrets(client, secrets[:1])
        await ensure_secrets(client, secrets)
        assert (await client.get(SECRETS, namespace, "b"))["metadata"]["name"] == "b"


def owned_pod(namespace: str) -> dict[str, Any]:
    """A pod of a task, in this namespace; nodes are left out, so it stays where it is."""
    manifest = pod("unpatched-1", make_task())
    manifest["metadata"]["namespace"] = namespace
    manifest["spec"]["nodeSelector"] = {"nobody": "has-this"}
    return manifest


Handler = Callable[[web.Request], Any]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[Client]:
    """A client of a server that answers as ``handler`` does."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    configuration = kubernetes_client.Configuration()
    host, port = site._server.sockets[0].getsockname()[:2]  # type: ignore[union-attr]
    configuration.host = f"http://{host}:{port}"
    configuration.connection_pool_maxsize = 4
    client = Client(configuration)
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()


class Script:
    """Answers one status after the other, the last one for ever; counts what was asked."""

    def __init__(self, *statuses: int, headers: dict[str, str] | None = None) -> None:
        self._statuses = list(statuses)
        self._headers = headers or {}
        self.asked = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        body = {"metadata": {"name": "a"}} if status < 400 else {"reason": "Because", "message": "of that"}
        return web.json_response(body, status=status, headers=self._headers if status >= 400 else None)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the client makes, which cost the tests no time."""
    made: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            made.append(seconds)
        await real(0)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    return made


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_server_in_trouble_is_asked_again_with_growing_pauses(status: int, pauses: list[float]) -> None:
    script = Script(status, status, 200)
    async with server(script.answer) as client:
        assert (await client.get(PODS, "n", "a"))["metadata"]["name"] == "a"
    assert script.asked == 3
    assert pauses == sorted(pauses)
    assert len(pauses) == 2


async def test_the_server_says_how_long_to_wait(pauses: list[float]) -> None:
    async with server(Script(429, 200, headers={"Retry-After": "7"}).answer) as client:
        await client.get(PODS, "n", "a")
    assert pauses == [7.0]


async def test_a_server_that_stays_in_trouble_is_given_up() -> None:
    script = Script(503)
    async with server(script.answer) as client:
        with pytest.raises(ApiError) as error:
            await client.get(PODS, "n", "a")
    assert (error.value.status, script.asked) == (503, module.TRIES)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
async def test_a_refusal_is_not_repeated(status: int) -> None:
    script = Script(status)
    async with server(script.answer) as client:
        with pytest.raises(ApiError) as error:
            await client.get(PODS, "n", "a")
    assert (error.value.status, error.value.reason, script.asked) == (status, "Because", 1)


async def test_a_creation_whose_fate_is_unknown_is_not_repeated() -> None:
    script = Script(500, 201)
    async with server(script.answer) as client:
        with pytest.raises(ApiError) as error:
            await client.create(PODS, "n", {})
    assert (error.value.status, script.asked) == (500, 1)


async def test_a_creation_that_was_turned_away_unread_is_repeated() -> None:
    script = Script(429, 201)
    async with server(script.answer) as client:
        await client.create(PODS, "n", {})
    assert script.asked == 2


async def test_a_connection_that_breaks_in_the_middle_is_tried_again_where_that_is_harmless() -> None:
    asked = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        if asked == 1:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"metadata": {"name": "a"}})

    async with server(handler) as client:
        assert (await client.get(PODS, "n", "a"))["metadata"]["name"] == "a"
    assert asked == 2


async def test_a_creation_on_a_connection_that_breaks_is_an_error_with_status_0() -> None:
    asked = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with server(handler) as client:
        with pytest.raises(ApiError) as error:
            await client.create(PODS, "n", {})
    assert (error.value.status, asked) == (0, 1)


async def test_a_server_that_is_not_there_is_an_error_with_status_0(pauses: list[float]) -> None:
    configuration = kubernetes_client.Configuration()
    configuration.host = "http://127.0.0.1:1"
    client = Client(configuration)
    try:
        with pytest.raises(ApiError) as error:
            await client.create(PODS, "n", {})
    finally:
        await client.close()
    assert error.value.status == 0
    assert len(pauses) == module.TRIES - 1


async def test_an_answer_that_is_not_json_is_still_an_error_with_its_text() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=403, body=b"<html>\xff forbidden")

    async with server(handler) as client:
        with pytest.raises(ApiError, match="forbidden"):
            await client.get(PODS, "n", "a")


async def test_names_that_are_not_unicode_are_sent_as_escapes() -> None:
    seen: list[bytes] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(await request.read())
        return web.json_response({})

    async with server(handler) as client:
        await client.patch_status(PODS, "n", "a", {"status": {"message": "\ud800é"}})
    assert json.loads(seen[0])["status"]["message"] == "\ud800é"


async def test_a_log_that_its_node_does_not_give_is_asked_for_once() -> None:
    script = Script(500)
    async with server(script.answer) as client:
        with pytest.raises(ApiError) as error:
            await read_evidence(client, "n", "a")
    assert (error.value.status, script.asked) == (500, 1)


async def test_a_conflict_of_a_quota_is_not_taken_for_an_object_that_is_there() -> None:
    async def conflict(_: web.Request) -> web.Response:
        message = "Operation cannot be fulfilled on resourcequotas: the object has been modified"
        return web.json_response({"reason": "Conflict", "message": message}, status=409)

    async with server(conflict) as client:
        with pytest.raises(ApiError):
            await ensure_secrets(client, [secret("a", "n")])
        with pytest.raises(ApiError) as error:
            await ensure_pod(client, owned_pod("n"))
    assert error.value.reason == "Conflict"


async def test_a_watch_that_has_fallen_silent_is_an_error_with_status_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.05)
    ended = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await ended.wait()
        return response

    async with server(silent) as client:
        with pytest.raises(ApiError) as error:
            async for _ in client.watch(PODS, "n", version="1"):
                pass
        ended.set()
    assert error.value.status == 0


async def test_a_token_that_cannot_be_read_is_an_error_of_the_watch_with_status_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def unreadable(*_: Any) -> None:
        raise FileNotFoundError("token")

    async with server(Script(200).answer) as client:
        monkeypatch.setattr(client._api, "update_params_for_auth", unreadable)
        with pytest.raises(ApiError) as error:
            async for _ in client.watch(PODS, "n", version="1"):
                pass
    assert error.value.status == 0


@pytest.mark.parametrize("content", [None, b"", b"- a\n", b"a: [\n", b"\xff\xfe", b"current-context: nowhere\n"])
async def test_a_kubeconfig_that_is_no_good_is_named(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "config"
    if content is not None:
        place.write_bytes(content)
    monkeypatch.setenv("KUBECONFIG", str(place))
    with pytest.raises(ApiError, match=str(place)):
        await Client.connect()
