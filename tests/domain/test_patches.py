"""Which paths a diff names, and which diffs are refused before any pod exists."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.patches import fault_of_patch, header_lines, paths_of, unquoted
from builders import PATCH, TEST_PATCH


def adding(path: str, text: str = "x") -> bytes:
    """Return a diff that adds one file."""
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..0000001\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}\n"
    ).encode()


def linking(path: str, target: str) -> bytes:
    """Return a diff that adds a symbolic link."""
    return adding(path, target).replace(b"100644", b"120000") + b"\\ No newline at end of file\n"


RENAME = b"diff --git a/s/run.sh b/s/go.sh\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from s/run.sh\nrename to s/go.sh\n"
COPY = b"diff --git a/x y b/z\nsimilarity index 100%\ncopy from x y\ncopy to z\n"
MODE_ONLY = b"diff --git a/bin/a b b/bin/a b\nold mode 100644\nnew mode 100755\n"
EMPTY_FILE = b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
BINARY = b"diff --git a/l.png b/l.png\nindex 1..2 100644\nGIT binary patch\nliteral 4\nLc${Nk-vK-U3JU-L\n\nliteral 0\nHcmV?d00001\n\n"
QUOTED = b'diff --git "a/na\\303\\257ve\\t.py" "b/na\\303\\257ve\\t.py"\n--- "a/na\\303\\257ve\\t.py"\n+++ "b/na\\303\\257ve\\t.py"\n@@ -1 +1 @@\n-a\n+b\n'
CRLF = b"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
CRLF_THROUGHOUT = CRLF.replace(b"\r", b"").replace(b"\n", b"\r\n")
NO_PREFIX = b"diff --git setup.py setup.py\n--- setup.py\n+++ setup.py\n@@ -1 +1 @@\n-a\n+b\n"
PLAIN = b"--- a/m.py\t2020-01-01 00:00:00\n+++ b/m.py\t2020-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n"
MAILED = (
    b"From 1 Mon Sep 17 00:00:00 2001\nSubject: x\n\nrename the thing\n---\n m.py | 2 +-\n\n" + CRLF + b"-- \n2.39\n"
)
DIFF_INSIDE = (
    b"diff --git a/t.diff b/t.diff\n--- a/t.diff\n+++ b/t.diff\n@@ -1,3 +1,3 @@\n diff --git a/../u b/../u\n"
    b"--- a/../../etc/passwd\n-rename to /etc\n+++ b/../../etc/passwd\n+rename to /etc/shadow\n"
)
NOT_UTF8 = b"diff --git a/b\xff b/b\xff\n--- a/b\xff\n+++ b/b\xff\n@@ -1 +1 @@\n-\xfe\n+\xfd\n"
BARE_CR = b"diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n a\r--- a/../x\rb\n-c\n+d\n"
NO_NEWLINE = b"diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"

GOOD = {
    "text": (PATCH.encode(), {b"m.py"}),
    "test patch": (TEST_PATCH.encode(), {b"tests/test_m.py"}),
    "new file": (adding("tests/test_new.py"), {b"tests/test_new.py"}),
    "rename": (RENAME, {b"s/run.sh", b"s/go.sh"}),
    "copy": (COPY, {b"x y", b"z"}),
    "mode alone, blank in the name": (MODE_ONLY, {b"bin/a b"}),
    "empty file": (EMPTY_FILE, {b"e"}),
    "binary": (BINARY, {b"l.png"}),
    "quoted": (QUOTED, {"naïve\t.py".encode()}),
    "CRLF in the text": (CRLF, {b"m.py"}),
    "CRLF throughout": (CRLF_THROUGHOUT, {b"m.py"}),
    "without prefixes": (NO_PREFIX, {b"setup.py"}),
    "prefixes of git's diff.mnemonicPrefix": (CRLF.replace(b"a/", b"c/").replace(b"b/", b"w/"), {b"m.py"}),
    "prefixes of a user's own": (CRLF.replace(b"a/", b"old/").replace(b"b/", b"new/"), {b"m.py"}),
    "mode alone, prefixes of a user's own": (
        MODE_ONLY.replace(b"a/", b"before/").replace(b" b/", b" new/"),
        {b"bin/a b"},
    ),
    "rename, CRLF throughout": (RENAME.replace(b"\n", b"\r\n"), {b"s/run.sh", b"s/go.sh"}),
    "mode alone, CRLF throughout": (MODE_ONLY.replace(b"\n", b"\r\n"), {b"bin/a b"}),
    "without git's header": (PLAIN, {b"m.py"}),
    "mailed": (MAILED, {b"m.py"}),
    "a diff in the text": (DIFF_INSIDE, {b"t.diff"}),
    "not UTF-8": (NOT_UTF8, {b"b\xff"}),
    "bare CR": (BARE_CR, {b"m"}),
    "no newline at the end": (NO_NEWLINE, {b"m"}),
    "two files": (CRLF + EMPTY_FILE, {b"m.py", b"e"}),
    "dots that are names": (adding("a/..b/c..d/...") + adding(".github/x"), {b"a/..b/c..d/...", b".github/x"}),
    "a link inside": (linking("docs/l", "../m.py"), {b"docs/l"}),
    "a link to a neighbour": (linking("l", "./m.py"), {b"l"}),
    "a path in the text of a link's neighbour": (linking("l", "m") + adding("n", "/etc/passwd"), {b"l", b"n"}),
}


@pytest.mark.parametrize(("patch", "paths"), GOOD.values(), ids=GOOD.keys())
def test_a_good_patch_is_taken_and_its_paths_are_known(patch: bytes, paths: set[bytes]) -> None:
    assert fault_of_patch(patch) == ""
    assert set(paths_of(patch)) == paths


@pytest.mark.parametrize("patch", [b"", b"\n", b" \r\n\t"])
def test_an_empty_patch_is_no_fault(patch: bytes) -> None:
    assert fault_of_patch(patch) == ""
    assert paths_of(patch) == ()


CHANGED_LINK = (
    b"diff --git a/l b/l\nindex 4d1ae35..9b40195 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-f\n"
    b"\\ No newline at end of file\n+../../etc/passwd\n\\ No newline at end of file\n"
)
BAD = {
    "prose": (b"just do it\n", "is not a git diff"),
    "a rule in prose": (b"--- \nfirst\n--- second\nthird\n", "is not a git diff"),
    "a list": (b"- a\n+ b\n", "is not a git diff"),
    "above the tree": (adding("../x"), "names '../x', which is outside of the work tree"),
    "up and out": (adding("a/../../x"), "names 'a/../../x', which is outside of the work tree"),
    "absolute": (adding("/etc/passwd"), "names the absolute path '/etc/passwd'"),
    "a rename to outside": (RENAME.replace(b"to s/go", b"to ../go"), "names '../go.sh', which is outside"),
    "a copy from an absolute path": (COPY.replace(b"from x y", b"from /etc/x"), "names the absolute path '/etc/x'"),
    "above the tree without git's header": (PLAIN.replace(b"b/m", b"b/../m"), "names '../m.py', which is outside"),
    "quoted": (QUOTED.replace(b"/na", b"/../na"), "which is outside of the work tree"),
    "an octal dot": (QUOTED.replace(b"/na", b"/.\\056/na"), "which is outside of the work tree"),
    "the repository": (adding(".git/hooks/post-checkout"), "names '.git/hooks/post-checkout', which is inside of .git"),
    "the repository in capitals": (adding(".GIT/config"), "which is inside of .git"),
    "a repository below": (adding("vendor/x/.git/config"), "which is inside of .git"),
    "the repository behind another prefix": (adding("x").replace(b" b/x", b" q/.git/x"), "which is inside of .git"),
    "a link up and out": (linking("docs/l", "../../x"), "makes a symbolic link to '../../x', which is outside"),
    "an absolute link": (linking("l", "/etc"), "makes a symbolic link to '/etc'"),
    "a link down, up and out": (linking("l", "a/../../x"), "makes a symbolic link to 'a/../../x'"),
    "a changed link": (CHANGED_LINK, "makes a symbolic link to '../../etc/passwd'"),
    "second of two": (CRLF + adding("../x"), "names '../x'"),
}


@pytest.mark.parametrize(("patch", "fault"), BAD.values(), ids=BAD.keys())
def test_a_bad_patch_is_refused_with_a_sentence(patch: bytes, fault: str) -> None:
    assert fault in fault_of_patch(patch)


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        (b"a", b"a"),
        (b'"a"', b"a"),
        (b'"', b'"'),
        (b'""', b""),
        (b'"\\303\\274"', "ü".encode()),
        (b'"\\"\\\\\\n\\t\\r\\a\\b\\f\\v"', b'"\\\n\t\r\a\b\f\v'),
        (b'"\\8"', b"8"),
        (b'"\\19"', b"19"),
        (b'"\\777"', b"\xff"),
    ],
)
def test_git_quotes_are_taken_off(quoted: bytes, path: bytes) -> None:
    assert unquoted(quoted) == path


def test_lines_inside_of_hunks_are_not_headers() -> None:
    assert [line for line in header_lines(DIFF_INSIDE) if line.startswith((b"--- ", b"+++ ", b"rename"))] == [
        b"--- a/t.diff",
        b"+++ b/t.diff",
    ]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_get_an_answer(content: bytes) -> None:
    quoted = b'diff --git "a/' + content + b'" "b/' + content + b'"\n--- "' + content + b'"\n'

    assert isinstance(fault_of_patch(content), str)
    assert isinstance(fault_of_patch(quoted), str)


NAME = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name not in {".", ".."} and name.lower() != ".git"
)


@settings(deadline=None)
@given(st.lists(NAME, min_size=1, max_size=3).map("/".join))
def test_every_path_that_git_quotes_is_read_back(path: str) -> None:
    raw = path.encode()
    plain = all(32 <= byte < 127 and byte not in b'"\\' for byte in raw)
    name = raw if plain else b"".join(b"\\%03o" % byte for byte in raw)
    old, new = (b"a/" + name, b"b/" + name) if plain else (b'"a/' + name + b'"', b'"b/' + name + b'"')
    end = b"\t" if b" " in raw and plain else b""
    patch = b"diff --git %s %s\n--- %s%s\n+++ %s%s\n@@ -1 +1 @@\n-a\n+b\n" % (old, new, old, end, new, end)

    assert paths_of(patch) == (raw,)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    for command in (["init", "-q"], ["config", "user.email", "a@b.test"], ["config", "user.name", "a"]):
        subprocess.run([git(), *command], cwd=tmp_path, check=True)
    (tmp_path / "m.py").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "naïve \t.py").write_bytes(b"\xff\xfe\n")
    (tmp_path / "old name").write_bytes(b"text\n" * 20)
    (tmp_path / "link").symlink_to("m.py")
    subprocess.run([git(), "add", "-A"], cwd=tmp_path, check=True)
    subprocess.run([git(), "commit", "-qm", "base"], cwd=tmp_path, check=True)
    return tmp_path


def git() -> str:
    found = shutil.which("git")
    assert found is not None
    return found


def test_what_git_itself_writes_is_taken_and_read(tree: Path) -> None:
    (tree / "m.py").write_bytes(b"one\r\nthree")
    (tree / "naïve \t.py").write_bytes(b"\xfd\n")
    (tree / "old name").rename(tree / "new name")
    (tree / "empty").touch()
    (tree / "blob").write_bytes(bytes(range(256)))
    (tree / "link").unlink()
    (tree / "link").symlink_to("empty")
    subprocess.run([git(), "add", "-A"], cwd=tree, check=True)
    patch = subprocess.run(
        [git(), "diff", "--cached", "--binary", "-M"], cwd=tree, check=True, capture_output=True
    ).stdout

    assert fault_of_patch(patch) == ""
    assert {path.decode() for path in paths_of(patch)} == {
        "m.py",
        "naïve \t.py",
        "old name",
        "new name",
        "empty",
        "blob",
        "link",
    }


@pytest.mark.parametrize("name", ["above the tree", "up and out", "the repository", "a repository below", "prose"])
def test_git_refuses_what_is_refused_here(tree: Path, name: str) -> None:
    command = [git(), "apply", "--check", "-"]

    assert subprocess.run(command, cwd=tree, input=BAD[name][0], capture_output=True, check=False).returncode != 0
