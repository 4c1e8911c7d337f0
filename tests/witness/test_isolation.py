"""The probe, the gate and the samples, against real sockets."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from assay.witness import isolation
from assay.witness.record import read_gate_refusal
from witness.pod import Pod, Task, closed_port, wait_for


@contextlib.contextmanager
def listener(port: int = 0):
    with socket.create_server(("127.0.0.1", port)) as made:
        yield made.getsockname()[1]


def test_targets_are_addresses_with_ports_of_both_families():
    assert isolation.parse_targets("10.0.0.1:443  [fd00::1]:53\n") == (("10.0.0.1", 443), ("fd00::1", 53))
    assert [isolation.target_name(target) for target in isolation.parse_targets("10.0.0.1:443 [fd00::1]:53")] == [
        "10.0.0.1:443",
        "[fd00::1]:53",
    ]


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "example.test:80", ":80", "[]:1"]
)
def test_anything_else_is_not_a_target(text):
    with pytest.raises(ValueError, match=r"target|address|invalid literal"):
        isolation.parse_targets(text)


def test_a_probe_tells_open_doors_from_shut_ones_in_one_go():
    with listener() as port:
        open_door, shut_door = ("127.0.0.1", port), ("127.0.0.1", closed_port())
        verdicts = isolation.probe((open_door, shut_door, ("::1", closed_port())))
    assert verdicts[open_door] == isolation.OPEN
    assert set(verdicts.values()) == {isolation.OPEN, isolation.SHUT}
    assert list(verdicts.values()).count(isolation.SHUT) == 2


def test_an_error_of_our_own_making_proves_nothing():
    import resource  # noqa: PLC0415

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used - 4, 1), hard))
    try:
        verdicts = isolation.probe((("127.0.0.1", 1),))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert verdicts == {("127.0.0.1", 1): isolation.UNKNOWN}


def test_a_door_that_never_answers_is_shut_after_the_timeout():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        door = ("127.0.0.1", full.getsockname()[1])
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                filler = stack.enter_context(socket.socket())
                filler.setblocking(False)
                filler.connect_ex(door)
            begun = time.monotonic()
            verdicts = isolation.probe((door,), 0.3)
            passed = time.monotonic() - begun
    assert verdicts == {door: isolation.SHUT}
    assert 0.3 <= passed < 2


def test_the_gate_needs_two_shut_rounds_at_least_100_ms_apart():
    gate = isolation.pass_gate((("127.0.0.1", closed_port()),), 5)
    assert gate.rounds == 2
    assert gate.seconds >= 0.1
    assert not gate.opened_at_first


def test_the_gate_waits_for_a_door_to_shut():
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(listener())
        threading.Timer(0.25, stack.close).start()
        gate = isolation.pass_gate((("127.0.0.1", port),), 10)
    assert gate.opened_at_first
    assert gate.rounds >= 4


def test_the_gate_waits_for_a_door_that_must_answer():
    shut, port = closed_port(), closed_port()
    with contextlib.ExitStack() as stack:
        threading.Timer(0.25, lambda: stack.enter_context(listener(port))).start()
        gate = isolation.pass_gate((("127.0.0.1", shut),), 10, (("127.0.0.1", port),))
    assert not gate.opened_at_first
    assert gate.rounds >= 4


def test_the_gate_names_a_door_that_does_not_answer_in_time():
    shut, silent = closed_port(), closed_port()
    with pytest.raises(isolation.GateError, match=f"no answer from 127.0.0.1:{silent}") as refused:
        isolation.pass_gate((("127.0.0.1", shut),), 0.3, (("127.0.0.1", silent),))
    assert refused.value.still_open == ()


def test_an_open_target_stops_the_gate_though_the_doors_answer():
    with listener() as leak, listener() as door, pytest.raises(isolation.GateError, match="not shut") as refused:
        isolation.pass_gate((("127.0.0.1", leak),), 0.3, (("127.0.0.1", door),))
    assert refused.value.still_open == (f"127.0.0.1:{leak}",)


def test_the_positive_control_sees_our_own_listener():
    assert isolation.sees_an_open_door()


def test_the_gate_is_shut_when_the_positive_control_fails(monkeypatch):
    monkeypatch.setattr(isolation, "probe", lambda targets, seconds=0.0: dict.fromkeys(targets, isolation.SHUT))
    with pytest.raises(isolation.GateError, match="positive control"):
        isolation.pass_gate((("127.0.0.1", 1),), 1)


def test_an_open_target_stops_the_witness_with_70_and_the_task_never_begins(pod: Pod):
    with listener() as port:
        pod.targets = f"127.0.0.1:{closed_port()} 127.0.0.1:{port}"
        run = pod.start_run(commands=["echo ran > " + str(pod.io / "ran")])
        witness = pod.start_witness(ASSAY_GATE_SECONDS="0.5")
        assert witness.wait(20) == 70
    refusal = read_gate_refusal(pod.log)
    assert refusal is not None
    assert refusal.open_targets == (f"127.0.0.1:{port}",)
    assert refusal.rounds > 1
    assert run.poll() is None
    assert not (pod.io / "ran").exists()


@pytest.mark.parametrize("targets", ["", "  ", "nonsense"])
def test_nothing_to_probe_fails_closed(pod: Pod, targets: str):
    pod.targets = targets
    assert pod.start_witness().wait(20) == 70
    assert pod.log.startswith(b"\x1eassay-gate ")
    assert json.loads(pod.log.split(b" ", 1)[1])["open"] == []


def test_a_refused_witness_says_so_again_when_it_is_restarted(pod: Pod):
    pod.targets = ""
    assert pod.start_witness().wait(20) == 70
    first = pod.log
    assert pod.start_witness().wait(20) == 70
    assert pod.log == first * 2


def test_a_door_that_opens_during_the_run_is_a_leak_with_time_and_target(pod: Pod):
    port = closed_port()
    pod.targets = f"127.0.0.1:{port}"
    pod.start_witness(ASSAY_SAMPLE_SECONDS="0.05")
    task = Task(pod)
    with listener(port):
        time.sleep(0.4)
    time.sleep(0.2)
    assert task.say("end 0") == b"end"
    task.close()
    seen = pod.record().isolation
    assert 3 <= seen.leak_count < seen.samples
    assert seen.leaks[0].target == f"127.0.0.1:{port}"
    assert 0 < seen.leaks[0].seconds < 10
    assert not seen.opened_at_first


def test_a_door_that_opens_just_before_the_end_is_seen_by_the_last_sample(pod: Pod):
    port = closed_port()
    pod.targets = f"127.0.0.1:{port}"
    pod.start_witness(ASSAY_SAMPLE_SECONDS="1000")
    task = Task(pod)
    time.sleep(1)
    with listener(port):
        assert task.say("end 0") == b"end"
    task.close()
    seen = pod.record().isolation
    assert (seen.samples, seen.leak_count) == (2, 1)


def test_only_the_first_twenty_leaks_are_listed_and_all_are_counted(pod: Pod):
    port = closed_port()
    pod.targets = f"127.0.0.1:{port}"
    pod.start_witness(ASSAY_SAMPLE_SECONDS="0.01")
    task = Task(pod)
    with listener(port):
        time.sleep(1.0)
        task.say("end 0")
    task.close()
    wait_for(lambda: b"assay-end" in pod.log)
    seen = pod.record().isolation
    assert len(seen.leaks) == 20 < seen.leak_count
