"""Our own examples' patch files fit our own tree, but for the two that must not."""

import shutil
import subprocess
from pathlib import Path

import pytest
from assay_examples.patches import commit_base

OWN = Path(__file__).parents[2] / "examples" / "own"
FOLDERS = sorted(path.parent for path in OWN.glob("*/test.patch"))
UNFIT = {("test-patch-does-not-apply", "test.patch"), ("patch-does-not-apply", "reference.patch")}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_patches_apply_in_order_as_the_example_says(folder, tmp_path):
    shutil.copytree(OWN / "tree", tmp_path / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    commit_base(tmp_path / "tree")
    for name in ("test.patch", "reference.patch"):
        command = ["git", "apply", "--whitespace=nowarn", str(folder / name)]
        done = subprocess.run(command, cwd=tmp_path / "tree", check=False, capture_output=True)
        assert (done.returncode != 0) == ((folder.name, name) in UNFIT), done.stderr


def test_odd_patches_hold_what_makes_them_odd():
    reference = (OWN / "valid-odd-patches" / "reference.patch").read_bytes()
    for mark in (
        b"GIT binary patch",
        b"rename from",
        b"new mode 100755",
        b"\\ No newline at end of file",
        b"\r\n",
        b"50%\r100%",
        b"\xf6",
    ):
        assert mark in reference
