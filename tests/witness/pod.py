"""A run's pod as two real processes over a temporary folder: the witness, and a task that run.sh or a test plays."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.witness.record import Record, read_record

ROOT = Path(__file__).resolve().parents[2]
RUN_SH = ROOT / "job_templates" / "run.sh"
# As `python3 -I -m assay.witness` in Assay's image, where the package is installed; here it is this checkout's.
AS_MODULE = f"import sys, runpy; sys.path.insert(0, {str(ROOT / 'operator')!r}); runpy.run_module('assay.witness', run_name='__main__')"
END = b"\n\x1eassay-end "


def closed_port() -> int:
    """A port of the loopback that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


class Pod:
    """The folders of one pod and the processes in it; ``close`` ends them all."""

    def __init__(self, folder: Path) -> None:
        self.io, self.private, self.inputs = folder / "io", folder / "record", folder / "in"
        for path in (self.io, self.private, self.inputs / "commands"):
            path.mkdir(parents=True)
        self.io.chmod(0o777)
        self.cwd = folder / "cwd"
        self.cwd.mkdir()
        self.log_path = folder / "log"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.targets = f"127.0.0.1:{closed_port()}"

    def start_witness(self, **settings: str) -> subprocess.Popen[bytes]:
        environment = {
            "PATH": os.environ["PATH"],
            "ASSAY_IO": str(self.io),
            "ASSAY_RECORD": str(self.private),
            "ASSAY_ISOLATION_TARGETS": self.targets,
            **settings,
        }
        with self.log_path.open("ab") as log:
            return self._start([sys.executable, "-I", "-c", AS_MODULE], environment, stdout=log)

    def start_run(
        self, *, commands: Sequence[str] = (), shell: Sequence[str] = ("dash",), env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        for number, command in enumerate(commands, 1):
            (self.inputs / "commands" / f"{number:03}").write_text(command)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "ASSAY_IO": str(self.io),
            "ASSAY_IN": str(self.inputs),
            **(env or {}),
        }
        return self._start([*shell, str(RUN_SH)], environment, stdout=subprocess.DEVNULL, start_new_session=True)

    def _start(self, command: Sequence[str], environment: Mapping[str, str], **options) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, env=dict(environment), cwd=self.cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
        )
        self.processes.append(process)
        return process

    @property
    def log(self) -> bytes:
        return self.log_path.read_bytes()

    def record(self, seconds: float = 30.0) -> Record:
        """The record, once it is printed."""
        wait_for(lambda: END in self.log, seconds)
        wait_for(lambda: self.log.endswith(b"\n"))
        return read_record(self.log)

    def close(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
            _kill_session(process.pid)


def _kill_session(session: int) -> None:
    """End whatever a killed run.sh left behind, as the end of a container would."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((process / "stat").read_text().rpartition(") ")[2].split()[3]) == session:
                os.kill(int(process.name), signal.SIGKILL)


@contextlib.contextmanager
def pod_in(folder: Path) -> Iterator[Pod]:
    pod = Pod(folder)
    try:
        yield pod
    finally:
        pod.close()


class Task:
    """A task that speaks the control protocol from within the test."""

    def __init__(self, pod: Pod) -> None:
        wait_for((pod.io / "ack").is_fifo)
        self.ctl = os.open(pod.io / "ctl", os.O_WRONLY)
        self.ack = os.open(pod.io / "ack", os.O_RDONLY)
        self.out = os.open(pod.io / "out", os.O_WRONLY)
        self.err = os.open(pod.io / "err", os.O_WRONLY)
        self._rest = b""
        os.write(self.ctl, b"hello\n")
        self.token = self.answer().decode()

    def answer(self) -> bytes:
        while b"\n" not in self._rest:
            self._rest += os.read(self.ack, 4096)
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def say(self, words: str) -> bytes:
        os.write(self.ctl, f"\n{self.token} {words}\n".encode())
        return self.answer()

    def write(self, data: bytes, descriptor: int | None = None) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.out if descriptor is None else descriptor, view) :]

    def close(self) -> None:
        for descriptor in (self.ctl, self.ack, self.out, self.err):
            os.close(descriptor)


def terminate(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(10)


def path_without(folder: Path, *names: str) -> str:
    """A PATH with the system's programs but those."""
    folder.mkdir()
    for directory in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in os.scandir(directory):
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program.path)
    return str(folder)
