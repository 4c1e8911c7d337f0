"""Foreign programs: one place that starts them, and the check that they are there."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

NEEDS = {
    "git": "Debian package git",
    "ip": "Debian package iproute2",
    "mmdebstrap": "Debian package mmdebstrap",
    "skopeo": "Debian package skopeo",
    "unshare": "Debian package util-linux",
    "go": "the Go toolchain",
}


class CommandError(RuntimeError):
    """A program that a build step needs ended with an error; the message holds the end of what it printed."""


def check_needs(*names: str) -> None:
    """CommandError when one of the programs is not installed or we are not root, with what to do about it."""
    missing = [f"{name} ({NEEDS[name]})" for name in names if shutil.which(name) is None]
    if missing:
        raise CommandError(f"building the examples needs {', '.join(missing)}")
    if os.geteuid() != 0:
        raise CommandError("building the examples needs root (it makes root file systems and mounts)")


def output_of(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> bytes:
    """Standard output of a program; `env` is added to ours. CommandError when it does not exit with 0."""
    done = subprocess.run(
        [str(part) for part in argv],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).decode("utf-8", "replace")[-2000:]
        raise CommandError(f"{' '.join(str(part) for part in argv)} ended with {done.returncode}:\n{tail}")
    return done.stdout
