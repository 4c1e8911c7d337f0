"""A real S3 server (versitygw) on a directory, that can be stopped, made silent, read-only, and short of room."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from conftest import cache_dir

SOURCE = Path(__file__).parent / "versitygw"
BUCKET = "evidence"
ACCESS, SECRET = "lantern", "acorn-secret"  # of a server that lives for one test
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}


def built_server() -> Path:
    """Return the server's program, built once for its pinned modules."""
    mark = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in ("go.mod", "go.sum"))).hexdigest()[:16]
    program = cache_dir() / "bin" / f"versitygw-{mark}"
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / f"versitygw-{mark}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            fresh = program.with_suffix(f".{os.getpid()}")
            flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w")
            command = ("go", "build", *flags, "-o", str(fresh), "github.com/versity/versitygw/cmd/versitygw")
            subprocess.run(command, cwd=SOURCE, check=True)
            fresh.rename(program)
    return program


class S3Server:
    """One server; ``uri`` is the store in its bucket."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program, self.folder = program, folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        (folder / "root" / BUCKET).mkdir(parents=True)
        (folder / "attributes").mkdir()

    @property
    def uri(self) -> str:
        """The store."""
        return f"s3://{BUCKET}/store?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1"

    def start(self, *, readonly: bool = False) -> None:
        """Start, and wait until the port answers."""
        options = ("--access", ACCESS, "--secret", SECRET, "--port", f"127.0.0.1:{self.port}", "--quiet")
        backend = ("posix", "--sidecar", str(self.folder / "attributes"), str(self.folder / "root"))
        command = (str(self._program), *options, *(("--readonly",) if readonly else ()), *backend)
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while not self._answers():
            said = (self.folder / "server.log").read_text()
            assert self._process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """End it; its files stay."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it take connections and answer nothing."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def names(self) -> list[str]:
        """The objects in the bucket, by the files that hold them; uploads that never ended are none."""
        root = self.folder / "root" / BUCKET
        found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return sorted(str(path) for path in found if not path.parts[0].startswith("."))


class Disk:
    """A small file system in memory, to fill."""

    def __init__(self, folder: Path, *, size: str) -> None:
        self.folder = folder
        folder.mkdir()
        subprocess.run(("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)), check=True)

    def fill(self) -> None:
        """Leave no room."""
        ballast = os.open(self.folder / "ballast", os.O_CREAT | os.O_WRONLY)
        with contextlib.suppress(OSError):
            while os.write(ballast, bytes(4096)):
                pass
        os.close(ballast)

    def clear(self) -> None:
        """Make room."""
        (self.folder / "ballast").unlink()

    def close(self) -> None:
        """Unmount."""
        subprocess.run(("umount", "--lazy", str(self.folder)), check=True)
        shutil.rmtree(self.folder)
