"""The four FIFOs between the task container and the witness, made before anything else happens.

``out`` and ``err`` carry the task's output, ``ctl`` its marks and facts, ``ack`` the witness's answers.  They are made
once in a pod's life: whoever finds them, or the marker in the private folder, is a restarted witness, which has not
seen the beginning and must not pretend to.  This module imports nothing but ``os``, so that the FIFOs are there at once.
"""

from __future__ import annotations

import os

NAMES = ("out", "err", "ctl", "ack")
"""In the order they are made; run.sh waits for the last."""

PIPE_BYTES = 262144
F_SETPIPE_SZ = 1031


class AlreadyMadeError(Exception):
    """The FIFOs were made before: this process is a restarted witness, and the run's record is lost."""


class Channels:
    """Open descriptors of the four FIFOs, all non-blocking."""

    __slots__ = ("ack", "ctl", "err", "folder", "out")

    def __init__(self, folder: str) -> None:
        """Open them for reading (``ack`` for writing); blocked writers go on from here.

        ``ctl`` is opened for reading alone, so that the end of its last writer is noticed; the others are opened both
        ways, so that they never end and never raise a broken pipe.
        """
        self.folder = folder
        both = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        self.out = os.open(f"{folder}/out", both)
        self.err = os.open(f"{folder}/err", both)
        self.ack = os.open(f"{folder}/ack", both)
        self.ctl = os.open(f"{folder}/ctl", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        for descriptor in (self.out, self.err):
            _widen(descriptor)

    def hide(self) -> None:
        """Unlink the FIFOs: both sides hold them open, and the task's commands shall not find them by name."""
        for name in NAMES:
            try:
                os.unlink(f"{self.folder}/{name}")  # noqa: PTH108  (pathlib is slow to import)
            except OSError:
                continue


def make_channels(folder: str, private: str) -> None:
    """Make the FIFOs in ``folder``, writable for every user; raise :class:`AlreadyMadeError` when any trace is found."""
    previous = os.umask(0)
    try:
        os.close(os.open(f"{private}/started", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        for name in NAMES:
            os.mkfifo(f"{folder}/{name}", 0o666)
    except FileExistsError as error:
        raise AlreadyMadeError(str(error)) from error
    finally:
        os.umask(previous)


def _widen(descriptor: int) -> None:
    import fcntl  # noqa: PLC0415  (after the FIFOs are made: start-up time)

    try:
        fcntl.fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        return
