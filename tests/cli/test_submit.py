"""``assay submit`` before it has spoken to a server: what is no manifest, and no server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from assay.cli.submit import submissions_in
from builders import make_manifest
from conftest import ROOT


def submit(folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """Submit to a server that does not answer."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "none", "user": {}}],
        "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
        "current-context": "none",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    environment = os.environ | {"KUBECONFIG": str(folder / "kubeconfig"), "PYTHONPATH": str(ROOT / "operator")}
    command = (sys.executable, "-m", "assay", "submit", str(file))
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("text", ["kind: Pod\n", "- a\n", "kind: TaskValidation\nmetadata: {}\n", "a: [\n"])
def test_what_is_no_manifest_is_said_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.yaml").write_text(text)
    done = submit(tmp_path, tmp_path / "other.yaml")
    assert done.returncode == 2
    assert "assay submit: " in done.stderr


def test_without_a_server_it_says_that_it_can_go_on(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(make_manifest()))
    done = submit(tmp_path, tmp_path / "one.yaml")
    assert (done.returncode, "run it again" in done.stderr) == (1, True), done.stderr


def test_a_manifest_keeps_its_own_namespace_and_gets_its_digest(tmp_path: Path) -> None:
    own, bare = make_manifest("own", namespace="mine"), make_manifest("bare")
    del bare["metadata"]["namespace"]
    (tmp_path / "two.yaml").write_text(yaml.safe_dump_all([own, bare]))
    first, second = submissions_in([tmp_path / "two.yaml"], "runs")
    assert (first.namespace, second.namespace) == ("mine", "runs")
    assert first.digest != second.digest
    assert first.manifest["metadata"]["annotations"] == {"assay.dev/manifest-sha256": first.digest}
    assert next(submissions_in([tmp_path / "two.yaml"], "runs")).digest == first.digest
