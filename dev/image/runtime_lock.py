"""The part of the lock file that Assay needs to run: what its own dependencies reach, with the hashes.

    python3 runtime_lock.py requirements.txt pyproject.toml > runtime.txt

The lock's `# via` comments say who needs what; pyproject.toml says what Assay itself needs.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", re.MULTILINE)
NAME = re.compile(r"[A-Za-z0-9._-]+")


def runtime_lock(lock: str, project: str) -> str:
    """Return the entries of `lock` that `project` needs outside of development; a missing one is a KeyError."""
    entries = dict(_entries(lock))
    roots = {_normal(NAME.match(need)[0]) for need in tomllib.loads(project)["project"]["dependencies"]}
    return "".join(entries[name] for name in sorted(_reached(entries, roots)))


def _entries(lock: str) -> Iterator[tuple[str, str]]:
    starts = [*ENTRY.finditer(lock)]
    ends = [*(match.start() for match in starts[1:]), len(lock)]
    for match, end in zip(starts, ends, strict=True):
        yield _normal(match[1]), lock[match.start() : end]


def _reached(entries: Mapping[str, str], roots: set[str]) -> set[str]:
    """Close `roots` under "is needed by one of them"."""
    needed_by = {name: _parents(entry) for name, entry in entries.items()}
    reached = set(roots)
    while more := {name for name, parents in needed_by.items() if parents & reached} - reached:
        reached |= more
    return reached


def _parents(entry: str) -> set[str]:
    """Who needs an entry, by its `# via` comment: one name on that line, or one a line below it."""
    comments = [line.strip().removeprefix("#").strip() for line in entry.splitlines() if line.strip().startswith("#")]
    words = " ".join(comments).removeprefix("via").split()
    return {_normal(word) for word in words if NAME.fullmatch(word)}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    lock, project = (Path(argument).read_text(encoding="utf-8") for argument in sys.argv[1:3])
    sys.stdout.write(runtime_lock(lock, project))
