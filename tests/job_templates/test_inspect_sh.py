"""inspect.sh on planted images: what git, installed packages and module caches hold beside the base commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.domain.inspection import Inspection, distinctive_lines, endings_of, inspection_of

SCRIPT = Path(__file__).parents[2] / "job_templates" / "inspect.sh"
PATCH = b"""diff --git a/lib.go b/lib.go
--- a/lib.go
+++ b/lib.go
@@ -1,1 +1,4 @@
 package lib
+func SolvesTheTask(argument int) int { return argument * 17 }
+// This sentence explains the solution of the task.
+func AnotherPartOfTheSolution() string { return "forty-two" }
"""
SOLUTION = "\n".join(
    (
        "package lib",
        "func SolvesTheTask(argument int) int { return argument * 17 }",
        'func AnotherPartOfTheSolution() string { return "forty-two" }',
    )
)
SHELLS = [shell for shell in (["sh"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(shell[0])]


class Image:
    """A folder that stands for an image's file system, with a work tree of one commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = root / "work"
        self.tree.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("work/go.mod", "module example.org/Own/lib\n")
        self.write("work/lib.go", "package lib\n")
        self.git("add", ".")
        self.commit("base")

    def git(self, *words: str) -> str:
        """Run git in the work tree."""
        identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
        done = subprocess.run(("git", *identity, *words), cwd=self.tree, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("commit", "-q", "--allow-empty", "-a", "-m", message)

    def write(self, path: str, text: str = "") -> None:
        """Make a file of the image."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def inspected(self, shell: list[str], **environ: str) -> Inspection:
        """What inspect.sh tells of the image."""
        inputs = self.root.parent / "inputs"
        inputs.mkdir(exist_ok=True)
        lines = distinctive_lines(PATCH)
        (inputs / "lines.001").write_bytes(b"".join(line + b"\n" for line in lines))
        (inputs / "endings.001").write_text("".join(f"{ending}\n" for ending in endings_of(PATCH)))
        environment = os.environ | {"ASSAY_INSPECT": str(inputs), "ASSAY_INSPECT_ROOT": str(self.root)} | environ
        done = subprocess.run([*shell, str(SCRIPT)], cwd=self.tree, env=environment, capture_output=True, check=True)
        return inspection_of(done.stdout.decode(), lines)


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def shell(request: pytest.FixtureRequest) -> list[str]:
    chosen: list[str] = request.param
    return chosen


@pytest.fixture
def image(tmp_path: Path) -> Image:
    root = tmp_path / "image"
    root.mkdir()
    return Image(root)


def test_a_clean_image_holds_nothing(image: Image, shell: list[str]) -> None:
    found = image.inspected(shell)
    assert found.complete
    assert (found.outside, found.history, found.solution_copies(), found.modules) == (0, (), [], ())
    assert found.own_modules == ("example.org/Own/lib",)


def test_history_that_leads_to_the_base_is_no_finding(image: Image, shell: list[str]) -> None:
    image.commit("more")
    assert image.inspected(shell).outside == 0


def test_a_tag_past_the_base_is_found(image: Image, shell: list[str]) -> None:
    image.commit("the fix")
    image.git("tag", "-a", "v9", "-m", "release")
    image.git("reset", "-q", "--hard", "HEAD~1")
    found = image.inspected(shell)
    assert found.outside == 2
    assert any("the fix" in line for line in found.history)
    assert any(line.startswith("tag ") and "v9" in line for line in found.history)


@pytest.mark.parametrize("packed", [False, True])
def test_a_commit_that_nothing_refers_to_is_found(image: Image, shell: list[str], packed: bool) -> None:
    image.commit("the fix")
    image.git("reset", "-q", "--hard", "HEAD~1")
    if packed:
        image.git("repack", "-q", "-a", "-d")
    image.git("update-ref", "-d", "ORIG_HEAD")
    assert any("the fix" in line for line in image.inspected(shell).history)


def test_a_stash_is_found(image: Image, shell: list[str]) -> None:
    image.write("work/lib.go", SOLUTION)
    image.git("stash")
    assert image.inspected(shell).outside > 0


def test_a_dangling_file_is_found(image: Image, shell: list[str]) -> None:
    image.write("fix.go", SOLUTION)
    image.git("hash-object", "-w", str(image.root / "fix.go"))
    (image.root / "fix.go").unlink()
    found = image.inspected(shell)
    assert (found.outside, [line.split()[0] for line in found.history]) == (1, ["object"])


def test_an_object_store_elsewhere_is_found(image: Image, shell: list[str]) -> None:
    other = image.root / "other"
    subprocess.run(("git", "init", "-q", str(other)), check=True)
    image.write("work/.git/objects/info/alternates", f"{other}/.git/objects\n")
    assert any("alternates" in line for line in image.inspected(shell).history)


@pytest.mark.parametrize("place", ["usr/lib/pkg/lib.go", "work/untracked: name.go"])
def test_a_newer_release_elsewhere_that_holds_the_solution_is_found(image: Image, shell: list[str], place: str) -> None:
    image.write(place, SOLUTION)
    (copy,) = image.inspected(shell).solution_copies()
    assert copy.endswith(Path(place).name)


def test_a_file_that_shares_a_line_by_chance_is_no_copy(image: Image, shell: list[str]) -> None:
    image.write("usr/lib/pkg/lib.go", SOLUTION.splitlines()[1])
    image.write("usr/lib/pkg/lib.txt", SOLUTION)
    assert image.inspected(shell).solution_copies() == []


def test_lines_that_the_base_has_already_are_no_evidence(image: Image, shell: list[str]) -> None:
    image.write("work/old.go", SOLUTION)
    image.git("add", ".")
    image.commit("the same lines elsewhere in the tree")
    image.write("usr/lib/pkg/lib.go", SOLUTION)
    assert image.inspected(shell).solution_copies() == []


@pytest.mark.parametrize(
    "place",
    [
        "root/go/pkg/mod/cache/download/example.org/!own/lib/@v/v1.2.3.zip",
        "root/go/pkg/mod/example.org/!own/lib@v1.2.3/lib.go",
        "root/go/pkg/mod/example.org/!own/lib/v2@v2.0.0/lib.go",
        "gopath/src/example.org/Own/lib/lib.go",
    ],
)
def test_the_tasks_own_module_is_found_in_a_cache(image: Image, shell: list[str], place: str) -> None:
    image.write(place)
    image.write("root/go/pkg/mod/cache/download/example.org/other/@v/v1.0.0.zip")
    (held,) = image.inspected(shell).own_copies()
    assert held.module.startswith("example.org/Own/lib")


def test_the_tasks_own_module_is_found_in_a_vendor_tree(image: Image, shell: list[str]) -> None:
    image.write("srv/app/vendor/modules.txt", "# example.org/Own/lib v1.0.0\n## explicit\n# example.org/other v1.0.0\n")
    assert [(held.module, held.version) for held in image.inspected(shell).own_copies()] == [
        ("example.org/Own/lib", "v1.0.0")
    ]


def test_a_fork_in_a_vendor_tree_is_found_by_what_it_replaces(image: Image, shell: list[str]) -> None:
    image.write("work/vendor/modules.txt", "# example.org/x v1.0.0 => example.org/Own/lib v1.1.0\n")
    assert [held.module for held in image.inspected(shell).own_copies()] == ["example.org/Own/lib"]


@pytest.mark.parametrize(
    ("asked", "missing"), [("--batch-all-objects", "git 2.6"), ("rev-list", "whole history of the base")]
)
def test_a_git_that_cannot_answer_is_told_and_passes_for_no_clean_image(
    image: Image, tmp_path: Path, asked: str, missing: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    wrapper = programs / "git"
    wrapper.write_text(f'#!/bin/sh\ncase " $* " in *" {asked} "*) exit 129 ;; esac\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    found = image.inspected(["sh"], PATH=f"{programs}:{os.environ['PATH']}")
    assert (found.complete, found.missing) == (True, (missing,))


@pytest.mark.parametrize("name", ["line\u2028break.go", "form\x0cfeed.go", "ret\rurn.go", "next\x85line.go"])
def test_an_odd_name_hides_no_copy(image: Image, shell: list[str], name: str) -> None:
    image.write(f"usr/lib/{name}", SOLUTION)
    (copy,) = image.inspected(shell).solution_copies()
    assert copy.endswith(f"/usr/lib/{name}")


def test_a_list_that_is_too_long_is_cut_and_told_so(tmp_path: Path) -> None:
    told = "\n".join([*(f"cached\t/root/go/pkg/mod/example.org/a@v1.0.{n}" for n in range(3)), "more-cached\t30000"])
    assert inspection_of(f"{told}\nmore-ref\t30000\ndone\t1\n", ()).cut == ("cached",)
    script = SCRIPT.read_text()
    tell = script[script.index("say() {") : script.index("plain_git() {")]
    command = f'inspect_most=2\n{tell}\nprintf "a\\nb\\nc\\n" | tell copy'
    done = subprocess.run(("sh", "-c", command), capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "copy\ta\ncopy\tb\nmore-copy\t3\n"


def test_what_is_missing_is_told(image: Image, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "find", "grep", "sort", "head", "xargs", "mktemp", "rm", "cat", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        (str(programs / "sh"), str(SCRIPT)),
        cwd=image.tree,
        env={"PATH": str(programs), "ASSAY_INSPECT_ROOT": str(image.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert inspection_of(done.stdout, ()).missing == ("uniq",)
