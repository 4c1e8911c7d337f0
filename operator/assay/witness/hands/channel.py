"""The shared folder between the hands and serve.sh.

The task container may do what it likes there, so nothing is opened through a link, nothing but a FIFO is read, and
whatever fails is an ``OSError`` that costs the call and nothing else.
"""

from __future__ import annotations

import fcntl
import os
import stat
from struct import unpack
from termios import FIONREAD

from assay.witness.control import LineBuffer

PIPE_BYTES = 262144
F_SETPIPE_SZ = 1031
_BASE = os.O_CLOEXEC | os.O_NOFOLLOW


class Channel:
    """The FIFOs ``req`` and ``ans``, and the files of calls."""

    def __init__(self, folder: str) -> None:
        """Make the FIFOs, ``ans`` last because serve.sh waits for it; or take up those of a previous life."""
        self.folder = folder
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in ("req", "ans"):
            self.make_fifo(name)
        self._requests = self._open_fifo("req", os.O_RDWR)
        self.answers = self._open_fifo("ans", os.O_RDONLY)
        self._lines = LineBuffer()

    def say(self, text: str) -> None:
        """Send one line; a line that does not fit is lost, as all are when nobody reads any more."""
        try:
            os.write(self._requests, text.encode() + b"\n")
        except BlockingIOError:
            return

    def hear(self) -> list[str] | None:
        """Return the lines that have come; None when serve.sh is gone."""
        try:
            data = os.read(self.answers, 65536)
        except BlockingIOError:
            return []
        return [line.decode("utf-8", "replace") for line in self._lines.feed(data)] if data else None

    def make_fifo(self, name: str) -> None:
        """Make a FIFO for every user, unless it is there."""
        previous = os.umask(0)
        try:
            os.mkfifo(name, 0o666, dir_fd=self._folder)
        except FileExistsError:
            return
        finally:
            os.umask(previous)

    def open_output(self, number: int) -> int:
        """Return a descriptor that reads a call's output."""
        descriptor = self._open_fifo(f"{number}.out", os.O_RDONLY)
        try:
            fcntl.fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            return descriptor
        return descriptor

    def outputs(self) -> list[int]:
        """Return the numbers of the calls whose output FIFO is still there."""
        names = os.listdir(self._folder)
        return [int(name[:-4]) for name in names if name.endswith(".out") and name[:-4].isdecimal()]

    def put(self, name: str, content: bytes) -> None:
        """Write a file as a whole."""
        self.drop(f"{name}.new")
        descriptor = os.open(f"{name}.new", _BASE | os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._folder)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o644)
            file.write(content)
        os.rename(f"{name}.new", name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def drop(self, name: str) -> None:
        """Remove a file, if it is there and can be."""
        try:
            os.unlink(name, dir_fd=self._folder)
        except OSError:
            return

    def _open_fifo(self, name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK | _BASE, dir_fd=self._folder)
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{name} is not a FIFO")
        return descriptor


def waiting_bytes(descriptor: int) -> int:
    """Return how many bytes lie in a pipe."""
    return int(unpack("i", fcntl.ioctl(descriptor, FIONREAD, b"\0\0\0\0"))[0])
