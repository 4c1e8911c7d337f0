"""Reversed diffs take back what git applied."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.domain.reversal import IrreversibleError, reversed_patch


def git(folder: Path, *words: str, stdin: bytes | None = None) -> bytes:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "core.autocrlf=false")
    return subprocess.run(("git", *settings, *words), cwd=folder, input=stdin, check=True, capture_output=True).stdout


@pytest.fixture
def change(tmp_path: Path) -> tuple[Path, bytes]:
    """A repository in its old state and a diff to its new one, with all that a text diff can hold."""
    git(tmp_path, "init", "-q")
    (tmp_path / "crlf.py").write_bytes(b"a\r\nb\r\nc\r\n")
    (tmp_path / "end.txt").write_bytes(b"no newline")
    (tmp_path / "gone.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "old name.txt").write_bytes(b"".join(b"line %d\n" % n for n in range(30)))
    (tmp_path / "run.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "größe.txt").write_bytes("größe\n".encode())
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "old")
    (tmp_path / "crlf.py").write_bytes(b"a\r\nB\r\n--- odd\r\n+++ odd\r\nc\r\n")
    (tmp_path / "end.txt").write_bytes(b"a newline\n")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "old name.txt").rename(tmp_path / "new name.txt")
    text = (tmp_path / "new name.txt").read_bytes()
    (tmp_path / "new name.txt").write_bytes(text.replace(b"line 7\n", b"line seven\n"))
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "größe.txt").write_bytes(b"\xff\xfe not text\n")
    (tmp_path / "made.txt").write_bytes(b"made\n")
    git(tmp_path, "add", "-A")
    patch = git(tmp_path, "diff", "--cached", "-M", "--text")
    git(tmp_path, "reset", "-q", "--hard")
    return tmp_path, patch


def test_a_reversed_patch_undoes_the_patch(change: tuple[Path, bytes]) -> None:
    folder, patch = change
    before = git(folder, "write-tree")
    git(folder, "apply", "--index", stdin=patch)
    assert git(folder, "write-tree") != before
    git(folder, "apply", "--index", stdin=reversed_patch(patch))
    assert git(folder, "write-tree") == before


def test_the_reverse_of_the_reverse_is_the_patch(change: tuple[Path, bytes]) -> None:
    _, patch = change
    assert reversed_patch(reversed_patch(patch)) == patch


def test_binary_content_cannot_be_reversed() -> None:
    with pytest.raises(IrreversibleError):
        reversed_patch(b"diff --git a/a b/a\nindex 1..2 100644\nGIT binary patch\nliteral 1\n")
