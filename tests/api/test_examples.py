"""The example of every command's help, run as it stands there: files of a user's directory, a cluster with an operator.

Those of the servers, of deny lists and of predictions are run by the tests of their own.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from assay.cli.main import app
from assay.cli.pages import commands_of, example_of
from builders import make_manifest
from conftest import TestCluster
from datasets_made import MADE
from operating import NAMESPACE, Site, operating, serve_operator, validation

pytestmark = [pytest.mark.api, pytest.mark.timeout(1800)]
SYSTEM = "assay-system"
NAME = "demo-valid"
ELSEWHERE = frozenset({"operator", "gateway", "goproxy", "deny-list", "evaluate", "compare"})
"""First words of commands."""
EXAMPLES = [name for name, _ in commands_of(app) if name.split()[1] not in ELSEWHERE]
"""In the order of the help, in which what one writes is there for the next."""


def judge(site: Site) -> None:
    """Have a task judged: without targets, so that each of its runs is made; then say that it is Valid."""
    task: dict[str, Any] = validation(NAME, "examples")
    task["spec"]["task"]["tests"] |= {"failToPass": [], "passToPass": []}
    site.apply(task)
    status = site.until_status(NAME, lambda status: status.verdict is not None)
    assert [run.name for run in status.runs] == ["unpatched-1", "patched-1"]
    patch = json.dumps({"status": {"verdict": "Valid"}})
    site.cluster.kubectl("patch", "tv", NAME, "-n", NAMESPACE, "--type=merge", "--subresource=status", "-p", patch)


def run_example(site: Site, name: str) -> subprocess.CompletedProcess[str]:
    """Run a command's example in the user's directory; stores are the operator's own."""
    _, *words = shlex.split(example_of(dict(commands_of(app))[name]))
    return site.assay(*(site.store if word.startswith("file://") else word for word in words))


def users_files(folder: Path) -> None:
    """What the examples find in the user's directory before an import."""
    rows = [dict(row.values) for row in MADE["swe-rebench-v2"].rows[:22:2]]
    for row in rows:
        row["repo"] = "acorn/lantern"
        for column in ("install_config", "meta"):
            row[column] = row[column] if isinstance(row[column], str) else json.dumps(row[column])
    parquet.write_table(pa.Table.from_pylist(rows), folder / "tasks.parquet")
    (folder / "clearer.md").write_text("Dim the Lantern.\n")
    (folder / "run.log").write_text("PASSED tests/test_m.py::test_f\n")


@pytest.fixture(scope="module")
def site(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A user's directory, and a cluster whose operator has judged one task."""
    folder = tmp_path_factory.mktemp("examples")
    users_files(folder)
    api_cluster.make_namespace(SYSTEM)
    with operating(api_cluster, folder, httpAddress="0.0.0.0") as site:
        serve_operator(api_cluster, SYSTEM, site.operator.port)
        judge(site)
        yield site
    api_cluster.kubectl("delete", "namespace", SYSTEM)


def test_the_examples_run_one_after_the_other(site: Site) -> None:
    reviewed = site.folder / "tasks" / "manifests-00001.yaml"
    for name in EXAMPLES:
        if name == "assay review next":  # what is reviewed lies beside the tasks of the import
            reviewed.write_text(yaml.safe_dump(make_manifest(NAME, namespace=NAMESPACE)))
        done = run_example(site, name)
        assert done.returncode == 0, f"{name}: {done.stdout[-500:]} {done.stderr[-1500:]}"
        if name == "assay review rewrite":
            said = yaml.safe_load(reviewed.read_text())["spec"]["statementReview"]
            assert (said["decision"], said["statement"]) == ("Rewritten", "Dim the Lantern.\n")
            reviewed.unlink()
    assert (site.folder / "report.html").stat().st_size > 1000
    assert parquet.read_table(site.folder / "tasks.parquet").column("instance_id").to_pylist() == [NAME]
