"""Assay's image: found again when nothing changed, compiled, and not root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PROBE = """
import json, os, subprocess
compiled = subprocess.run(
    ("python3", "-I", "-v", "-c", "import assay.witness.session"), check=True, capture_output=True, text=True
).stderr
print(json.dumps({
    "uid": os.getuid(),
    "sources": [line for line in compiled.splitlines() if "code object from /opt" in line],
    "compiled": [line for line in compiled.splitlines() if "code object from '/opt/assay/app" in line],
    "help": subprocess.run(("assay", "--help"), check=True, capture_output=True, text=True).stdout,
    "writable": [place for place in ("/opt/assay", "/opt/assay/app/assay", "/usr") if os.access(place, os.W_OK)],
}))
"""


def build() -> Path:
    done = subprocess.run(
        (sys.executable, "dev/image/build.py"), cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True
    )
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def archive() -> Path:
    return build()


@pytest.fixture(scope="module")
def told(cluster: TestCluster, archive: Path) -> Iterator[dict[str, object]]:
    """What a program says that runs in a pod of the image, as the image's own user."""
    image = cluster.load(archive, "assay:image-test")
    options = ("--image", image, "--restart=Never", "--command", "--", "python3", "-c", PROBE)
    cluster.kubectl("run", "image-test", *options)
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/image-test", "--timeout=180s")
    yield json.loads(cluster.kubectl("logs", "image-test").stdout)
    cluster.kubectl("delete", "pod", "image-test", "--grace-period=1")


def test_an_unchanged_tree_is_not_built_again(archive: Path) -> None:
    made = archive.stat().st_ino
    assert build() == archive
    assert archive.stat().st_ino == made


def test_the_archive_is_small_and_oci(archive: Path) -> None:
    assert archive.stat().st_size < 160 * 2**20
    with tarfile.open(archive) as opened:
        assert "oci-layout" in {member.name.removeprefix("./") for member in opened}


def test_every_module_of_the_witness_is_compiled(told: dict[str, object]) -> None:
    assert told["compiled"]
    assert told["sources"] == []


def test_it_runs_as_nobody_who_could_change_it(told: dict[str, object]) -> None:
    assert told["uid"] == 65532
    assert told["writable"] == []


def test_the_command_is_there(told: dict[str, str]) -> None:
    assert "operator" in told["help"]


def test_a_tree_that_cannot_be_built_says_what_is_missing(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "ASSAY_CACHE": str(tmp_path / "cache"), "HOME": os.environ["HOME"]}
    done = subprocess.run(
        (sys.executable, "dev/image/build.py"), cwd=ROOT, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert "not installed: buildah, mmdebstrap" in done.stderr
