"""Locks that their holder's death releases.

flock for what belongs to a cache, abstract sockets for what belongs to the whole machine.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from progress import say


@contextmanager
def exclusive(path: Path, *, waiting: str) -> Iterator[None]:
    """Hold the lock file for the length of a block; `waiting` is said when someone else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as lock:
            if not _try(lock.fileno()):
                say(waiting)
                fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_at(path, lock.fileno()):  # its last holder may have deleted it while we waited
                yield
                return


def hold(path: Path) -> int | None:
    """Take the lock until this process ends and write its id into the file; None when another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + 1  # `holder_of` has the lock for an instant
    while not _try(descriptor):
        if time.monotonic() > deadline:
            os.close(descriptor)
            return None
        time.sleep(0.01)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def holder_of(path: Path) -> int | None:
    """The process that holds the lock now; None when it is free, so a stale id is never believed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if _try(descriptor, fcntl.LOCK_SH):
            return None
        written = os.read(descriptor, 32)
        return int(written) if written else 0
    finally:
        os.close(descriptor)


def claim(name: str) -> socket.socket | None:
    """Take a name that is free on this whole machine (an abstract socket: no file, gone with its process)."""
    claimed = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claimed.bind(f"\0{name}")
    except OSError:
        claimed.close()
        return None
    return claimed


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _try(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
