"""The witness as a process: what goes into its FIFOs, what comes out of its log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from assay.witness.record import RecordFault, read_record
from witness.pod import END, ROOT, Pod, Task, terminate, wait_for


@pytest.fixture
def task(pod: Pod):
    pod.start_witness()
    made = Task(pod)
    yield made
    made.close()


def test_the_fifos_are_open_to_every_user_whatever_the_umask(pod: Pod):
    previous = os.umask(0o077)
    try:
        pod.start_witness()
        wait_for((pod.io / "ack").exists)
    finally:
        os.umask(previous)
    for name in ("out", "err", "ctl", "ack"):
        path = pod.io / name
        assert path.is_fifo()
        assert path.stat().st_mode & 0o777 == 0o666


def test_the_fifos_vanish_once_the_task_holds_them(pod: Pod, task: Task):
    assert list(pod.io.iterdir()) == []


def test_a_restarted_witness_exits_71_and_touches_nothing(pod: Pod):
    pod.start_witness()
    wait_for((pod.io / "ack").exists)
    assert pod.start_witness().wait(20) == 71


def test_fifos_of_somebody_else_are_never_opened(pod: Pod):
    os.mkfifo(pod.io / "out")
    assert pod.start_witness().wait(20) == 71
    assert pod.log == b""


def test_a_restart_after_the_fifos_vanished_is_noticed_too(pod: Pod, task: Task):
    assert pod.start_witness().wait(20) == 71


def test_sigterm_ends_it_at_once_with_0_before_during_and_after_the_run(pod: Pod, tmp_path: Path):
    witness = pod.start_witness()
    wait_for((pod.io / "ack").exists)
    task = Task(pod)
    task.write(b"x")
    assert terminate(witness) == 0
    task.close()
    other = Pod(tmp_path / "other")
    try:
        ended = other.start_witness()
        task = Task(other)
        assert task.say("end 0") == b"end"
        task.close()
        assert ended.poll() is None
        begun = time.monotonic()
        assert terminate(ended) == 0
        assert time.monotonic() - begun < 20
    finally:
        other.close()


def test_sigterm_while_waiting_for_the_gate_is_obeyed(pod: Pod):
    import socket  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0)) as door:
        pod.targets = f"127.0.0.1:{door.getsockname()[1]}"
        witness = pod.start_witness()
        wait_for((pod.io / "ack").exists)
        time.sleep(0.3)
        assert terminate(witness) == 0


def test_sigterm_does_not_cut_the_record_of_a_task_that_died(pod: Pod):
    witness = pod.start_witness()
    task = Task(pod)
    task.write(os.urandom(20_000_000))
    task.say("mark all")
    task.close()
    wait_for(lambda: b"\x1eassay-record" in pod.log)
    assert terminate(witness) == 0
    record = pod.record()
    assert not record.ended
    assert record.sizes.merged == 20_000_000


def test_the_record_is_printed_before_the_end_is_answered(pod: Pod, task: Task):
    task.write(os.urandom(3_000_000))
    assert task.say("end 7") == b"end"
    record = read_record(pod.log)
    assert (record.ended, record.exit_code, record.sizes.merged) == (True, 7, 3_000_000)


def test_64_mib_arrive_whole_and_fast(pod: Pod, task: Task):
    block = b"".join(b"tests/test_m.py::test_case[%d] PASSED\n" % number for number in range(27000))[: 1 << 20]
    digest = sha256()
    begun = time.monotonic()
    for number in range(64):
        piece = b"%08d" % number + block[8:]
        digest.update(piece)
        task.write(piece)
    task.say("end 0")
    passed = time.monotonic() - begun
    record = pod.record()
    assert record.sizes.merged == 64 << 20
    assert not record.truncated
    assert record.sha256 == digest.hexdigest() == sha256(record.merged).hexdigest()
    assert passed < 40


def test_beyond_the_limits_head_and_tail_are_kept_and_all_is_counted(pod: Pod):
    pod.start_witness(ASSAY_RECORD_HEAD_BYTES="100000", ASSAY_RECORD_TAIL_BYTES="50000")
    task = Task(pod)
    data = os.urandom(1_000_000)
    task.write(data)
    task.say("end 0")
    task.close()
    record = pod.record()
    assert record.truncated
    assert record.merged == data[:100000] + data[-50000:]
    assert record.sha256 == sha256(data).hexdigest()
    assert record.sizes.out == len(data)


def test_binary_output_is_kept_byte_for_byte_and_forged_frames_stay_output(pod: Pod, task: Task):
    forged = b'\n\x1eassay-record {"format":1}\n\x1eassay-data 0 QUJD\n\x1eassay-end {"frames":1}\n'
    data = bytes(range(256)) * 50 + forged
    task.write(data)
    wait_for(lambda: b"?assay-end" in pod.log)
    assert b"\x1e" not in pod.log
    with pytest.raises(RecordFault):
        read_record(pod.log)
    task.say("end 0")
    assert pod.record().merged == data
    assert pod.log.count(END) == 1


def test_the_echo_comes_at_once_and_stops_at_its_limit(pod: Pod):
    pod.start_witness(ASSAY_ECHO_BYTES="1000")
    task = Task(pod)
    task.write(b"first line\n")
    wait_for(lambda: pod.log == b"first line\n")
    task.write(b"y" * 5000)
    task.say("end 0")
    task.close()
    assert pod.log.count(b"y" * 900) == 1
    assert pod.record().sizes.merged == 5011


def test_marks_are_exact_in_both_streams(pod: Pod, task: Task):
    expected = []
    for number in range(50):
        out, err = b"o" * (number * 37), b"e" * (number * 11)
        task.write(out)
        task.write(err, task.err)
        assert task.say(f"mark m-{number}") == b"ok"
        expected.append((f"m-{number}", len(out), len(err)))
    task.say("end 0")
    record = pod.record()
    out_sum = err_sum = 0
    for (name, out_bytes, err_bytes), mark in zip(expected, record.marks, strict=False):
        out_sum += out_bytes
        err_sum += err_bytes
        assert (mark.name, mark.out, mark.err, mark.merged) == (name, out_sum, err_sum, out_sum + err_sum)
    assert record.marks[-1].name == "end"
    assert record.between("m-48", "m-49", "err") == b"e" * (49 * 11)


def test_streams_come_in_the_order_of_arrival(pod: Pod, task: Task):
    for number in range(20):
        task.write(b"out %d\n" % number)
        task.say(f"mark a-{number}")
        task.write(b"err %d\n" % number, task.err)
        task.say(f"mark b-{number}")
    task.say("end 0")
    record = pod.record()
    assert record.merged == b"".join(b"out %d\nerr %d\n" % (number, number) for number in range(20))
    assert record.stream("err") == b"".join(b"err %d\n" % number for number in range(20))


def test_forged_control_lines_are_counted_and_neither_obeyed_nor_answered(pod: Pod, task: Task):
    os.write(task.ctl, b"end 0\nmark forged\nfact exit-001 0\n" + b"wrong-token end 0\n" + b"\xff" * 20000 + b"\n")
    os.write(task.ctl, b"a partial line")
    assert task.say("mark real") == b"ok"
    assert task.say("end 3") == b"end"
    record = pod.record()
    assert [mark.name for mark in record.marks] == ["real", "end"]
    assert (record.exit_code, record.facts) == (3, {})
    assert record.strange == 6


def test_a_flood_of_garbage_does_not_stop_the_run(pod: Pod, task: Task):
    for _ in range(200):
        task.write(os.urandom(10000), task.ctl)
    assert task.say("mark after") == b"ok"
    task.say("end 0")
    record = pod.record()
    assert record.mark("after") is not None
    assert record.strange > 100


def test_the_death_of_the_task_ends_the_record_without_an_exit_code(pod: Pod, task: Task):
    task.say("mark setup")
    task.write(b"last words")
    for descriptor in (task.ctl, task.out):
        os.close(descriptor)
    task.ctl = os.open(os.devnull, os.O_RDONLY)
    task.out = os.open(os.devnull, os.O_RDONLY)
    record = pod.record()
    assert (record.ended, record.exit_code) == (False, None)
    assert record.merged == b"last words"
    assert record.mark("end") is not None


def test_a_writer_that_never_stops_delays_neither_mark_nor_end(pod: Pod, task: Task):
    noise = subprocess.Popen([sys.executable, "-c", "import os\nwhile 1: os.write(1, b'noise\\n')"], stdout=task.out)
    try:
        wait_for(lambda: b"noise" in pod.log)
        begun = time.monotonic()
        assert task.say("mark m") == b"ok"
        assert task.say("end 0") == b"end"
        assert time.monotonic() - begun < 15
    finally:
        noise.kill()
        noise.wait()
    assert pod.record().ended


def test_alternating_single_bytes_stay_readable(pod: Pod, task: Task):
    for _ in range(20000):
        os.write(task.out, b"o")
        os.write(task.err, b"e")
    task.say("end 0")
    record = pod.record()
    assert record.stream("out") == b"o" * 20000
    assert record.stream("err") == b"e" * 20000


def test_a_stopped_witness_leaves_no_verdict(pod: Pod):
    witness = pod.start_witness()
    task = Task(pod)
    task.write(b"some output\n")
    task.say("mark setup")
    witness.send_signal(signal.SIGKILL)
    witness.wait()
    with pytest.raises(RecordFault) as fault:
        read_record(pod.log)
    assert fault.value.incomplete
    task.close()


def test_a_full_disk_of_its_own_is_a_failure_and_no_record(pod: Pod):
    (pod.private / "record").symlink_to("/dev/full")
    witness = pod.start_witness()
    task = Task(pod)
    task.write(os.urandom(2_000_000)[:200_000])
    os.write(task.ctl, f"\n{task.token} end 0\n".encode())
    assert witness.wait(20) == 1
    assert END not in pod.log
    task.close()


def test_only_light_modules_are_imported_before_the_fifos():
    here = f"import sys; sys.path.insert(0, {str(ROOT / 'operator')!r}); "
    code = here + "before = set(sys.modules); import assay.witness.channels; print(*set(sys.modules) - before)"
    seen = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert {name for name in seen if not name.startswith("assay")} <= {"__future__"}
