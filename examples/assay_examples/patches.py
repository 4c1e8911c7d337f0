"""The base repository and the two patches of a task, made by git alone so that every byte survives.

Trees are compared by content, never by time: each is added through a fresh index. Line ends, identifiers and encodings
stay as they are whatever the tree's own `.gitattributes` says.
"""

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from assay_examples.commands import output_of

TEST_FOLDERS = frozenset({"tests", "test", "testdata", "_test"})
TEST_FILES = ("test_*.py", "*_test.py", "conftest.py", "*_test.go")
BYTES_AS_THEY_ARE = "* -text -filter -ident !eol !working-tree-encoding !diff\n"
_WHEN = "2001-01-01T00:00:00+0000"
_GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Assay examples" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "examples@assay.dev" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")},
}


def is_test_path(path: str) -> bool:
    """Whether a changed path belongs to the tests: by a folder that it lies in, or by its own name."""
    pure = PurePosixPath(path)
    in_folder = any(part in TEST_FOLDERS for part in pure.parts[:-1])
    return in_folder or any(fnmatchcase(pure.name, pattern) for pattern in TEST_FILES)


def commit_base(tree: Path) -> str:
    """Make `tree` a repository with everything in it as one commit on `main`; returns the commit's 40 hex digits."""
    _init(tree)
    _git(tree, "add", "--force", "--all", ".")
    _git(tree, "commit", "--quiet", "--message", "Base", "--no-verify", "--allow-empty")
    return _git(tree, "rev-parse", "HEAD").decode().strip()


def split_patches(
    before: Path, after: Path, *, scratch: Path, is_test: Callable[[str], bool] = is_test_path
) -> tuple[bytes, bytes]:
    """(test patch, reference patch) that lead from one tree to the other; `scratch` is an empty directory.

    The first takes every changed path that `is_test` claims, the second all others. Both are proven to lead from
    `before` to `after`; CommandError from git when they do not.
    """
    _init(scratch)
    old, new = _tree_of(scratch, before), _tree_of(scratch, after)
    middle = _middle_tree(scratch, old, new, is_test=is_test)
    test_patch, reference = _diff(scratch, old, middle), _diff(scratch, middle, new)
    prove_patches(scratch, old, [test_patch, reference], expected=new)
    return test_patch, reference


def prove_patches(repository: Path, tree: str, patches: list[bytes], *, expected: str) -> None:
    """ValueError when the patches, applied by `git apply` in this order, do not turn `tree` into `expected`."""
    index = {"GIT_INDEX_FILE": str(repository / ".git" / "proof")}
    _git(repository, "read-tree", tree, env=index)
    for patch in filter(None, patches):
        _git(repository, "apply", "--cached", "--whitespace=nowarn", env=index, stdin=patch)
    actual = _git(repository, "write-tree", env=index).decode().strip()
    if actual != expected:
        raise ValueError(f"the patches give tree {actual}, not {expected}")


def tag_solution(repository: Path, patches: Sequence[bytes], tag: str) -> None:
    """Add a commit on top of HEAD that has the patches, and a tag that leads to it; HEAD, index and files stay."""
    tree = _git(repository, "write-tree", env=_solved_index(repository, patches)).decode().strip()
    commit = _git(repository, "commit-tree", tree, "-p", "HEAD", "-m", "Release").decode().strip()
    _git(repository, "tag", "--annotate", "--message", tag, tag, commit)


def write_solution(repository: Path, patches: Sequence[bytes], into: Path) -> None:
    """Write the files of HEAD with the patches applied into a folder."""
    index = _solved_index(repository, patches)
    _git(repository, "checkout-index", "--all", f"--prefix={into.resolve()}/", env=index)


def _solved_index(repository: Path, patches: Sequence[bytes]) -> dict[str, str]:
    """The environment that makes git use an index of HEAD with the patches applied."""
    index = {"GIT_INDEX_FILE": str(repository.resolve() / ".git" / "solved")}
    _git(repository, "read-tree", "HEAD", env=index)
    for patch in filter(None, patches):
        _git(repository, "apply", "--cached", "--whitespace=nowarn", env=index, stdin=patch)
    return index


def _middle_tree(repository: Path, old: str, new: str, *, is_test: Callable[[str], bool]) -> str:
    """The old tree with the new tests: what the test patch leads to."""
    index = {"GIT_INDEX_FILE": str(repository / ".git" / "middle")}
    _git(repository, "read-tree", old, env=index)
    raw = _git(repository, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")
    lines = []
    for meta, path in zip(raw[0:-1:2], raw[1::2], strict=True):
        _, mode, _, digest, _ = meta.split(b" ")
        if is_test(os.fsdecode(path)):
            lines.append(b"%s %s\t%s\0" % (mode, digest, path))
    _git(repository, "update-index", "-z", "--index-info", env=index, stdin=b"".join(lines))
    return _git(repository, "write-tree", env=index).decode().strip()


def _tree_of(repository: Path, folder: Path) -> str:
    index = {"GIT_INDEX_FILE": str(repository / ".git" / f"index-{folder.name}")}
    _git(repository, "--work-tree", str(folder.resolve()), "add", "--force", "--all", ".", env=index, cwd=folder)
    return _git(repository, "write-tree", env=index).decode().strip()


def _diff(repository: Path, old: str, new: str) -> bytes:
    return _git(
        repository, "diff-tree", "-p", "--binary", "--full-index", "-M", "--no-ext-diff", "--no-textconv", old, new
    )


def _init(folder: Path) -> None:
    _git(folder, "init", "--quiet", "--initial-branch", "main", "--template=", ".")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "attributes").write_text(BYTES_AS_THEY_ARE)


def _git(
    repository: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    stdin: bytes | None = None,
    cwd: Path | None = None,
) -> bytes:
    git_dir = ["--git-dir", str(repository.resolve() / ".git")] if cwd else []
    environment = {**_GIT_ENVIRONMENT, **(env or {})}
    return output_of(["git", *git_dir, *arguments], cwd=cwd or repository, env=environment, stdin=stdin)
