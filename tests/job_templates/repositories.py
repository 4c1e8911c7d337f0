"""Small git repositories in two states, and the patch between them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

Tree = Mapping[str, bytes | tuple[bytes, int]]
"""Path -> content, or content and mode; a mode of 0 makes a symbolic link to the content."""

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "a@example.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", *words], cwd=folder, env=ENVIRONMENT, input=stdin, capture_output=True, check=True
    ).stdout


def write_tree(folder: Path, tree: Tree) -> None:
    """Make the work tree hold exactly ``tree``."""
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, entry in tree.items():
        content, mode = entry if isinstance(entry, tuple) else (entry, 0o644)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if mode == 0:
            path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)
            path.chmod(mode)


def read_tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What the work tree holds, in the form that ``write_tree`` takes."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if name.split("/", maxsplit=1)[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            found[name] = (os.fsencode(path.readlink()), 0)
        else:
            found[name] = (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    return found


def commit(folder: Path, tree: Tree) -> str:
    """Commit ``tree`` with its bytes as they are, whatever attributes say, and return the commit."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
    write_tree(folder, tree)
    git(folder, "rm", "-rq", "--cached", "--ignore-unmatch", ".")
    for name, (content, mode) in read_tree(folder).items():
        blob = git(folder, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).decode().strip()
        kind = {0: "120000", 0o644: "100644", 0o755: "100755"}[mode]
        git(folder, "update-index", "--add", "--cacheinfo", f"{kind},{blob},{name}")
    git(folder, "commit", "-q", "--allow-empty", "-m", "state")
    return git(folder, "rev-parse", "HEAD").decode().strip()


def patch_between(folder: Path, before: Tree, after: Tree) -> bytes:
    """Return the binary diff between two trees; the work tree and HEAD are ``before`` afterwards."""
    new = commit(folder, after)
    old = commit(folder, before)
    return git(folder, "diff", "--binary", "--full-index", "-M", old, new)
