"""``assay gc`` against a real API server: what objects name stays, what is young stays, the rest goes when asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from assay.store.artifacts import Store
from builders import make_manifest
from conftest import ROOT, TestCluster

pytestmark = pytest.mark.api
NAMESPACE = "gc"


def gc(cluster: TestCluster, store: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    command = (sys.executable, "-m", "assay", "gc", "--store", store, "--output", "json", *options)
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def test_only_old_files_that_no_object_names_are_deleted(api_cluster: TestCluster, tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}")
    named, young, old = (store.put(word).sha256 for word in (b"named", b"young", b"old"))
    for digest in (named, old):
        aged = time.time() - 8 * 24 * 3600
        os.utime(tmp_path / digest[:2] / f"{digest}.zst", (aged, aged))
    refused = gc(api_cluster, store.uri, "--delete")
    assert refused.returncode == 1
    assert "another cluster" in refused.stderr
    assert all(map(store.has, (named, young, old)))

    api_cluster.kubectl("create", "namespace", NAMESPACE)
    manifest = make_manifest(namespace=NAMESPACE)
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(manifest))
    report = {"uri": store.uri, "sha256": named, "bytes": 5}
    api_cluster.kubectl(
        *("patch", "tv", "lantern-7", "-n", NAMESPACE, "--subresource=status", "--type=merge"),
        *("-p", json.dumps({"status": {"report": report}})),
    )
    listed = gc(api_cluster, store.uri)
    assert [said["path"] for said in json.loads(listed.stdout)] == [f"{old[:2]}/{old}.zst"]
    assert store.has(old)
    assert gc(api_cluster, store.uri, "--delete").returncode == 0
    assert [store.has(digest) for digest in (named, young, old)] == [True, True, False]
    assert gc(api_cluster, store.uri, "--older-than", "1d").returncode == 2
    api_cluster.kubectl("delete", "namespace", NAMESPACE)
