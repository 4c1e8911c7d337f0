"""Submissions: the diff of a frozen sandbox, which gives the same tree on a fresh copy of the base."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from job_templates.repositories import Tree, commit, git, read_tree
from witness.hands.sandbox import TREE, Sandbox

CHANGES = """
printf 'one\\nTWO\\n' > a.txt
chmod +x data.bin
printf '\\0\\1\\2' >> data.bin
mv bin/tool bin/renamed
rm link; ln -s elsewhere link
mkdir -p 'new dir'; printf 'no newline' > 'new dir/with space'
printf 'x\\r\\ny\\r\\n' > crlf
printf 'tab' > "$(printf 'odd\\tname\\n\\377')"
: > empty
git init -q nested; echo inside > nested/file; git -C nested add file
git -C nested -c user.name=a -c user.email=a@b commit -qm x
git config core.autocrlf true; git config diff.noprefix true; git config diff.external /bin/false
echo '* text eol=lf' > .git/info/attributes; echo crlf > .git/info/exclude
echo '*.gen' > .gitignore; echo junk > a.gen
git add a.txt; git -c user.name=a -c user.email=a@b commit -qm mine
"""


def applied(diff: bytes, folder: Path, tree: Tree = TREE) -> dict[str, tuple[bytes, int]]:
    """What the diff makes of a fresh copy of the base."""
    commit(folder, tree)
    git(folder, "apply", "--index", "--whitespace=nowarn", stdin=diff)
    found = read_tree(folder)
    shutil.rmtree(folder)
    return found


def test_a_submission_holds_every_change_and_nothing_else(ready: Sandbox, tmp_path: Path) -> None:
    assert ready.submit(1) == (200, b"")
    ready.release(1)
    assert ready.call(CHANGES)[0] == 0
    status, diff = ready.submit(2)
    assert status == 200, diff
    found = applied(diff, tmp_path / "fresh")
    expected = {
        name: entry for name, entry in read_tree(ready.top).items() if not name.startswith("nested") and name != "a.gen"
    }
    assert found == expected
    assert ready.submit(2) == (200, diff)
    assert ready.ask("PUT", "/v1/calls/later", {"script": "true"})[0] == 423
    assert ready.ask("POST", "/v1/submissions/3")[0] == 409
    assert ready.state()["locked"] == 2
    ready.release(2)
    assert ready.submit(2) == (200, diff)
    assert ready.ask("POST", "/v1/submissions/2/release")[0] == 200


def test_the_diff_is_taken_while_every_process_stands_still(ready: Sandbox) -> None:
    ready.call(
        "(while :; do date +%s%N > ticking; cp ticking tocking; done) >/dev/null 2>&1 & until [ -s ticking ]; do sleep 0.05; done"
    )
    status, diff = ready.submit(10)
    assert (status, b"ticking" in diff) == (200, True)
    ready.release(10)
    moving = 'a=$(cat tocking); i=0; while [ $i -lt 100 ]; do [ "$(cat tocking)" = "$a" ] || exit 0; sleep 0.1; i=$((i+1)); done; exit 1'
    assert ready.call(moving)[0] == 0


def test_a_submission_waits_for_the_running_call(ready: Sandbox) -> None:
    call = ready.start({"script": "sleep 1; echo last > last-change"})
    status, diff = ready.submit(11)
    assert ready.finish(call)["exitCode"] == 0
    assert (status, b"last-change" in diff) == (200, True)
    ready.release(11)


@pytest.mark.parametrize("script", ["rm -rf .git", "rm -rf .git && git init -q"])
def test_without_the_repository_nothing_is_captured_and_that_is_said(sandbox: Sandbox, script: str) -> None:
    sandbox.up()
    sandbox.call(script)
    status, body = sandbox.submit()
    assert status == 409
    assert b"nothing can be captured" in body
    assert b"NothingCaptured" in body
    sandbox.release()
    assert sandbox.call("echo alive") == (0, b"alive\n")


def test_a_submission_that_is_too_large_is_refused(sandbox: Sandbox) -> None:
    sandbox.hands = sandbox.start_hands()
    sandbox.serve = sandbox.start_serve(env={"ASSAY_SUBMISSION_BYTES": "100000"})
    sandbox.wait_ready()
    sandbox.call("head -c 200000 /dev/urandom > large")
    status, body = sandbox.submit()
    assert (status, b"SubmissionTooLarge" in body) == (413, True)


def test_what_was_untracked_from_the_start_is_no_change(sandbox: Sandbox) -> None:
    (sandbox.top / "build.log").write_text("of the image")
    sandbox.up()
    assert sandbox.submit() == (200, b"")


def test_files_with_the_line_ends_that_attributes_ask_for_are_no_change(tmp_path: Path, sandbox: Sandbox) -> None:
    commit(sandbox.top, {".gitattributes": b"*.bat text eol=crlf\n", "a.bat": b"one\ntwo\n"})
    (sandbox.top / "a.bat").write_bytes(b"one\r\ntwo\r\n")
    sandbox.up()
    assert sandbox.submit() == (200, b"")
    sandbox.release()
    sandbox.call("printf 'three\\r\\n' >> a.bat")
    diff = sandbox.submit(2)[1]
    assert diff.count(b"\n+") == 2
    assert b"+three\r\n" in diff
