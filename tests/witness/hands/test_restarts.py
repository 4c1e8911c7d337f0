"""The hands are killed at any moment, and no call is lost, cut or repeated."""

from __future__ import annotations

import time

from witness.hands.sandbox import Sandbox
from witness.pod import wait_for


def test_finished_calls_and_their_output_outlive_the_hands(sandbox: Sandbox) -> None:
    sandbox.up()
    identifier = sandbox.start({"script": "echo out; exit 4"})
    before = sandbox.finish(identifier)
    sandbox.restart_hands()
    assert sandbox.finish(identifier) == before
    assert sandbox.output(identifier) == b"out\n"
    assert sandbox.start({"script": "echo out; exit 4"}, identifier) == identifier
    state = sandbox.state()
    assert (state["calls"], state["isolation"]["restarts"], state["base"]) == (1, 1, sandbox.base)


def test_a_running_call_goes_on_while_the_hands_are_dead(sandbox: Sandbox) -> None:
    sandbox.up()
    marks = sandbox.folder / "marks"
    script = f"echo ran >> {marks}; i=0; while [ $i -lt 30 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; exit 5"
    identifier = sandbox.start({"script": script})
    queued = sandbox.start({"script": "echo queued"})
    for _ in range(3):
        wait_for(marks.exists)
        sandbox.restart_hands()
        assert sandbox.start({"script": script}, identifier) == identifier
    assert sandbox.finish(identifier)["exitCode"] == 5
    assert sandbox.output(identifier).decode() == "".join(f"line {i}\n" for i in range(30))
    assert marks.read_text() == "ran\n"
    sandbox.finish(queued)
    assert sandbox.output(queued) == b"queued\n"


def test_a_call_that_ends_while_the_hands_are_dead_keeps_its_end_and_its_output(sandbox: Sandbox) -> None:
    sandbox.up()
    done = sandbox.folder / "done"
    identifier = sandbox.start({"script": f"sleep 0.5; seq 1 3000; : > {done}; exit 6"})
    wait_for(lambda: sandbox.state()["running"] == identifier)
    sandbox.hands.kill()
    sandbox.hands.wait()
    wait_for(done.exists)
    sandbox.restart_hands()
    assert sandbox.finish(identifier)["exitCode"] == 6
    assert sandbox.output(identifier).decode() == "".join(f"{i}\n" for i in range(1, 3001))


def test_a_flood_of_output_is_whole_after_many_kills(sandbox: Sandbox) -> None:
    sandbox.up()
    identifier = sandbox.start({"script": "seq 1 2000000"})
    for _ in range(4):
        time.sleep(0.05)
        sandbox.restart_hands()
    state = sandbox.finish(identifier)
    whole = "".join(f"{i}\n" for i in range(1, 2000001)).encode()
    assert (state["exitCode"], state["outputBytes"]) == (0, len(whole))
    assert sandbox.output(identifier) == whole


def test_a_deadline_holds_across_a_restart(sandbox: Sandbox) -> None:
    sandbox.up()
    identifier = sandbox.start({"script": "sleep 1000", "timeoutSeconds": 2})
    wait_for(lambda: sandbox.state()["running"] == identifier)
    sandbox.restart_hands()
    state = sandbox.finish(identifier)
    assert (state["exitCode"], state["timedOut"]) == (124, True)


def test_the_lock_and_the_diff_outlive_the_hands(sandbox: Sandbox) -> None:
    sandbox.up()
    sandbox.call("echo new > new")
    status, diff = sandbox.submit()
    sandbox.restart_hands()
    assert sandbox.submit() == (status, diff)
    assert (status, b"+new" in diff) == (200, True)
    assert sandbox.ask("PUT", "/v1/calls/x", {"script": "true"})[0] == 423


def test_background_processes_go_on_writing_to_restarted_hands(sandbox: Sandbox) -> None:
    sandbox.up()
    go, done = sandbox.folder / "go", sandbox.folder / "done"
    sandbox.call(f"(until [ -e {go} ]; do sleep 0.05; done; head -c 2000000 /dev/zero; : > {done}) & true")
    sandbox.restart_hands()
    sandbox.call(f": > {go}")
    wait_for(done.exists, 60)


def test_the_oldest_outputs_make_room_for_the_newest(sandbox: Sandbox) -> None:
    sandbox.up(ASSAY_OUTPUT_BYTES="3000000")
    names = [sandbox.start({"script": f"echo {n}; head -c 1000000 /dev/zero"}) for n in range(5)]
    for name in names:
        assert sandbox.finish(name)["outputBytes"] == 1000002
    assert sandbox.ask("GET", f"/v1/calls/{names[0]}/output")[0] == 410
    assert sandbox.output(names[-1]).startswith(b"4\n")
    sandbox.restart_hands(ASSAY_OUTPUT_BYTES="3000000")
    assert sandbox.ask("GET", f"/v1/calls/{names[0]}/output")[0] == 410
    assert sandbox.output(names[-1]).startswith(b"4\n")


def test_calls_end_with_the_sandbox_and_say_so(sandbox: Sandbox) -> None:
    sandbox.up()
    running = sandbox.start({"script": "sleep 1000"})
    queued = sandbox.start({"script": "true"})
    sandbox.serve.kill()
    assert sandbox.finish(running)["error"] == "the sandbox has ended"
    assert sandbox.finish(queued)["error"] == "the sandbox has ended"
    assert sandbox.readiness()[0] == 503
    assert sandbox.ask("PUT", "/v1/calls/later", {"script": "true"})[0] == 503
