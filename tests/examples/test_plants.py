"""Planted layers hold the solution, and nothing of the base but what they have to."""

import subprocess
from pathlib import Path

import pytest
from assay_examples.patches import commit_base
from assay_examples.plants import TAG, plant
from assay_examples.recipes import Plant, Release, Upstream

PATCH = b"""diff --git a/lib/__init__.py b/lib/__init__.py
--- a/lib/__init__.py
+++ b/lib/__init__.py
@@ -1 +1 @@
-old = 1
+new = 2
"""
UPSTREAM = Upstream(
    package="example.test/Big/lib",
    before=Release(version="v1.0.0", sha256="0" * 64),
    after=Release(version="v1.1.0", sha256="1" * 64),
)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    tree = tmp_path / "task" / "testbed"
    (tree / "lib").mkdir(parents=True)
    (tree / "lib" / "__init__.py").write_text("old = 1\n")
    (tree / "README").write_text("about\n")
    commit_base(tree)
    return tree


def git(tree: Path, *words: str) -> str:
    command = ("git", "-c", "safe.directory=*", *words)
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout


def files_in(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}


def planted(base: Path, kind: Plant) -> Path:
    into = base.parents[1] / "layer" / "tree"
    into.parent.mkdir()
    plant(kind, base, [b"", PATCH], upstream=UPSTREAM, into=into)
    return into


def test_a_tag_past_the_base_comes_as_new_files_of_git_alone(base):
    before, tree = git(base, "rev-parse", "HEAD"), planted(base, Plant.TAG)
    assert all(path.startswith(("testbed/.git/objects/", "testbed/.git/refs/tags/")) for path in files_in(tree))
    for path in files_in(tree):
        target = base.parent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((tree / path).read_bytes())
    assert git(base, "rev-parse", "HEAD") == before
    assert git(base, "status", "--porcelain") == ""
    assert git(base, "show", f"{TAG}:lib/__init__.py") == "new = 2\n"
    assert git(base, "rev-parse", f"{TAG}^{{commit}}~1") == before


def test_a_newer_release_comes_as_its_packages_where_python_installs_them(base):
    tree = planted(base, Plant.RELEASE)
    (found,) = files_in(tree)
    assert found.endswith("/dist-packages/lib/__init__.py")
    assert (tree / found).read_text() == "new = 2\n"


def test_a_module_comes_whole_where_the_go_command_keeps_it(base):
    tree = planted(base, Plant.MODULE_CACHE)
    folder = "root/go/pkg/mod/example.test/!big/lib@v1.1.0"
    assert files_in(tree) == {f"{folder}/README", f"{folder}/lib/__init__.py"}
    assert (tree / folder / "lib/__init__.py").read_text() == "new = 2\n"
