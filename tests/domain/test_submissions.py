"""What of a submitted diff is applied: cheats gain nothing, honest helper files cost nothing."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.patches import quoted, unquoted
from assay.domain.protected import WhyIgnored
from assay.domain.submissions import Applied, Refused, submission_of
from builders import PATCH, make_task


def adding(path: str, text: str = "x", mode: str = "100644") -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..0000001\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}\n"
    ).encode()


FIX = PATCH.encode()
TASK = make_task()

IGNORED = {
    "the test patch's own file": ("tests/test_m.py", WhyIgnored.TEST_PATCH),
    "another test": ("tests/test_other.py", WhyIgnored.TEST),
    "a test beside its code": ("pkg/util_test.go", WhyIgnored.TEST),
    "a JavaScript spec": ("src/lid.spec.ts", WhyIgnored.TEST),
    "a Java test": ("src/main/java/a/LidTest.java", WhyIgnored.TEST),
    "a fixture in a test folder": ("src/test/resources/a.json", WhyIgnored.TEST),
    "a conftest": ("conftest.py", WhyIgnored.STEERING),
    "a nested conftest": ("pkg/conftest.py", WhyIgnored.STEERING),
    "pytest.ini": ("pytest.ini", WhyIgnored.STEERING),
    "tool sections of pyproject": ("pyproject.toml", WhyIgnored.STEERING),
    "attributes": (".gitattributes", WhyIgnored.STEERING),
    "attributes further down": ("a/b/.gitattributes", WhyIgnored.STEERING),
    "sitecustomize": ("sitecustomize.py", WhyIgnored.STEERING),
    "a path file": ("lib/evil.pth", WhyIgnored.STEERING),
    "an entry point": ("evil-1.0.dist-info/entry_points.txt", WhyIgnored.STEERING),
    "jest's configuration": ("jest.config.mjs", WhyIgnored.STEERING),
    "vitest's workspace": ("vitest.workspace.ts", WhyIgnored.STEERING),
    "mocha's configuration": (".mocharc.yml", WhyIgnored.STEERING),
    "phpunit's configuration": ("phpunit.xml.dist", WhyIgnored.STEERING),
    "a build script": ("build.rs", WhyIgnored.STEERING),
    "cargo's configuration": (".cargo/config.toml", WhyIgnored.STEERING),
    "a make target": ("Makefile", WhyIgnored.STEERING),
    "a module that is no runner": ("pytest.py", WhyIgnored.STAND_IN),
    "a package that is no runner": ("_pytest/__init__.py", WhyIgnored.STAND_IN),
    "old byte code": ("pkg/__pycache__/m.cpython-311.pyc", WhyIgnored.INSTALLED),
    "a dependency": ("node_modules/jest/index.js", WhyIgnored.INSTALLED),
    "a file where the test patch needs a folder": ("tests", WhyIgnored.IN_THE_WAY),
    "a folder where the test patch needs a file": ("tests/test_m.py/x", WhyIgnored.IN_THE_WAY),
}
APPLIED = (
    "m.py",
    "README.md",
    "testing/tools.py",
    "contest.py",
    "src/latest.py",
    "src/attest/x.py",
    "requirements.txt",
)


@pytest.mark.parametrize("path", ["run_checks.sh", "target/surefire-reports/TEST-A.xml"])
def test_what_a_test_command_runs_or_prints_is_left_out_unless_the_reference_patch_touches_it(path: str):
    commands = ("./run_checks.sh", "mvn -q test && cat target/surefire-reports/*.xml", "python m.py")
    found = submission_of(adding(path) + FIX, make_task(commands=commands))
    assert isinstance(found, Applied)
    assert found.diff == FIX
    assert [(str(one), one.why) for one in found.ignored] == [(path, WhyIgnored.NAMED)]


@pytest.mark.parametrize(("path", "why"), IGNORED.values(), ids=IGNORED)
def test_what_steers_or_is_a_test_is_left_out_and_listed_beside_a_fix(path: str, why: WhyIgnored):
    found = submission_of(adding(path) + FIX, TASK)
    assert isinstance(found, Applied)
    assert found.diff == FIX
    assert [(str(one), one.why) for one in found.ignored] == [(path, why)]


@pytest.mark.parametrize("path", APPLIED)
def test_source_is_applied_as_it_is(path: str):
    found = submission_of(adding(path), TASK)
    assert found == Applied(diff=adding(path), paths=(path.encode(),))


@pytest.mark.parametrize("path", ["tests/conftest.py", "pyproject.toml", "tests/test_m.py", "pytest.py"])
def test_a_path_that_the_reference_patch_touches_is_the_tasks_business(path: str):
    task = make_task(patch=FIX + adding(path))
    assert submission_of(adding(path), task) == Applied(diff=adding(path), paths=(path.encode(),))


def test_a_rename_is_left_out_whichever_end_is_a_test():
    for old, new in (("tests/test_other.py", "gone.py"), ("m.py", "conftest.py")):
        move = f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n".encode()
        found = submission_of(move + FIX, TASK)
        assert isinstance(found, Applied)
        assert found.diff == FIX


@pytest.mark.parametrize("prefixes", [("a", "b"), ("i", "w"), ("old", "new")])
def test_no_prefix_hides_a_path(prefixes: tuple[str, str]):
    old, new = prefixes
    diff = f"diff --git {old}/tests/test_m.py {new}/tests/test_m.py\n--- {old}/tests/test_m.py\n+++ {new}/tests/test_m.py\n@@ -1 +1 @@\n-a\n+b\n"
    found = submission_of(diff.encode(), TASK)
    assert isinstance(found, Applied)
    assert not found.diff
    assert found.ignored[0].why is WhyIgnored.TEST_PATCH


def test_a_false_hunk_before_a_section_hides_nothing():
    found = submission_of(b"@@ -1,100 +1,100 @@\n" + adding("conftest.py") + FIX, TASK)
    assert isinstance(found, Applied)
    assert found.diff == FIX


def test_links_out_of_the_tree_and_other_repositories_are_left_out():
    link = adding("data", "/etc", "120000") + b"\\ No newline at end of file\n"
    gitlink = adding("other", "Subproject commit " + "1" * 40, "160000")
    found = submission_of(link + gitlink + FIX, TASK)
    assert isinstance(found, Applied)
    assert found.diff == FIX
    assert {one.why for one in found.ignored} == {WhyIgnored.OUTSIDE_LINK, WhyIgnored.SUBMODULE}


REFUSED = {
    "outside": adding("../evil.py"),
    "absolute": adding("x").replace(b"b/x", b"/etc/x"),
    "in .git": adding(".git/hooks/post-checkout"),
    "in another .git": adding("sub/.GIT/config"),
    "no diff": b"I have fixed it.\n",
    "cut off": PATCH.encode()[:-25],
    "damaged": FIX.replace(b"+    return 2", b"~    return 2"),
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_what_no_honest_tool_writes_is_refused_with_a_reason(content: bytes):
    found = submission_of(content, TASK)
    assert isinstance(found, Refused)
    assert found.why


def test_nothing_is_nothing():
    assert submission_of(b" \n", TASK) == Applied(diff=b"", paths=())


def test_a_lost_final_newline_is_made_good():
    assert submission_of(FIX[:-1], TASK) == submission_of(FIX, TASK)


def test_mail_around_a_diff_is_dropped():
    found = submission_of(b"From 1 Mon\nSubject: x\n\n---\n m.py | 2 +-\n\n" + FIX + b"-- \n2.39\n\n", TASK)
    assert isinstance(found, Applied)
    assert found.diff == FIX


TREES = st.dictionaries(
    st.sampled_from(["m.py", "tests/test_a.py", "conftest.py", "a b.txt", "src/x.py", 'q"t.py', "naïve.py", "tab\t.c"]),
    st.binary(max_size=30),
    max_size=5,
)


@settings(max_examples=25, deadline=None)
@given(before=TREES, after=TREES)
def test_what_is_kept_changes_exactly_the_listed_paths(before, after, tmp_path_factory):
    """git's own diff of two trees, filtered, applies, and changes every path that is kept and none that is not."""
    folder = tmp_path_factory.mktemp("tree")

    def git(*words: str, stdin: bytes = b"") -> bytes:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.test", *words],
            cwd=folder, input=stdin, capture_output=True, check=True,
        ).stdout  # fmt: skip

    def state(tree: dict[str, bytes]) -> str:
        for path in folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in tree.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        git("add", "-A", "-f")
        git("commit", "-q", "--allow-empty", "-m", "state")
        return git("rev-parse", "HEAD").decode().strip()

    git("init", "-q")
    new, old = state(after), state(before)
    diff = git("diff", "--binary", "--full-index", "-M", old, new)
    found = submission_of(diff, TASK)
    assert isinstance(found, Applied)
    if found.diff:
        git("apply", "--index", stdin=found.diff)
    changed = set(git("diff", "--cached", "--no-renames", "--name-only", "-z", old).split(b"\0")) - {b""}
    every = set(git("diff", "--no-renames", "--name-only", "-z", old, new).split(b"\0")) - {b""}
    assert changed <= set(found.paths)
    assert not changed & {b"tests/test_a.py", b"conftest.py"}
    assert every - changed <= {b"tests/test_a.py", b"conftest.py"} | _renamed_with_them(diff)


def _renamed_with_them(diff: bytes) -> set[bytes]:
    """Paths that git moved from or to a protected one: left out together with it."""
    return {
        unquoted(line.split(b" ", 2)[2])
        for part in diff.split(b"diff --git ")
        if b"rename " in part and (b"conftest.py" in part or b"tests/test_a.py" in part)
        for line in part.split(b"\n")
        if line.startswith((b"rename from ", b"rename to "))
    }


@given(st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path))
def test_quoting_a_path_is_undone_by_unquoting(path: bytes):
    assert unquoted(quoted(path)) == path or (path == quoted(path) and path.startswith(b'"'))


@given(st.binary(max_size=300))
def test_any_bytes_are_applied_or_refused_and_never_an_error(content: bytes):
    assert isinstance(submission_of(content, TASK), Applied | Refused)


def test_a_submission_of_many_files_is_one_submission():
    many = b"".join(adding(f"src/f{number}.py", "x" * 1000) for number in range(5_000))
    found = submission_of(many, TASK)
    assert isinstance(found, Applied)
    assert len(found.paths) == 5_000
