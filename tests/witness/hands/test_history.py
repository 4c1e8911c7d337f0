"""What serve.sh leaves of a repository: HEAD's tree, in one commit, and nothing before or beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from job_templates.repositories import commit, git
from witness.hands.sandbox import SHELLS, TREE, Sandbox
from witness.pod import path_without, wait_for

SECRET = b"the fix that nobody may see 7f3a"


def with_history(top: Path) -> None:
    """A future commit under a tag, a branch, a stash, a note, a reflog entry, a remote and packed references."""
    base = git(top, "rev-parse", "HEAD").decode().strip()
    fix = commit(top, {**TREE, "a.txt": SECRET})
    git(top, "tag", "v2", fix)
    git(top, "tag", "-a", "-m", "annotated", "v2a", fix)
    git(top, "notes", "add", "-m", SECRET.decode(), base)
    git(top, "branch", "fixed", fix)
    git(top, "pack-refs", "--all")
    (top / "a.txt").write_bytes(SECRET + b" stashed")
    git(top, "stash")
    git(top, "reset", "-q", "--hard", base)
    git(top, "remote", "add", "origin", "https://user:token@example.test/x")
    git(top, "config", "http.extraheader", "Authorization: token")
    (top / ".git/hooks").mkdir(exist_ok=True)
    (top / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 1\n")


def every_object(top: Path) -> bytes:
    return git(top, "cat-file", "--batch-all-objects", "--batch")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_history_is_gone_and_the_tree_is_the_same(sandbox: Sandbox, shell: str) -> None:
    with_history(sandbox.top)
    tree = git(sandbox.top, "rev-parse", "HEAD^{tree}")
    assert SECRET in every_object(sandbox.top)
    (sandbox.top / "untracked").write_text("x")
    status = git(sandbox.top, "status", "--porcelain", "--branch")
    sandbox.up(shell)
    assert git(sandbox.top, "rev-parse", "HEAD^{tree}") == tree
    assert git(sandbox.top, "status", "--porcelain", "--branch") == status
    assert git(sandbox.top, "rev-list", "--all", "--reflog", "--count") == b"1\n"
    assert git(sandbox.top, "remote") == git(sandbox.top, "tag") == git(sandbox.top, "stash", "list") == b""
    assert SECRET not in every_object(sandbox.top)
    assert b"token" not in (sandbox.top / ".git/config").read_bytes()
    assert not (sandbox.top / ".git/hooks").exists()
    state = sandbox.state()
    assert state["history"]["removedRefs"] >= 5
    assert state["history"]["removedCommits"] >= 2
    assert state["base"] == sandbox.base
    assert state["workdir"] == str(sandbox.top)
    code, _ = sandbox.call(
        "echo x >> a.txt; git -c user.name=a -c user.email=a@b commit -qam mine && git log --oneline"
    )
    assert code == 0


def linked_worktree(sandbox: Sandbox) -> Path:
    git(sandbox.top, "worktree", "add", "-q", "--detach", str(sandbox.folder / "linked"))
    return sandbox.folder / "linked"


def borrowed_objects(sandbox: Sandbox) -> Path:
    git(sandbox.folder, "clone", "-q", "--shared", str(sandbox.top), str(sandbox.folder / "borrower"))
    return sandbox.folder / "borrower"


def a_folder_below(sandbox: Sandbox) -> Path:
    return sandbox.top / "bin"


@pytest.mark.parametrize("place", [linked_worktree, borrowed_objects, a_folder_below])
def test_unusual_repositories_lose_their_history_too(sandbox: Sandbox, place: Callable[[Sandbox], Path]) -> None:
    with_history(sandbox.top)
    folder = place(sandbox)
    sandbox.hands = sandbox.start_hands()
    sandbox.serve = sandbox.start_serve(env={"ASSAY_WORKDIR": str(folder)})
    sandbox.wait_ready()
    assert git(folder, "rev-list", "--all", "--reflog", "HEAD", "--count") == b"1\n"
    assert SECRET not in every_object(folder)
    assert git(folder, "status", "--porcelain") == b""
    assert sandbox.call("pwd") == (0, f"{folder}\n".encode())
    assert sandbox.submit() == (200, b"")


@pytest.mark.parametrize("path", ["sub", "odd sub/näme"])
def test_a_submodule_keeps_its_commit_and_loses_what_was_before(sandbox: Sandbox, path: str) -> None:
    other = sandbox.folder / "other"
    commit(other, {"f": SECRET})
    commit(other, {"f": b"now"})
    git(sandbox.top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), path)
    git(sandbox.top, "commit", "-qm", "with a submodule")
    assert SECRET in every_object(sandbox.top / path)
    sandbox.up()
    assert SECRET not in every_object(sandbox.top / path)
    assert git(sandbox.top, "status", "--porcelain") == b""
    assert git(sandbox.top / path, "rev-list", "--all", "HEAD", "--count") == b"1\n"
    assert sandbox.submit() == (200, b"")


def refused(sandbox: Sandbox, code: int, reason: str) -> None:
    assert sandbox.serve.wait(60) == code, sandbox.log
    assert sandbox.message.read_text().startswith(reason)
    wait_for(lambda: sandbox.readiness()[1].startswith(reason))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_dirty_tree_is_refused_by_name(sandbox: Sandbox, shell: str) -> None:
    (sandbox.top / "a.txt").write_text("changed")
    sandbox.hands, sandbox.serve = sandbox.start_hands(), sandbox.start_serve(SHELLS[shell])
    refused(sandbox, 96, "TreeDirty 1 paths differ from HEAD: a.txt")


def test_what_is_no_repository_is_refused(sandbox: Sandbox) -> None:
    subprocess.run(["rm", "-rf", str(sandbox.top / ".git")], check=True)
    sandbox.hands, sandbox.serve = sandbox.start_hands(), sandbox.start_serve()
    refused(sandbox, 95, "NotARepository")


def test_a_missing_folder_is_refused(sandbox: Sandbox) -> None:
    sandbox.hands = sandbox.start_hands()
    sandbox.serve = sandbox.start_serve(env={"ASSAY_WORKDIR": "/no/such"})
    refused(sandbox, 95, "WorkdirMissing /no/such")


def test_an_image_without_git_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.hands = sandbox.start_hands()
    sandbox.serve = sandbox.start_serve(path=path_without(tmp_path / "bin", "git"))
    refused(sandbox, 95, "ToolMissing")


def test_outside_of_a_container_nothing_is_done(sandbox: Sandbox) -> None:
    sandbox.hands = sandbox.start_hands()
    command = [*SHELLS["dash"], str(Path(__file__).parents[3] / "job_templates/serve.sh")]
    environment = {"ASSAY_IO": str(sandbox.io), "ASSAY_TERMINATION_MESSAGE": str(sandbox.message)}
    sandbox.serve = sandbox._start(command, environment)
    refused(sandbox, 95, "NotFirstProcess")
    assert git(sandbox.top, "rev-parse", "HEAD").decode().strip() == sandbox.base


def test_a_tool_poor_image_serves_calls_all_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.hands = sandbox.start_hands()
    poor = path_without(tmp_path / "bin", "setsid", "readlink", "cp", "bash", "timeout", "tail")
    sandbox.serve = sandbox.start_serve(("/usr/bin/dash",), path=poor)
    sandbox.wait_ready()
    assert sandbox.write("bin/tool", b"new") == (0, b"")
    assert (sandbox.top / "bin/tool").stat().st_mode & 0o777 == 0o755
    identifier = sandbox.start({"script": "sleep 1000 | cat", "timeoutSeconds": 1})
    assert sandbox.finish(identifier)["exitCode"] == 124
    assert sandbox.call("echo alive") == (0, b"alive\n")
