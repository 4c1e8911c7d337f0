"""The API's edges: keys, garbage, sizes, clients that stall, the gate."""

from __future__ import annotations

import base64
import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from witness.hands.sandbox import KEY, Sandbox, half_open, sandbox_in
from witness.pod import closed_port, wait_for


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with sandbox_in(tmp_path_factory.mktemp("sandbox") / "s") as made:
        yield made.up()


def test_without_the_key_nothing_is_told_but_readiness(up: Sandbox) -> None:
    assert up.ask("GET", "/readyz", key=None)[0] == 200
    for key in (None, "", KEY[:-1], KEY + "5", "ü"):
        assert up.ask("GET", "/v1/state", key=key)[0] == 401
    assert up.ask("GET", "/v1/state")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff\xfe", {}, {"script": 1}, {"script": "a\0b"}, {"script": "\ud800"},
        {"script": "x", "read": "y"}, {"script": "x", "shell": "y"}, {"script": "x", "timeoutSeconds": 0},
        {"script": "x", "timeoutSeconds": True}, {"script": "x", "timeoutSeconds": 1e9}, {"script": "x", "stdin": "*"},
        {"read": ""}, {"write": "x"}, {"write": {"path": "x"}}, {"write": {"path": "x", "content": 5}},
        {"write": {"path": "x", "content": "", "mode": "odd"}}, {"write": {"content": ""}},
        {"write": {"path": "x", "content": "", "replaces": "0"}},
        {"write": {"path": "x", "content": "", "mode": "create", "replaces": "0" * 64}},
    ],
)  # fmt: skip
def test_a_body_that_asks_for_nothing_is_refused_and_leaves_no_call(up: Sandbox, body: object) -> None:
    status, _, said = up.ask("PUT", "/v1/calls/bad", body)
    assert (status, b"error" in said) == (400, True)
    assert up.ask("GET", "/v1/calls/bad")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404), ("GET", "/v1/calls/none", 404), ("PUT", "/v1/calls/a%2Fb", 404), ("PUT", "/v1/calls/a.b", 400),
        ("DELETE", "/v1/calls/x", 404), ("POST", "/v1/submissions/0", 400), ("POST", "/v1/submissions/x", 400),
        ("GET", "/v1/calls/none/output?offset=-1", 404), ("PUT", f"/v1/calls/{'x' * 201}", 400),
    ],
)  # fmt: skip
def test_other_targets_are_refused(up: Sandbox, method: str, path: str, status: int) -> None:
    assert up.ask(method, path, b"{}" if method == "PUT" else None)[0] == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"garbage\r\n\r\n", b"400"),
        (b"GET / HTTP/9\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nbroken\r\n\r\n", b"400"),
        (b"GET /v1/state HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400"),
        (b"PUT /v1/calls/a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (b"PUT /v1/calls/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"PUT /v1/calls/a HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000, b"431"),
    ],
)
def test_what_is_not_proper_http_is_answered_and_the_connection_closed(up: Sandbox, sent: bytes, status: bytes) -> None:
    with half_open(up.port, sent) as connection:
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(65536):
                answer += data
    assert answer.split(b" ")[1] == status


def test_one_connection_serves_many_requests_also_when_they_come_at_once(up: Sandbox) -> None:
    request = f"GET /v1/state HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()
    with half_open(up.port, request * 3) as connection:
        answer = b""
        while answer.count(b"HTTP/1.1 200 OK") < 3 or not answer.endswith(b"}\n"):
            answer += connection.recv(65536)


def test_stalled_and_silent_clients_harm_nobody(up: Sandbox) -> None:
    large = f"PUT /v1/calls/slow HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\nContent-Length: 900000\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        for number in range(60):
            sent = (b"", b"GET /v1/st", large + b"{")[number % 3]
            stack.enter_context(half_open(up.port, sent))
        begun = time.monotonic()
        assert up.call("echo alive") == (0, b"alive\n")
        assert time.monotonic() - begun < 20


def test_a_client_that_leaves_in_the_middle_of_a_long_poll_costs_nothing(up: Sandbox) -> None:
    identifier = up.start({"script": "sleep 1; echo done"})
    for _ in range(20):
        ask = f"GET /v1/calls/{identifier}?wait=20 HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\n\r\n"
        half_open(up.port, ask.encode()).close()
    assert up.finish(identifier)["exitCode"] == 0


def test_memory_stays_bounded_whatever_comes_and_goes(up: Sandbox) -> None:
    up.call("head -c 300000000 /dev/zero")
    content = base64.b64encode(bytes(10_000_000)).decode()
    up.call({"write": {"path": "../large", "content": content, "mode": "create"}})
    status = Path(f"/proc/{up.hands.pid}/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert peak < 200_000


def test_idle_time_counts_from_the_last_call_or_touch(up: Sandbox) -> None:
    up.call("true")
    time.sleep(5)
    assert up.state()["idleSeconds"] >= 5
    up.json("POST", "/v1/touch")
    assert up.state()["idleSeconds"] < 5


def test_nothing_of_the_task_begins_while_the_network_is_open(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        sandbox.targets = f"127.0.0.1:{door.getsockname()[1]}"
        sandbox.hands = sandbox.start_hands(ASSAY_GATE_SECONDS="0.5")
        sandbox.serve = sandbox.start_serve()
        assert sandbox.hands.wait(30) == 70
        assert not list(sandbox.io.iterdir())
        wait_for(lambda: "assay-gate" in sandbox.log)
    sandbox.hands = sandbox.start_hands(ASSAY_GATE_SECONDS="0.5")
    assert sandbox.hands.wait(30) == 70
    assert sandbox.serve.poll() is None


def test_nothing_of_the_task_begins_before_the_door_that_it_is_to_use_answers(sandbox: Sandbox) -> None:
    silent = f"127.0.0.1:{closed_port()}"
    sandbox.hands = sandbox.start_hands(ASSAY_GATE_SECONDS="0.5", ASSAY_ISOLATION_DOORS=silent)
    sandbox.serve = sandbox.start_serve()
    assert sandbox.hands.wait(30) == 70
    assert not list(sandbox.io.iterdir())
    assert f"no answer from {silent}" in sandbox.log


def test_the_state_tells_how_many_doors_answered(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        sandbox.up(ASSAY_ISOLATION_DOORS=f"127.0.0.1:{door.getsockname()[1]}")
    assert sandbox.state()["isolation"]["doors"] == 1


def test_without_a_key_the_hands_do_not_start(sandbox: Sandbox) -> None:
    assert sandbox.start_hands(ASSAY_KEY="").wait(30) == 64


def test_a_link_in_place_of_a_fifo_is_not_followed(sandbox: Sandbox) -> None:
    sandbox.up()
    secret = sandbox.private / "secret"
    secret.write_text("secret")
    script = f"rm -f {sandbox.io}/2.out; ln -s {secret} {sandbox.io}/2.out; ln -s {secret} {sandbox.io}/2.job"
    assert sandbox.call(script)[0] == 0
    identifier = sandbox.start({"script": "echo x"})
    state = sandbox.finish(identifier)
    assert state["error"] or state["exitCode"]
    assert sandbox.output(identifier) == b""
    assert secret.read_text() == "secret"
    assert sandbox.call("echo alive") == (0, b"alive\n")
