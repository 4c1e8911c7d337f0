"""run.sh against the real witness: patches byte for byte, commands under deadlines, facts and marks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assay.domain.patches import quoted
from assay.witness.record import Record
from job_templates.repositories import Tree, commit, git, patch_between, read_tree, write_tree
from witness.pod import RUN_SH, Pod, Task, path_without, wait_for

SHELLS = [("dash",), ("bash", "--posix"), *([("busybox", "sh")] if shutil.which("busybox") else [])]


MACHINES = [(SHELLS[0], True), *((shell, False) for shell in SHELLS if shell[0] != "bash"), (SHELLS[1], True)]


@pytest.fixture(
    scope="session", params=MACHINES, ids=lambda machine: f"{machine[0][0]}-{'with' if machine[1] else 'without'}-bash"
)
def machine(request, tmp_path_factory) -> tuple[tuple[str, ...], str]:
    """A shell and a PATH, with and without bash in it (and then without timeout too)."""
    shell, bash = request.param
    if bash:
        return shell, os.environ["PATH"]
    return shell, path_without(tmp_path_factory.mktemp("path") / "bin", "bash", "timeout")


def perform(
    pod: Pod,
    *commands: str,
    workdir: Path | None = None,
    patches: dict[str, bytes] | None = None,
    shell: tuple[str, ...] = ("dash",),
    chunk: int = 1 << 20,
    **env: str,
) -> tuple[int, Record]:
    """Run everything to its end; returns run.sh's exit code and the record."""
    for name, patch in (patches or {}).items():
        for number in range(max(1, -(-len(patch) // chunk))):
            (pod.inputs / f"{name}.patch.{number + 1:03}").write_bytes(patch[number * chunk : (number + 1) * chunk])
    pod.start_witness()
    settings = {"ASSAY_WORKDIR": str(workdir or ""), "ASSAY_PATCHES": " ".join(patches or {}), **env}
    code = pod.start_run(commands=commands, shell=shell, env=settings).wait(60)
    return code, pod.record()


def output(record: Record, number: int = 1, stream="merged") -> bytes:
    return record.between(f"command-{number:03}-begin", f"command-{number:03}-end", stream)


# --- commands


def test_commands_run_in_order_and_each_one_runs(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    code, record = perform(
        pod,
        "echo one; echo problem >&2; exit 3",
        "echo two; exit 4",
        "printf three",
        workdir=tmp_path,
        shell=shell,
        PATH=path,
    )
    assert code == record.exit_code == 3
    assert record.ended
    assert [mark.name for mark in record.marks] == [
        "setup",
        *(f"command-00{number}-{edge}" for number in (1, 2, 3) for edge in ("begin", "end")),
        "end",
    ]
    assert output(record, 1, "out") == b"one\n"
    assert output(record, 1, "err") == b"problem\n"
    assert [output(record, number) for number in (2, 3)] == [b"two\n", b"three"]
    assert {key: value for key, value in record.facts.items() if key.startswith("exit")} == {
        "exit-001": "3",
        "exit-002": "4",
        "exit-003": "0",
    }
    assert record.facts["shell"] == ("bash" if shutil.which("bash", path=path) else "sh")
    assert record.facts["workdir"] == str(tmp_path)
    assert record.strange == 0


def test_a_failed_commands_reports_are_collected_within_it_and_its_exit_code_stays(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    (pod.inputs / "collect").mkdir()
    for number, word in ((1, "report"), (2, "needless")):
        (pod.inputs / "collect" / f"{number:03}").write_text(f"echo {word}\n")
    code, record = perform(pod, "echo tests; exit 3", "echo fine", workdir=tmp_path, shell=shell, PATH=path)
    assert code == 3
    assert [output(record, number) for number in (1, 2)] == [b"tests\nreport\n", b"fine\n"]
    assert record.facts["exit-001"] == "3"


GO_VARIABLES = "for name in GOPROXY GOSUMDB GOTOOLCHAIN GOFLAGS; do eval echo $name=\\$$name; done"
OFFLINE = b"GOPROXY=off\nGOSUMDB=off\nGOTOOLCHAIN=local\n"
IMAGE_GO = {"GOPROXY": "http://images.test", "GOSUMDB": "on", "GOTOOLCHAIN": "auto", "GOFLAGS": "-trimpath"}


def vendored(folder: Path, *names: str) -> Path:
    """A folder of a module; ``names`` of files are made."""
    for name in ("go.mod", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_a_go_check_shuts_the_go_command_off_from_every_server(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    code, record = perform(
        pod,
        GO_VARIABLES,
        "echo ${ASSAY_GO_OFFLINE-none}",
        workdir=vendored(tmp_path / "m"),
        shell=shell,
        PATH=path,
        ASSAY_GO_OFFLINE="1",
        **IMAGE_GO,
    )
    assert code == 0
    assert output(record, 1) == OFFLINE + b"GOFLAGS=-trimpath\n"
    assert output(record, 2) == b"none\n"
    assert record.facts["goOffline"] == "cache"


def test_a_go_check_uses_the_vendor_folder_beside_the_go_mod_above_the_work_tree(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    folder = vendored(tmp_path / "m", "vendor/modules.txt", "pkg/deep/a.go")
    code, record = perform(
        pod,
        GO_VARIABLES,
        workdir=folder / "pkg/deep",
        shell=shell,
        PATH=path,
        ASSAY_GO_OFFLINE="1",
        **IMAGE_GO,
    )
    assert code == 0
    assert output(record) == OFFLINE + b"GOFLAGS=-trimpath -mod=vendor\n"
    assert record.facts["goOffline"] == "vendor"


def test_a_module_inside_a_vendoring_one_does_not_vendor_by_that(pod: Pod, tmp_path: Path):
    folder = vendored(tmp_path / "m", "vendor/modules.txt")
    _, record = perform(pod, GO_VARIABLES, workdir=vendored(folder / "sub"), ASSAY_GO_OFFLINE="1", GOFLAGS="")
    assert output(record) == OFFLINE + b"GOFLAGS=\n"
    assert record.facts["goOffline"] == "cache"


def test_without_a_go_check_the_images_go_environment_stays(pod: Pod, tmp_path: Path):
    folder = vendored(tmp_path / "m", "vendor/modules.txt")
    _, record = perform(pod, GO_VARIABLES, workdir=folder, **IMAGE_GO)
    assert output(record) == b"GOPROXY=http://images.test\nGOSUMDB=on\nGOTOOLCHAIN=auto\nGOFLAGS=-trimpath\n"
    assert "goOffline" not in record.facts


def test_all_green_is_zero(pod: Pod):
    code, record = perform(pod, "true", "true")
    assert code == record.exit_code == 0


def test_a_command_sees_the_images_environment_and_nothing_of_ours(pod: Pod, machine):
    shell, path = machine
    code, record = perform(
        pod,
        "env; echo descriptors; ls -l /proc/self/fd",
        shell=shell,
        PATH=path,
        HOME="",
        head="kept",
        token="kept too",
        BASH_ENV="/nonexistent",
        ASSAY_BASE_COMMIT="0" * 40,
    )
    assert code == 0
    variables, _, descriptors = output(record).partition(b"descriptors\n")
    assert b"ASSAY" not in variables
    assert b"assay" not in variables.lower()
    assert b"POSIXLY_CORRECT" not in variables
    assert b"head=kept\n" in variables
    assert b"token=kept too\n" in variables
    assert b"BASH_ENV=/nonexistent\n" in variables
    assert b"HOME=/root\n" in variables or b"HOME=/tmp\n" in variables
    numbers = {line.split(b" -> ")[0].split()[-1] for line in descriptors.splitlines() if b"->" in line}
    assert numbers - {b"3"} == {b"0", b"1", b"2"}, "3 is what ls itself opened"
    assert b" 0 -> /dev/null" in descriptors
    assert b"/ctl" not in descriptors
    assert b"/ack" not in descriptors


def test_a_deadline_kills_the_command_with_its_children_and_the_next_one_runs(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    loop = f"sleep 1000 & echo $! > {tmp_path}/child; trap '' TERM; echo begun; while :; do sleep 0.1; done"
    begun = time.monotonic()
    code, record = perform(pod, loop, "echo after", shell=shell, PATH=path, ASSAY_TEST_SECONDS="1")
    assert time.monotonic() - begun < 20
    assert code == record.exit_code == 124
    assert record.facts["timeout-001"] == "1"
    assert (record.facts["exit-001"], record.facts["exit-002"]) == ("124", "0")
    assert "timeout-002" not in record.facts
    assert output(record, 1) == b"begun\n"
    assert output(record, 2) == b"after\n"
    child = int((tmp_path / "child").read_text())
    wait_for(
        lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split(") ")[1]
    )


def test_a_command_that_obeys_sigterm_can_say_its_last_words(pod: Pod, machine):
    shell, path = machine
    polite = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done"
    code, record = perform(pod, polite, shell=shell, PATH=path, ASSAY_TEST_SECONDS="1")
    assert code == 124
    assert output(record, 1, "out") == b"bye\n"


def test_a_background_process_that_holds_the_output_does_not_delay_the_end(pod: Pod, machine):
    shell, path = machine
    begun = time.monotonic()
    code, record = perform(pod, "(sleep 20; echo late) & echo done", shell=shell, PATH=path)
    assert time.monotonic() - begun < 10
    assert code == 0
    assert record.ended
    assert output(record) == b"done\n"


def test_output_beyond_the_pipe_arrives_whole(pod: Pod):
    code, record = perform(pod, "head -c 20000000 /dev/zero; echo done >&2")
    assert code == 0
    assert record.sizes.out == 20_000_000
    assert output(record, 1, "err") == b"done\n"


def test_a_keyboard_interrupt_reaches_the_tests_where_bash_is_there(pod: Pod):
    code, record = perform(pod, "python3 -c 'import signal; print(signal.getsignal(signal.SIGINT).__name__)'")
    assert code == 0
    assert output(record) == b"default_int_handler\n"
    assert "interruptIgnored" not in record.facts


def test_without_bash_the_record_says_that_interrupts_are_ignored(pod: Pod, tmp_path: Path):
    _, record = perform(pod, "true", PATH=path_without(tmp_path / "bin", "bash"))
    assert record.facts["interruptIgnored"] == "1"


def test_the_exit_code_of_a_command_killed_by_a_signal_is_kept(pod: Pod, machine):
    shell, path = machine
    code, record = perform(pod, "kill -KILL $$", shell=shell, PATH=path)
    assert code == record.exit_code == 137
    assert "timeout-001" not in record.facts


def test_a_command_that_closes_its_output_or_dies_badly_still_ends(pod: Pod):
    code, record = perform(pod, "exec >&- 2>&-; exit 5", "kill -SEGV $$")
    assert code == 5
    assert record.facts["exit-002"] == "139"


def test_sigterm_to_run_sh_ends_it_with_143_and_kills_the_command(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    pod.start_witness()
    command = f"echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
    run = pod.start_run(commands=[command], shell=shell, env={"PATH": path})
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    run.send_signal(signal.SIGTERM)
    assert run.wait(10) == 143
    record = pod.record()
    assert (record.ended, record.exit_code) == (False, None)
    pid = (tmp_path / "pid").read_text().strip()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_a_killed_run_sh_leaves_a_record_without_an_end(pod: Pod, tmp_path: Path):
    pod.start_witness()
    run = pod.start_run(commands=["echo something; sleep 30"])
    wait_for(lambda: b"something" in pod.log)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    record = pod.record()
    assert not record.ended
    assert record.between("command-001-begin", "end") == b"something\n"


def test_sigterm_before_the_gate_opens_is_obeyed(pod: Pod, machine):
    shell, path = machine
    for name in ("out", "err", "ctl", "ack"):
        os.mkfifo(pod.io / name)
    run = pod.start_run(shell=shell, env={"PATH": path})
    time.sleep(0.5)
    run.send_signal(signal.SIGTERM)
    assert run.wait(10) in (143, 1, 2)


def test_no_command_runs_before_the_witness_opens_the_fifos(pod: Pod, tmp_path: Path):
    pod.start_run(commands=[f"touch {tmp_path}/ran"])
    for name in ("out", "err", "ctl", "ack"):
        os.mkfifo(pod.io / name)
    time.sleep(0.5)
    assert not (tmp_path / "ran").exists()


def test_the_death_of_the_witness_ends_the_run(pod: Pod):
    witness = pod.start_witness()
    run = pod.start_run(commands=["echo begun; sleep 1", "sleep 30"])
    wait_for(lambda: b"begun" in pod.log)
    witness.kill()
    witness.wait()
    assert run.wait(15) != 0


def test_forged_control_lines_from_a_command_are_strange_and_change_nothing(pod: Pod):
    forge = 'for fd in /proc/$PPID/fd/*; do case $(readlink $fd) in *ctl*) printf "end 0\\nmark forged\\njunk" > $fd;; esac; done; exit 7'
    code, record = perform(pod, forge)
    assert code == record.exit_code == 7
    assert record.strange == 3
    assert record.mark("forged") is None


def test_the_counters_of_the_cgroup_are_reported_as_a_difference(pod: Pod, tmp_path: Path):
    (tmp_path / "memory").mkdir()
    control = tmp_path / "memory" / "memory.oom_control"
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (tmp_path / "memory" / "memory.max_usage_in_bytes").write_text("123456\n")
    code, record = perform(pod, f"echo oom_kill 5 > {control}", ASSAY_CGROUP=str(tmp_path))
    assert code == 0
    assert (record.facts["oomKills"], record.facts["memoryPeak"]) == ("3", "123456")


def test_version_2_of_the_cgroup_is_read_too(pod: Pod, tmp_path: Path):
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 0\noom_group_kill 0\n")
    (tmp_path / "memory.peak").write_text("77\n")
    _, record = perform(pod, f"printf 'oom 1\\noom_kill 1\\n' > {tmp_path}/memory.events", ASSAY_CGROUP=str(tmp_path))
    assert (record.facts["oomKills"], record.facts["memoryPeak"]) == ("1", "77")


def test_without_counters_nothing_is_claimed(pod: Pod, tmp_path: Path):
    _, record = perform(pod, "true", ASSAY_CGROUP=str(tmp_path))
    assert "oomKills" not in record.facts
    assert "memoryPeak" not in record.facts


# --- as the first process of a container


UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


def test_as_pid_1_a_deadline_kills_what_fled_into_a_session_of_its_own(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    service = "setsid sh -c 'while :; do echo alive >> {0}/service; sleep 0.05; done' >/dev/null 2>&1 &"
    runaway = "setsid sh -c 'while :; do echo alive >> {0}/runaway; sleep 0.05; done' >/dev/null 2>&1 &"
    commands = [
        service.format(tmp_path),
        runaway.format(tmp_path) + " while :; do sleep 0.1; done",
        "; sleep 0.5; ".join([f"wc -c < {tmp_path}/runaway; wc -c < {tmp_path}/service"] * 2),
    ]
    code, record = perform(pod, *commands, shell=(*UNSHARE, *shell), PATH=path, ASSAY_TEST_SECONDS="2")
    assert code == 124
    runaway_before, service_before, runaway_after, service_after = map(int, output(record, 3).split())
    assert runaway_before == runaway_after > 0
    assert service_before < service_after


def test_as_pid_1_sigterm_ends_the_container(pod: Pod, machine):
    shell, path = machine
    pod.start_witness()
    run = pod.start_run(commands=["echo $PPID begun; sleep 100"], shell=(*UNSHARE, *shell), env={"PATH": path})
    wait_for(lambda: b"1 begun" in pod.log)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    assert run.wait(10) == 143
    assert not pod.record().ended


# --- patches


CRLF = b"one\r\ntwo\r\nthree\r\n"
PATCHES: dict[str, tuple[Tree, Tree]] = {
    "text": ({"m.py": b"a\nb\nc\n"}, {"m.py": b"a\nB\nc\n"}),
    "new file": ({"m.py": b"a\n"}, {"m.py": b"a\n", "tests/deep/test_m.py": b"b\n"}),
    "deleted file": ({"m.py": b"a\n", "n.py": b"b\n"}, {"m.py": b"a\n"}),
    "crlf": ({"m.py": CRLF}, {"m.py": CRLF.replace(b"two", b"2")}),
    "crlf, text=auto": (
        {".gitattributes": b"* text=auto\n", "m.py": CRLF},
        {".gitattributes": b"* text=auto\n", "m.py": CRLF.replace(b"two", b"2")},
    ),
    "crlf, eol=lf": (
        {".gitattributes": b"* text eol=lf\n", "m.py": CRLF},
        {".gitattributes": b"* text eol=lf\n", "m.py": CRLF.replace(b"two", b"2")},
    ),
    "crlf, eol=crlf": (
        {".gitattributes": b"*.bat text eol=crlf\n", "m.bat": CRLF},
        {".gitattributes": b"*.bat text eol=crlf\n", "m.bat": CRLF.replace(b"two", b"2")},
    ),
    "new crlf file, text=auto": (
        {".gitattributes": b"* text=auto\n"},
        {".gitattributes": b"* text=auto\n", "m.py": CRLF},
    ),
    "crlf becomes lf, text=auto": (
        {".gitattributes": b"* text=auto\n", "m.py": CRLF},
        {".gitattributes": b"* text=auto\n", "m.py": CRLF.replace(b"\r", b"")},
    ),
    "mixed line ends, text=auto, hunk without cr": (
        {".gitattributes": b"* text=auto\n", "m.py": CRLF + b"x\n" * 9 + b"y\n"},
        {".gitattributes": b"* text=auto\n", "m.py": CRLF + b"x\n" * 9 + b"z\n"},
    ),
    "bare cr and diff text": (
        {"m.diff": b"a\rb\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"},
        {"m.diff": b"a\rc\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\r\n+z\n"},
    ),
    "no newline at the end": ({"m": b"a\nb"}, {"m": b"a\nc"}),
    "newline at the end added": ({"m": b"a\nb"}, {"m": b"a\nb\n"}),
    "newline at the end removed": ({"m": b"a\nb\n"}, {"m": b"a\nb"}),
    "empty file": ({"m": b"a\n"}, {"m": b"a\n", "empty/__init__.py": b""}),
    "emptied and deleted empty": ({"m": b"a\n", "e": b""}, {"m": b""}),
    "binary": ({"logo.png": bytes(range(256)) * 9}, {"logo.png": bytes(reversed(range(256))) * 9, "new.bin": b"\0\1"}),
    "not utf-8": ({"m": b"caf\xe9\nx\n"}, {"m": b"caf\xe8\nx\n"}),
    "pure rename": ({"s/run.sh": b"#!/bin/sh\necho\n"}, {"s/go.sh": b"#!/bin/sh\necho\n"}),
    "rename with mode": ({"s/run.sh": b"#!/bin/sh\n"}, {"s/go.sh": (b"#!/bin/sh\n", 0o755)}),
    "rename with change": ({"a": b"1\n2\n3\n4\n5\n6\n7\n8\n"}, {"b/c": b"1\n2\n3\n4\nfive\n6\n7\n8\n"}),
    "mode": ({"m": (b"x\n", 0o755), "n": b"x\n"}, {"m": b"x\n", "n": (b"x\n", 0o755)}),
    "symbolic link": ({"m": b"x\n"}, {"m": b"x\n", "link": (b"m", 0)}),
    "file becomes link": ({"m": b"x\n", "n": b"m\n"}, {"m": b"x\n", "n": (b"m", 0)}),
    "odd names": ({'a b/ü "q".txt': b"1\n"}, {'a b/ü "q".txt': b"2\n", "tab\tname": b"3\n", "-dash": b"4\n"}),
    "trailing blanks": ({"m": b"a \nb\t\n\n"}, {"m": b"a  \nb\t\n \n\n\n"}),
    "form feed": ({"m": b"a\n\x0c\nb\n"}, {"m": b"a\n\x0c\nc\n"}),
}


def normalised(tree: Tree) -> dict[str, tuple[bytes, int]]:
    return {name: entry if isinstance(entry, tuple) else (entry, 0o644) for name, entry in tree.items()}


@pytest.mark.parametrize("kind", PATCHES)
def test_a_patch_gives_the_other_state_byte_for_byte(pod: Pod, tmp_path: Path, kind: str):
    before, after = PATCHES[kind]
    repository = tmp_path / "repo"
    patch = patch_between(repository, before, after)
    code, record = perform(pod, "true", workdir=repository, patches={"test": patch})
    assert record.facts.get("dirty") == "0"
    assert (code, record.facts["patch-test"]) == (0, "applied"), record.merged
    assert read_tree(repository) == normalised(after)


def test_lines_that_a_checkout_turned_into_crlf_are_patched_too(pod: Pod, tmp_path: Path):
    attributes = b"*.bat text eol=crlf\n"
    before: Tree = {".gitattributes": attributes, "m.bat": b"one\ntwo\n"}
    repository = tmp_path / "repo"
    patch = patch_between(repository, before, {".gitattributes": attributes, "m.bat": b"one\n2\n"})
    write_tree(repository, {".gitattributes": attributes, "m.bat": b"one\r\ntwo\r\n"})
    _, record = perform(pod, "true", workdir=repository, patches={"test": patch})
    assert (record.facts["dirty"], record.facts["patch-test"]) == ("0", "applied")
    assert (repository / "m.bat").read_bytes() == b"one\r\n2\r\n"


def test_two_patches_apply_one_after_the_other_also_to_one_file(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    repository = tmp_path / "repo"
    base, middle, last = ({"m": b"1\n2\n3\n"}, {"m": b"1\ntwo\n3\n", "t": b"t\n"}, {"m": b"1\nzwei\n3\n", "t": b"t\n"})
    second = patch_between(repository, middle, last)
    first = patch_between(repository, base, middle)
    code, record = perform(
        pod, "cat m t", workdir=repository, patches={"test": first, "reference": second}, shell=shell, PATH=path
    )
    assert code == 0
    assert (record.facts["patch-test"], record.facts["patch-reference"]) == ("applied", "applied")
    assert output(record) == b"1\nzwei\n3\nt\n"


def test_the_repositorys_own_index_and_objects_stay_as_they_were(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n"}, {"m": b"2\n", "n": b"3\n"})
    before = {path: path.read_bytes() for path in (repository / ".git").rglob("*") if path.is_file()}
    code, record = perform(
        pod, "git --no-optional-locks status --porcelain", workdir=repository, patches={"test": patch}
    )
    assert code == 0
    assert output(record) == b" M m\n?? n\n"
    assert {path: path.read_bytes() for path in (repository / ".git").rglob("*") if path.is_file()} == before


OUTSIDE = {
    "another file": ({"a": b"2\n", "tests/test_a.py": b"weak\n"}, ["a"]),
    "a new file": ({"a": b"2\n", "conftest.py": b"hook\n"}, ["a"]),
    "a file moved away": ({"b": b"1\n"}, ["b"]),
}
GRADED_TREE = {"a": b"1\n", "tests/test_a.py": b"strong\n"}


@pytest.mark.parametrize(("after", "allowed"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_submission_that_changes_a_path_it_was_not_let_through_with_is_refused(
    pod: Pod, tmp_path: Path, after: Tree, allowed: list[str]
):
    repo = tmp_path / "repo"
    diff = patch_between(repo, GRADED_TREE, {**({} if "b" in after else GRADED_TREE), **after})
    (pod.inputs / "submission.paths.001").write_text("\n".join(allowed) + "\n")
    code, record = perform(pod, "true", workdir=repo, patches={"submission": diff})
    assert code == 97
    assert record.facts["patch-submission"] == "failed"
    assert b"does not name" in record.between("setup", None, "merged")


def test_a_submission_is_applied_before_the_test_patch_and_every_command_runs(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    repo = tmp_path / "repo"
    names = {"a": b"2\n", 'na\u00efve "q".py': b"x\n", "tab\there": b"y\n", "new/file": b"z\n"}
    diff = patch_between(repo, GRADED_TREE, GRADED_TREE | names)
    test = patch_between(repo, GRADED_TREE, GRADED_TREE | {"tests/test_a.py": b"stronger\n", "tests/test_b.py": b"b\n"})
    (pod.inputs / "submission.paths.001").write_bytes(b"".join(quoted(name.encode()) + b"\n" for name in names))
    code, record = perform(
        pod,
        "cat a tests/test_a.py; exit 3",
        "cat new/file tests/test_b.py",
        workdir=repo,
        patches={"submission": diff, "test": test},
        shell=shell,
        PATH=path,
    )
    assert code == 3
    assert (output(record, 1), output(record, 2)) == (b"2\nstronger\n", b"z\nb\n")


def test_a_patch_in_many_pieces_is_one_patch(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(
        repository, {"m": b""}, {"m": b"".join(b"%d\n" % n for n in range(3000)), "b": os.urandom(9999)}
    )
    code, record = perform(pod, "true", workdir=repository, patches={"test": patch}, chunk=701)
    assert len(list(pod.inputs.glob("test.patch.*"))) > 30
    assert (code, record.facts["patch-test"]) == (0, "applied")


def test_a_patch_without_its_final_newline_gets_it_and_the_record_says_so(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n2\n3\n"}, {"m": b"1\ntwo\n3\n"})
    code, record = perform(pod, "cat m", workdir=repository, patches={"test": patch[:-1]})
    assert (code, output(record)) == (0, b"1\ntwo\n3\n")
    assert record.facts["patch-test-newline"] == "added"


def test_an_empty_patch_is_applied(pod: Pod, tmp_path: Path):
    commit(tmp_path / "repo", {"m": b"1\n"})
    code, record = perform(pod, "true", workdir=tmp_path / "repo", patches={"test": b""})
    assert (code, record.facts["patch-test"]) == (0, "applied")


def test_a_patch_applies_from_the_top_when_the_commands_run_below(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n", "sub/n": b"1\n"}, {"m": b"2\n", "sub/n": b"2\n"})
    code, record = perform(pod, "pwd; cat n ../m", workdir=repository / "sub", patches={"test": patch})
    assert code == 0
    assert output(record) == f"{repository}/sub\n2\n2\n".encode()


@pytest.mark.parametrize("name", ["test", "reference"])
def test_a_patch_that_does_not_apply_stops_the_run_with_gits_reason(pod: Pod, machine, tmp_path: Path, name: str):
    shell, path = machine
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n2\n"}, {"m": b"1\n3\n"})
    commit(repository, {"m": b"something else\n"})
    code, record = perform(pod, "echo ran", workdir=repository, patches={name: patch}, shell=shell, PATH=path)
    assert code == record.exit_code == 97
    assert record.facts[f"patch-{name}"] == "failed"
    assert b"patch does not apply" in record.between("setup", "end")
    assert record.mark("command-001-begin") is None
    assert read_tree(repository) == {"m": (b"something else\n", 0o644)}


def test_carriage_returns_that_a_patch_lost_are_not_made_up(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": CRLF}, {"m": CRLF.replace(b"two", b"2")})
    code, record = perform(pod, "true", workdir=repository, patches={"test": patch.replace(b"\r", b"")})
    assert (code, record.facts["patch-test"]) == (97, "failed")


def test_a_patch_is_never_reversed_or_applied_by_halves(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"a": b"1\n", "m": b"1\n"}, {"a": b"2\n", "m": b"2\n"})
    commit(repository, {"a": b"1\n", "m": b"2\n"})
    code, record = perform(pod, "true", workdir=repository, patches={"test": patch})
    assert (code, record.facts["patch-test"]) == (97, "failed")
    assert read_tree(repository) == normalised({"a": b"1\n", "m": b"2\n"})


def test_a_binary_hunk_without_content_does_not_apply(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch_between(repository, {"m": b"1\n", "l": b"\0a"}, {"m": b"2\n", "l": b"\0b"})
    bare = b"diff --git a/l b/l\nindex 1111111..2222222 100644\nBinary files a/l and b/l differ\n"
    code, record = perform(pod, "true", workdir=repository, patches={"test": bare})
    assert (code, record.facts["patch-test"]) == (97, "failed")
    assert b"binary" in record.merged


@pytest.mark.parametrize("path", ["../outside", "/tmp/assay-outside", ".git/hooks/pre-commit"])
def test_a_patch_cannot_leave_the_tree(pod: Pod, tmp_path: Path, path: str):
    commit(tmp_path / "repo", {"m": b"1\n"})
    patch = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    code, record = perform(pod, "true", workdir=tmp_path / "repo", patches={"test": patch.encode()})
    assert (code, record.facts["patch-test"]) == (97, "failed")
    assert not (tmp_path / "outside").exists()


def test_a_file_that_git_does_not_know_can_be_patched_as_git_apply_would(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n", "u": b"1\n"}, {"m": b"1\n", "u": b"2\n"})
    commit(repository, {"m": b"1\n"})
    (repository / "u").write_bytes(b"1\n")
    code, record = perform(pod, "cat u", workdir=repository, patches={"test": patch})
    assert (code, output(record)) == (0, b"2\n")


# --- the tree before the patches


def test_a_dirty_tree_stops_the_run_and_is_named(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    repository = tmp_path / "repo"
    tree = {f"f{number:02}": b"1\n" for number in range(12)} | {"gone": b"1\n", "exe": b"1\n", "ü x": b"1\n"}
    commit(repository, tree)
    for name in tree:
        (repository / name).write_bytes(b"2\n")
    (repository / "gone").unlink()
    (repository / "untracked").write_bytes(b"fine\n")
    code, record = perform(pod, "echo ran", workdir=repository, shell=shell, PATH=path)
    assert code == record.exit_code == 96
    assert record.facts["dirty"] == "15"
    assert record.facts["dirtyPath-1"] == '"\\303\\274 x"' or "exe" in record.facts.values()
    assert sum(key.startswith("dirtyPath-") for key in record.facts) == 10
    assert record.mark("command-001-begin") is None


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        ("echo 2 > m", "m"),
        ("rm m", "m"),
        ("chmod +x m", "m"),
        ("echo 3 > new; git add new", "new"),
        ("echo 2 > m; git add m", "m"),
        ("rm m; ln -s other m", "m"),
    ],
)
def test_each_kind_of_change_is_dirt(pod: Pod, tmp_path: Path, damage: str, path: str):
    repository = tmp_path / "repo"
    commit(repository, {"m": b"1\n"})
    subprocess.run(["sh", "-c", damage], cwd=repository, check=True)
    code, record = perform(pod, "true", workdir=repository)
    assert (code, record.facts["dirty"], record.facts["dirtyPath-1"]) == (96, "1", path)


@pytest.mark.parametrize("change", ["touch -d 2001-01-01 m", "echo x > untracked", "mkdir empty", "cp m n; mv n m"])
def test_what_changes_no_tracked_byte_is_clean(pod: Pod, tmp_path: Path, change: str):
    repository = tmp_path / "repo"
    commit(repository, {"m": b"1\n"})
    subprocess.run(["sh", "-c", change], cwd=repository, check=True)
    code, record = perform(pod, "true", workdir=repository)
    assert (code, record.facts["dirty"]) == (0, "0")


def test_large_files_in_git_lfs_are_not_dirt(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    attributes = b"*.bin filter=lfs -text\n"
    commit(repository, {".gitattributes": attributes, "a.bin": b"version https://git-lfs\n"})
    (repository / "a.bin").write_bytes(b"the real thing")
    code, record = perform(pod, "true", workdir=repository)
    assert (code, record.facts["dirty"]) == (0, "0")


def test_head_and_the_place_of_the_base_commit_are_facts(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    base = commit(repository, {"m": b"1\n"})
    head = commit(repository, {"m": b"1\n", "setup": b"1\n"})
    _, record = perform(pod, "true", workdir=repository, ASSAY_BASE_COMMIT=base)
    assert (record.facts["head"], record.facts["base"]) == (head, "ancestor")


@pytest.mark.parametrize(("which", "place"), [("HEAD", "head"), ("0" * 40, "absent"), ("side", "other")])
def test_a_base_commit_elsewhere_is_told_apart(pod: Pod, tmp_path: Path, which: str, place: str):
    repository = tmp_path / "repo"
    commit(repository, {"m": b"1\n"})
    git(repository, "branch", "side")
    git(repository, "commit", "-q", "--amend", "-m", "other")
    base = which if which == "0" * 40 else git(repository, "rev-parse", which).decode().strip()
    _, record = perform(pod, "true", workdir=repository, ASSAY_BASE_COMMIT=base)
    assert record.facts["base"] == place


def test_hooks_filters_and_configuration_of_the_machine_play_no_part(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1  \r\n"}, {"m": b"2  \r\n"})
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[core]\nautocrlf = input\n[apply]\nwhitespace = error-all\n[color]\nui = always\n"
    )
    git(repository, "config", "core.fsmonitor", "false-program")
    git(repository, "config", "core.autocrlf", "true")
    git(repository, "config", "apply.whitespace", "fix")
    code, record = perform(
        pod, "true", workdir=repository, patches={"test": patch}, HOME=str(home), GIT_DIR="/nonexistent", GIT_TRACE="1"
    )
    assert (code, record.facts["patch-test"]) == (0, "applied")
    assert (repository / "m").read_bytes() == b"2  \r\n"


@pytest.mark.parametrize("uid", [1000, 0])
def test_the_owner_of_the_repository_does_not_matter(pod: Pod, tmp_path: Path, uid: int):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n"}, {"m": b"2\n"})
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 1000 - uid, -1)
    repository.chmod(0o777)
    (repository / "m").chmod(0o666)
    for folder in (*tmp_path.parents, tmp_path):
        if folder.stat().st_uid == os.getuid() and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    shell = ("setpriv", f"--reuid={uid}", "--clear-groups", "dash")
    code, record = perform(pod, "cat m", workdir=repository, patches={"test": patch}, shell=shell)
    assert (code, record.facts.get("patch-test")) == (0, "applied"), record.facts
    assert output(record) == b"2\n"


def test_a_repository_that_cannot_be_written_is_a_matter_of_the_place(pod: Pod, tmp_path: Path):
    repository = tmp_path / "repo"
    patch = patch_between(repository, {"m": b"1\n"}, {"m": b"2\n"})
    for folder in (*tmp_path.parents, tmp_path):
        if folder.stat().st_uid == os.getuid() and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    shell = ("setpriv", "--reuid=1000", "--clear-groups", "dash")
    code, record = perform(pod, "echo ran", workdir=repository, patches={"test": patch}, shell=shell)
    assert (code, record.facts["setupFailed"]) == (95, "WorktreeReadOnly")


def test_a_full_disk_is_a_matter_of_the_place(pod: Pod, tmp_path: Path):
    source, repository = tmp_path / "source", tmp_path / "repo"
    repository.mkdir()
    patch = patch_between(source, {"m": b"1\n"}, {"m": b"2\n", "large": os.urandom(2_000_000)})
    mount = f"mount -t tmpfs -o size=900k none {repository} && cp -r {source}/m {repository} && "
    make = (
        f"cd {repository} && git init -q && git add m && git -c user.name=a -c user.email=a@b commit -qm x && cd / && "
    )
    shell = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount + make + 'exec dash "$0"')
    code, record = perform(pod, "echo ran", workdir=repository, patches={"test": patch}, shell=shell)
    assert (code, record.facts.get("setupFailed")) == (95, "StorageFull"), record.merged
    assert "patch-test" not in record.facts


def test_without_patches_neither_git_nor_a_repository_is_needed(pod: Pod, tmp_path: Path):
    code, record = perform(pod, "echo ran", workdir=tmp_path, PATH=path_without(tmp_path / "bin", "git"))
    assert (code, output(record)) == (0, b"ran\n")
    assert "dirty" not in record.facts


def test_with_patches_a_missing_git_is_named(pod: Pod, machine, tmp_path: Path):
    shell, _ = machine
    path = path_without(tmp_path / "bin", "git")
    code, record = perform(pod, "echo ran", workdir=tmp_path, patches={"test": b"x"}, shell=shell, PATH=path)
    assert (code, record.facts["setupFailed"]) == (95, "GitMissing")
    assert record.mark("command-001-begin") is None


def test_a_missing_workdir_is_named(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    code, record = perform(pod, "echo ran", workdir=tmp_path / "nowhere", shell=shell, PATH=path)
    assert (code, record.facts["setupFailed"]) == (95, "WorkdirMissing")


def test_no_repository_and_no_commit_are_named(pod: Pod, tmp_path: Path):
    code, record = perform(pod, "echo ran", workdir=tmp_path, patches={"test": b"x"})
    assert (code, record.facts["setupFailed"]) == (95, "NotARepository")


def test_a_repository_without_a_commit_is_named(pod: Pod, tmp_path: Path):
    git(tmp_path, "init", "-q")
    code, record = perform(pod, "echo ran", workdir=tmp_path, patches={"test": b"x"})
    assert (code, record.facts["setupFailed"]) == (95, "NoCommit")


def test_a_patch_that_was_not_mounted_is_named(pod: Pod, tmp_path: Path):
    commit(tmp_path / "repo", {"m": b"1\n"})
    code, record = perform(pod, "true", workdir=tmp_path / "repo", ASSAY_PATCHES="reference")
    assert (code, record.facts["setupFailed"]) == (95, "PatchMissing")


def test_set_up_has_a_deadline_of_its_own(pod: Pod, machine, tmp_path: Path):
    shell, path = machine
    programs = Path(
        path_without(tmp_path / "bin", "git", *([] if shutil.which("bash", path=path) else ["bash", "timeout"]))
    )
    (programs / "git").write_text("#!/bin/sh\nsleep 100\n")
    (programs / "git").chmod(0o755)
    begun = time.monotonic()
    code, record = perform(
        pod, "true", workdir=tmp_path, patches={"test": b"x"}, shell=shell, PATH=str(programs), ASSAY_SETUP_SECONDS="1"
    )
    assert time.monotonic() - begun < 15
    assert (code, record.facts["setupFailed"]) == (95, "SetupTimeout")


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_every_shell_can_read_it(shell: tuple[str, ...]):
    subprocess.run([*shell, "-n", str(RUN_SH)], check=True)


def test_a_hand_made_task_needs_no_run_sh(pod: Pod):
    pod.start_witness()
    task = Task(pod)
    assert task.say("mark setup") == b"ok"
    assert task.say("end 0") == b"end"
    task.close()
    assert pod.record().ended
