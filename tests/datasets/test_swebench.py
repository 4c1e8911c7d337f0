"""Rows that were exported for SWE-bench, read by its own package: loaded, made a specification, graded by its parser."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.cli.evaluate import _entry, _write
from assay.cli.targets import Target
from assay.domain.datasets.exports import SWE_BENCH_KNOWN, Form
from assay.domain.evaluations import report_name
from assay.domain.predictions import Prediction
from conftest import cache_dir
from domain.datasets.test_exports import exported, tasks_of
from domain.test_evaluations import DATASET, RESULTS

pytestmark = [pytest.mark.runners, pytest.mark.timeout(1200)]
PACKAGE = "swebench==5.0.2"
PROGRAM = """
import json, sys
from swebench.harness.grading import get_logs_eval
from swebench.harness.log_parsers import PARSER_REGISTRY
from swebench.harness.utils import load_swebench_dataset, make_test_spec
rows = load_swebench_dataset(sys.argv[1])
specs = [make_test_spec(row) for row in rows]
print(json.dumps({
    "parsers": sorted(PARSER_REGISTRY),
    "specs": [
        {"id": spec.instance_id, "image": spec.image, "script": spec.eval_script, "f2p": spec.FAIL_TO_PASS,
         "p2p": spec.PASS_TO_PASS, "known": spec.log_parser in PARSER_REGISTRY}
        for spec in specs
    ],
}))
"""
REPORTING = """
import json, sys
from swebench.harness.reporting import make_run_report
given = json.loads(sys.stdin.read())
print(make_run_report(given["predictions"], given["dataset"], given["run"], report_dir="theirs"))
"""
TOLD_BY_LOGS = ("infra_failure", "ambiguous_failure", "failure_reasons")
"""What SWE-bench guesses from its own logs, which Assay does not write: it knows."""


@pytest.fixture(scope="session")
def python() -> Path:
    """A Python that has the package, installed once."""
    home = cache_dir() / "runners" / PACKAGE.replace("==", "-")
    if not home.exists():
        fresh = home.with_name(f"{home.name}.{os.getpid()}")
        venv.create(fresh, with_pip=True)
        install = (str(fresh / "bin" / "python"), "-m", "pip", "install", "--quiet", PACKAGE)
        subprocess.run(install, check=True, timeout=1100)
        fresh.rename(home)
    return home / "bin" / "python"


def loaded(python: Path, file: Path) -> dict[str, Any]:
    """What the package makes of a file, without a network."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(file.parent / "hub")}
    done = subprocess.run(
        (str(python), "-c", PROGRAM, str(file)), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_swe_benchs_own_loader_reads_what_was_exported(python: Path, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"tasks{suffix}"
    written = exported(tasks_of("swe-bench"), Form.SWE_BENCH, path)
    said = loaded(python, path)
    assert [spec["id"] for spec in said["specs"]] == [task.id for task in written]
    for spec, task in zip(said["specs"], written, strict=True):
        assert spec["image"] == task.image
        assert (spec["f2p"], spec["p2p"]) == (list(task.tests.fail_to_pass), list(task.tests.pass_to_pass))
        assert spec["known"]
        assert spec["script"].count(">>>>> Start Test Output") == 1
        assert spec["script"].count(">>>>> End Test Output") == 1
        assert spec["script"].index("git apply") < spec["script"].index(">>>>> Start")
        assert subprocess.run(("bash", "-n"), input=spec["script"], text=True, check=False).returncode == 0
    assert frozenset(said["parsers"]) == SWE_BENCH_KNOWN


def test_swe_benchs_own_report_over_what_evaluate_wrote_is_evaluates(python: Path, tmp_path: Path) -> None:
    run, model = "r", "team/m"
    results = [replace(result, model=model) for result in RESULTS]
    patches = {result.id: "" if result.empty else "diff" for result in results}
    target = Target(id="t", reference={"validation": "v"}, gold=None)
    entries = [
        _entry(Prediction(id=name, patch=patch, model=model), target, run, "strict", "Binary", "n")
        for name, patch in patches.items()
    ]
    ours = tmp_path / "logs" / "run_evaluation" / run
    _write(ours, run, "strict", entries, results, DATASET)
    given = {
        "predictions": {
            name: {"instance_id": name, "model_patch": patch, "model_name_or_path": model}
            for name, patch in patches.items()
        },
        "dataset": [{"instance_id": name} for name in DATASET],
        "run": run,
    }
    command = (str(python), "-c", REPORTING)
    done = subprocess.run(command, cwd=tmp_path, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = json.loads((tmp_path / done.stdout.splitlines()[-1]).read_text())
    written = json.loads((ours / report_name(model, run)).read_text())
    assert written.keys() == theirs.keys()
    compared = [key for key in theirs if not key.startswith(TOLD_BY_LOGS)]
    assert {key: written[key] for key in compared} == {key: theirs[key] for key in compared}
