"""Source files for the deny list, read out of git clones or out of what the operator's pods read from images."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.domain.denylist import SourceFile

_MAX_FILE = 1 << 20


class CheckoutError(Exception):
    """Git could not read what was asked for; nothing is known of that commit."""


def clone_of(clones: Path, repo: str) -> Path | None:
    """Return the clone of owner/name below a directory: ``owner/name``, ``owner__name`` or ``name``, bare or not."""
    owner, _, name = repo.partition("/")
    stems = (clones / owner / name, clones / f"{owner}__{name}", clones / name)
    places = [place for stem in stems for place in (stem, stem.with_name(f"{stem.name}.git"))]
    return next((place for place in places if (place / ".git").exists() or (place / "HEAD").is_file()), None)


def source_files(clone: Path, base_commit: str) -> Iterator[SourceFile]:
    """Yield every go.mod at the base commit and on the default branch; without a root one, the import comments too."""
    for at, commit in (("base", base_commit), ("default branch", _default_branch(clone))):
        names = _git(clone, "ls-tree", "-r", "--name-only", "-z", "--end-of-options", commit).split("\0")
        gomods = [name for name in names if name.rpartition("/")[2] == "go.mod"]
        for name in gomods:
            yield SourceFile(at=at, path=name, text=_git(clone, "show", "--end-of-options", f"{commit}:{name}"))
        if "go.mod" not in gomods:
            yield from _commented(clone, at, commit)


def _commented(clone: Path, at: str, commit: str) -> Iterator[SourceFile]:
    """Yield the package clauses of Go files that have an import comment."""
    pattern = r"^package +[A-Za-z0-9_]+ +(//|/\*) *import "
    found = _git(clone, "grep", "-I", "-E", "-z", pattern, commit, "--", "*.go", may_be_empty=True)
    for line in found.splitlines():
        name, _, text = line.removeprefix(f"{commit}:").partition("\0")
        yield SourceFile(at=at, path=name, text=text)


def _default_branch(clone: Path) -> str:
    """Return what the remote's HEAD, else the clone's own, points at."""
    for reference in ("refs/remotes/origin/HEAD", "HEAD"):
        commit = _git(clone, "rev-parse", "--verify", "-q", f"{reference}^{{commit}}", may_be_empty=True).strip()
        if commit:
            return commit
    raise CheckoutError(f"{clone} has no default branch")


def _git(clone: Path, *arguments: str, may_be_empty: bool = False) -> str:
    result = subprocess.run(  # noqa: S603 - arguments are ours; revisions stand behind --end-of-options
        ["git", "-C", str(clone), *arguments],  # noqa: S607 - git is found as the user has it
        capture_output=True,
        check=False,
    )
    if result.returncode != 0 and not may_be_empty:
        raise CheckoutError(f"git {arguments[0]} in {clone}: {result.stderr.decode(errors='replace').strip()}")
    return result.stdout.decode("utf-8", errors="replace")


def files_by_task(path: Path) -> Mapping[str, list[SourceFile]]:
    """Read what pods found in images: JSON lines ``{"task", "at", "path", "text"}``; raises ValueError."""
    found: dict[str, list[SourceFile]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        raw = json.loads(line)
        if not isinstance(raw, dict) or not all(
            isinstance(raw.get(key), str) for key in ("task", "at", "path", "text")
        ):
            raise ValueError(f"{path}, line {number}: expected task, at, path and text")
        if len(raw["text"]) > _MAX_FILE:
            raise ValueError(f"{path}, line {number}: the text is longer than {_MAX_FILE} characters")
        found.setdefault(raw["task"], []).append(SourceFile(at=raw["at"], path=raw["path"], text=raw["text"]))
    return found
