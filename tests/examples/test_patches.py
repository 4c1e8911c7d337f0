"""Splitting what changed between two trees: bytes survive, and the two patches together lead to the newer tree."""

import os
import subprocess

import pytest
from assay_examples.patches import commit_base, is_test_path, split_patches

WHEN = 1_000_000_000


def write_tree(root, files):
    """Write files as releases carry them: all with the same fixed time."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (WHEN, WHEN))
    return root


def apply(tree, *patches):
    for patch in filter(None, patches):
        subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=tree, input=patch, check=True, capture_output=True)


def contents(tree):
    files = (path for path in tree.rglob("*") if path.is_file() and ".git" not in path.relative_to(tree).parts)
    return {str(path.relative_to(tree)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in files}


@pytest.fixture
def split(tmp_path):
    """Split two trees given as files, prove the patches on a fresh base and return them."""

    def run(before, after, executable=()):
        old, new = write_tree(tmp_path / "old", before), write_tree(tmp_path / "new", after)
        for name in executable:
            (new / name).chmod(0o755)
        (tmp_path / "git").mkdir()
        test_patch, reference = split_patches(old, new, scratch=tmp_path / "git")
        commit_base(old)
        apply(old, test_patch, reference)
        assert contents(old) == contents(new)
        return test_patch, reference

    return run


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/data/x.bin", True),
        ("src/pkg/test/cases.json", True),
        ("internal/testdata/a.txt", True),
        ("pkg/_test/fixture.txt", True),
        ("mux_test.go", True),
        ("pkg/test_thing.py", True),
        ("pkg/thing_test.py", True),
        ("conftest.py", True),
        ("src/click/testing.py", False),
        ("tests", False),
        ("contest.go", False),
        ("latest/x.py", False),
        ("CHANGES.rst", False),
    ],
)
def test_paths_of_tests_are_told_from_others(path, expected):
    assert is_test_path(path) is expected


def test_each_change_is_in_its_patch_alone(split):
    test_patch, reference = split(
        {"tests/test_a.py": b"old\n", "a.py": b"old\n", "same.py": b"same\n"},
        {"tests/test_a.py": b"new\n", "tests/new.txt": b"x", "a.py": b"new\n", "same.py": b"same\n"},
    )
    assert b"tests/test_a.py" in test_patch
    assert b"tests/new.txt" in test_patch
    assert b"a/a.py" not in test_patch
    assert b"a/a.py" in reference
    assert b"tests/" not in reference
    assert b"same.py" not in test_patch + reference


def test_change_of_equal_size_and_time_is_seen(split):
    _, reference = split({"a.py": b"one\n"}, {"a.py": b"two\n"})
    assert b"-one\n+two\n" in reference


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"10%\r20%\n", b"10%\r99%\n"),
        ("J\xfcrgen\n".encode("latin-1"), "J\xf6rgen\n".encode("latin-1")),
        (b"no newline", b"still no newline"),
        (b"\x00\x01binary", b"\x00\x02binary"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+c\n"),
        (b"page\x0cbreak \n", b"page\x0cbreak\t \n"),
    ],
)
def test_odd_bytes_survive(split, old, new):
    split({"tests/data": old, "data": old}, {"tests/data": new, "data": new})


def test_new_empty_renamed_removed_and_executable_files_survive(split):
    long = b"".join(b"line %d\n" % number for number in range(50))
    _, reference = split(
        {"old/name.txt": long, "gone.txt": b"x\n", "run.sh": b"#!/bin/sh\n"},
        {"new/name.txt": long, "empty": b"", "run.sh": b"#!/bin/sh\n"},
        executable=["run.sh"],
    )
    assert b"rename from old/name.txt" in reference
    assert b"new mode 100755" in reference


def test_files_that_the_release_ignores_are_part_of_it(split):
    ignore = {".gitignore": b"*.mo\n_version.py\n"}
    _, reference = split({**ignore, "_version.py": b"1\n"}, {**ignore, "_version.py": b"2\n", "de.mo": b"\x00"})
    assert b"_version.py" in reference
    assert b"de.mo" in reference


def test_attributes_of_the_release_change_no_bytes(split):
    attributes = {".gitattributes": b"* text=auto eol=lf\n*.txt ident\n"}
    split({**attributes, "a.txt": b"$Id$\r\none\r\n"}, {**attributes, "a.txt": b"$Id$\r\ntwo\r\n"})


def test_base_commit_depends_on_content_alone(tmp_path):
    files = {"a.py": b"a\n", ".gitignore": b"b.py\n", "b.py": b"b\n"}
    first, second = (commit_base(write_tree(tmp_path / name, files)) for name in ("one", "two"))
    assert first == second
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=tmp_path / "one", check=True, capture_output=True
    )
    assert status.stdout == b""
