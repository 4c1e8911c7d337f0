"""Calls as an agent makes them, under each shell that an image may have."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from witness.hands.sandbox import Sandbox
from witness.pod import wait_for


def test_a_script_runs_in_the_work_tree_with_both_streams_in_order(ready: Sandbox) -> None:
    assert ready.call("pwd; echo err >&2; echo out; exit 3") == (3, f"{ready.top}\nerr\nout\n".encode())


def test_a_script_gets_its_input_and_its_folder(ready: Sandbox) -> None:
    stdin = base64.b64encode(b"\x00 in\n").decode()
    assert ready.call({"script": "pwd; cat", "stdin": stdin, "cwd": "/"}) == (0, b"/\n\x00 in\n")
    assert ready.call({"script": "true", "cwd": "/no such"})[0] == 1


def test_a_script_arrives_as_it_is(ready: Sandbox) -> None:
    assert ready.call("printf '%s\\n' 'a'\"'\"'b' \"$(echo \\$HOME)\" 'é'") == (0, "a'b\n$HOME\né\n".encode())
    long = "# " + "x" * 300_000 + "\necho end"
    assert ready.call(long) == (0, b"end\n")


def test_nothing_of_ours_is_in_a_calls_environment(ready: Sandbox) -> None:
    code, output = ready.call("env; cat /proc/self/environ; ls -l /proc/self/fd")
    assert code == 0
    assert b"ASSAY" not in output
    assert b"/req" not in output


def test_a_background_process_does_not_hold_its_call_and_lives_on(ready: Sandbox) -> None:
    begun = time.monotonic()
    code, output = ready.call("sleep 1000 & echo $!")
    assert code == 0
    assert time.monotonic() - begun < 30
    pid = int(output)
    assert ready.call(f"kill -0 {pid} && kill {pid}")[0] == 0


def test_a_background_process_may_write_as_much_as_it_likes_after_its_call(ready: Sandbox) -> None:
    mark = ready.top.parent / "written"
    ready.call(f"(while [ ! -e {mark}.go ]; do sleep 0.05; done; head -c 3000000 /dev/zero; echo done > {mark}) & true")
    assert ready.call(f"touch {mark}.go; echo mine") == (0, b"mine\n")
    wait_for(mark.exists, 60)
    mark.unlink()
    mark.with_name("written.go").unlink()


def test_output_may_be_binary_and_large(ready: Sandbox) -> None:
    size = 20_000_003
    identifier = ready.start({"script": f"head -c {size} /dev/urandom > ../big; cat ../big"})
    assert ready.finish(identifier)["outputBytes"] == size
    rest = ready.ask("GET", f"/v1/calls/{identifier}/output?offset={16 * 1024 * 1024}")[2]
    digest = hashlib.sha256(ready.output(identifier) + rest).digest()
    assert digest == hashlib.sha256((ready.top.parent / "big").read_bytes()).digest()


def test_output_past_the_limit_keeps_its_head_and_tail(ready: Sandbox) -> None:
    identifier = ready.start({"script": "echo first; head -c 100000000 /dev/zero; echo last"})
    state = ready.finish(identifier)
    assert state["outputBytes"] == 100_000_011
    gap = state["omitted"]
    assert gap["from"] == 32 * 1024 * 1024
    assert 100_000_011 - gap["to"] >= 4 * 1024 * 1024
    assert ready.output(identifier).startswith(b"first\n\0")
    status, headers, tail = ready.ask("GET", f"/v1/calls/{identifier}/output?offset={gap['from'] + 5}&limit=16000000")
    assert (status, int(headers["X-Offset"]), tail[-5:]) == (200, gap["to"], b"last\n")
    assert len(tail) == 100_000_011 - gap["to"]


def test_a_call_past_its_time_is_killed_with_all_that_it_started(ready: Sandbox) -> None:
    pid = ready.call("sleep 1000 & echo $!")[1].decode().strip()
    body = {"script": "sleep 1001 & (sleep 1002; echo no) | cat; echo no", "timeoutSeconds": 1}
    identifier = ready.start(body)
    state = ready.finish(identifier)
    assert (state["exitCode"], state["timedOut"]) == (124, True)
    assert ready.output(identifier) == b""
    left = ready.call("for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2>/dev/null")[1]
    assert [word in left for word in (b"sleep 1000", b"sleep 1001", b"sleep 1002")] == [True, False, False]
    ready.call(f"kill {pid}")


def test_a_call_that_ignores_the_first_signal_is_killed_all_the_same(ready: Sandbox) -> None:
    identifier = ready.start({"script": "trap '' TERM; echo begun; while :; do sleep 0.1; done", "timeoutSeconds": 1})
    state = ready.finish(identifier)
    assert (state["exitCode"], ready.output(identifier)) == (124, b"begun\n")
    assert ready.call("echo alive") == (0, b"alive\n")


def test_a_cancelled_call_ends_and_a_queued_one_never_begins(ready: Sandbox) -> None:
    running = ready.start({"script": "echo begun; sleep 1000"})
    queued = ready.start({"script": "touch ../never"})
    ready.json("POST", f"/v1/calls/{queued}/cancel")
    ready.json("POST", f"/v1/calls/{running}/cancel")
    assert ready.finish(queued)["error"] == "cancelled before it began"
    state = ready.finish(running)
    assert (state["cancelled"], state["timedOut"], state["exitCode"]) == (True, False, 143)
    assert not (ready.top.parent / "never").exists()


def test_calls_run_one_at_a_time_in_the_order_of_arrival(ready: Sandbox) -> None:
    log = ready.top.parent / "order"
    first = ready.start({"script": f"sleep 0.5; echo first >> {log}"})
    second = ready.start({"script": f"echo second >> {log}"})
    ready.finish(second)
    assert ready.finish(first)["exitCode"] == 0
    assert log.read_text() == "first\nsecond\n"
    log.unlink()


def test_the_same_call_asked_for_at_once_by_many_runs_once(ready: Sandbox) -> None:
    log = ready.top.parent / "once"
    body = {"script": f"echo ran >> {log}; sleep 0.2"}
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda _: ready.start(body, "same-call"), range(24)))
    ready.finish("same-call")
    assert log.read_text() == "ran\n"
    status, _, _ = ready.ask("PUT", "/v1/calls/same-call", body | {"timeoutSeconds": 5})
    assert status == 409
    log.unlink()


def test_orphans_do_not_stay_as_zombies(ready: Sandbox) -> None:
    ready.call("i=0; while [ $i -lt 40 ]; do (sleep 0.05 & ); i=$((i+1)); done; sleep 0.5")
    for _ in range(3):
        ready.call("true")
    count = ready.call("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | grep -c .")[1]
    assert int(count) <= 2


def test_killing_every_process_ends_the_call_and_not_the_sandbox(ready: Sandbox) -> None:
    identifier = ready.start({"script": "kill -9 -1; sleep 5"})
    assert ready.finish(identifier)["exitCode"] == 137
    assert ready.call("echo alive") == (0, b"alive\n")


@pytest.mark.parametrize("name", ["plain", "with space", "-dash", "new\nline", "quote'\"$(x)`", "\udcff\udcfe", "ü"])
def test_files_are_written_and_read_byte_by_byte_under_odd_names(ready: Sandbox, name: str) -> None:
    content = bytes(range(256)) + b"no newline at the end"
    path = f"new folder/{name}"
    assert ready.write(path, content, "create") == (0, b"")
    assert (ready.top / "new folder" / name).read_bytes() == content
    assert ready.call({"read": path}) == (0, content)


def test_a_write_keeps_the_mode_and_goes_through_links(ready: Sandbox) -> None:
    (ready.top / "bin/tool").chmod(0o751)
    assert ready.write("bin/tool", b"new") == (0, b"")
    assert ((ready.top / "bin/tool").read_bytes(), (ready.top / "bin/tool").stat().st_mode & 0o7777) == (b"new", 0o751)
    assert ready.write("link", b"through") == (0, b"")
    assert (ready.top / "link").is_symlink()
    assert (ready.top / "a.txt").read_bytes() == b"through"
    assert not list(ready.top.glob(".assay*"))


def test_a_file_that_has_changed_since_it_was_read_is_not_replaced(ready: Sandbox) -> None:
    ready.write("counted", b"one", "create")
    digest = hashlib.sha256(b"one").hexdigest()
    assert ready.write("counted", b"two", replaces=digest) == (0, b"")
    assert ready.write("counted", b"lost", replaces=digest) == (3, b"counted: Changed since it was read\n")
    assert (ready.top / "counted").read_bytes() == b"two"


def test_a_large_file_arrives_whole(ready: Sandbox) -> None:
    content = os.urandom(11_000_000)
    assert ready.write(str(ready.top.parent / "large"), content, "create") == (0, b"")
    assert (ready.top.parent / "large").read_bytes() == content


def test_what_cannot_be_read_or_written_is_said_so(ready: Sandbox) -> None:
    assert ready.call({"read": "absent"}) == (1, b"absent: No such file or directory\n")
    assert ready.call({"read": "bin"}) == (1, b"bin: Is a directory\n")
    assert ready.call({"read": "/dev/zero"}) == (1, b"/dev/zero: Not a regular file\n")
    assert ready.write("absent", b"x") == (1, b"absent: No such file or directory\n")
    assert ready.write("bin", b"x", "create") == (1, b"bin: Is a directory\n")
    ready.call("ln -s loop loop")
    assert ready.write("loop", b"x") == (1, b"loop: Too many levels of symbolic links\n")
    assert ready.write("a.txt/below", b"x", "create")[0] == 1
