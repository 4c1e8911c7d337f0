"""Foreign test runners: found or installed, started on a copy of a suite, their output returned as a log."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import cache_dir

SUITES = Path(__file__).parent / "suites"
SECONDS = 300
DEBIAN = {
    "phpunit": "phpunit",
    "rspec": "ruby-rspec",
    "ruby": "ruby-minitest ruby-test-unit",
    "mvn": "maven default-jdk-headless",
}
"""Runner -> the Debian packages that it comes from."""


@pytest.fixture
def start(tmp_path):
    """Start a program on a copy of a suite: standard output followed by standard error."""

    def run(suite: str, *command: str, **environment: str) -> str:
        work = tmp_path / suite.replace("/", "-")
        if not work.exists():
            shutil.copytree(SUITES / suite, work)
        if command[0] in DEBIAN:
            install(command[0])
        program = command[0] if command[0] == sys.executable else shutil.which(command[0])
        assert program, f"the runner {command[0]} is not on this machine, and the check of runners needs it"
        done = subprocess.run(
            [program, *command[1:]],
            cwd=work,
            env=_clean_environment() | environment,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")

    return run


def install(program: str) -> None:
    """Install a runner from Debian's packages, unless it is there."""
    with (cache_dir() / "runners.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which(program):
            return
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in ("update", f"install -y --no-install-recommends {DEBIAN[program]}"):
            apt = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", *command.split())
            done = subprocess.run(apt, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"apt-get {command}: {done.stderr[-2000:]}"


def _clean_environment() -> dict[str, str]:
    """The environment without what would change a runner's output."""
    dropped = ("PYTEST_", "NODE_", "FORCE_COLOR", "NO_COLOR", "COVERAGE", "CI", "GITHUB_ACTIONS", "CLICOLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The pinned npm runners, installed once a lock file."""
    suite = SUITES / "npm"
    key = hashlib.sha256((suite / "package-lock.json").read_bytes()).hexdigest()[:16]
    installed = cache_dir() / "runners" / f"npm-{key}"
    if not installed.exists():
        fresh = installed.with_name(f"{installed.name}.{os.getpid()}")
        fresh.mkdir(parents=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(suite / name, fresh)
        done = subprocess.run(["npm", "ci"], cwd=fresh, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, f"npm ci failed: {done.stderr[-2000:]}"
        fresh.rename(installed)
    return installed / "node_modules"
