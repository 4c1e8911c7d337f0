"""Which files a task's test commands name: the script that runs the tests, and the reports that are printed after them.

A submission that writes one of these grades itself: it says what the tests said, or stands in their place.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

ODD_SHELL = re.compile(r"[\s;&|()<>'\"`]+")
WILD = re.compile(r"[*?\[]")
REPORT = re.compile(r"\.(?:xml|json|jsonl|trx|tap|log|txt|out)$")
CHANGES = frozenset({"cd", "pushd"})


class NamedPaths:
    """The paths, from the work tree, that commands name; patterns count where they look for reports."""

    def __init__(self, commands: Iterable[str]) -> None:
        named = {path for command in commands for path in _paths_in(command)}
        self._exact = frozenset(path for path in named if not WILD.search(path))
        self._patterns = tuple(sorted(path for path in named if WILD.search(path) and REPORT.search(path)))

    def holds(self, path: str) -> bool:
        """Whether a command names this path; a pattern without a folder, as for ``find``, means any folder's file."""
        name = path.rpartition("/")[2]
        return path in self._exact or any(
            fnmatchcase(path if "/" in pattern else name, pattern) for pattern in self._patterns
        )


def _paths_in(command: str) -> Iterator[str]:
    words = _words_of(command)
    folders = {"", *(folder for word, folder in pairwise(words) if word in CHANGES)}
    for word in words:
        for said in (word, word.partition("=")[2]):
            name = said.partition("::")[0]  # pytest's tests of a file
            if not name or name.startswith(("-", "/", "$", "~")):
                continue
            for folder in folders:
                path = posixpath.normpath(posixpath.join(folder, name))
                if path != "." and not path.startswith(("../", "/")):
                    yield path


def _words_of(command: str) -> list[str]:
    """Return the words of a shell command without quotes and operators; of one that does not parse, roughly."""
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:
        return ODD_SHELL.split(command)
