"""The demo itself, with two of its tasks, as a person would start it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.mark.cluster
def test_the_demo_gets_from_nothing_to_verdicts_rewards_and_a_report() -> None:
    command = (sys.executable, "dev/demo.py", "--only", "valid,regression", "--name", f"demo-{os.getpid()}")
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "2 of 2 verdicts are as expected" in done.stdout
    assert "5 of 5 rewards are as deserved" in done.stdout
    assert "2 tasks, 1 valid" in done.stderr
