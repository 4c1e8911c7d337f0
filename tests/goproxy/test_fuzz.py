"""Coverage-guided fuzzing of the gateway's grammar, bounded by runs and by time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

RUNS, SECONDS = 100_000, 60


@pytest.mark.runners
def test_coverage_guided_fuzzing_finds_no_target_that_a_second_reading_judges_differently(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'operator'}:{ROOT / 'tests'}"}
    command = (
        sys.executable,
        str(ROOT / "tests/goproxy/fuzz_targets.py"),
        f"-runs={RUNS}",
        f"-max_total_time={SECONDS}",
    )
    done = subprocess.run(
        [*command, "-seed=1"], cwd=tmp_path, env=environment, text=True, stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = re.search(r"Done (\d+) runs", done.stderr)
    assert told, done.stderr[-3000:]
    assert int(told[1]) > 1000
