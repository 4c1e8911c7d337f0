"""What an image holds beside its base commit: inspect.sh's lines -> what would give a task's solution away.

Two questions: does git hold an object that is not in the base's ancestry, or a file or an archive elsewhere lines of the
reference patch (a newer release of the project); and does a module cache, a build cache, a vendor tree, a GOPATH or a zip
in testdata hold the task's own module.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.domain.gomodules import GoPolicy, owner_of
from assay.domain.patches import HUNK, paths_of

MIN_LINE = 20
MAX_LINES = 400
MIN_SHARE = 0.3
"""A file that holds this share of the patch's distinctive lines, and at least two of them, is a copy of the solution."""
MIN_HELD = 2
LISTS = ("archive", "built", "cached", "copy", "gopath", "testzip")
"""Lists that may be cut: too long to be told whole, or of archives that were not opened."""
_ENDING = re.compile(rb"(?<=[^/])\.[A-Za-z0-9]{1,10}\Z")
_PLAIN = re.compile(rb"[\x20-\x7e\t]+")
_CACHED_ZIP = re.compile(r".*/cache/download/(?P<module>.+)/@v/(?P<version>[^/]+)\.zip")
_CACHED_TREE = re.compile(r".*/pkg/mod/(?P<module>.+)@(?P<version>v[^/]*)")
_VENDORED = re.compile(
    r"(?P<file>.*/vendor/modules\.txt) # (?P<module>\S+)(?: (?P<version>v\S+))?(?: => (?P<other>\S+).*)?"
)
_NAMED = re.compile(r"(?P<place>[^\t]*)\t(?:.*/pkg/mod/(?:cache/download/)?)?(?P<module>.+)@(?P<version>v[^@]*)")
_GOPATH = re.compile(r".*/src/(?P<module>[^/]*\.[^/]+/.*)")
_MODULE = re.compile(r"(?P<file>.*?go\.mod) module\s+\"?(?P<module>[^\s\"]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldModule:
    """A Go module whose code lies in an image."""

    module: str
    version: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What an image was found to hold.

    ``missing`` are programs that the image lacks, ``cut`` lists that were too long to be told whole (those of ``LISTS``):
    what they show is so, what they do not show is not known.  ``toolchains`` are the folders of Go distributions.  ``outside`` counts the git objects that are not in the ancestry of HEAD; ``history`` tells of commits, tags and the
    like among them, ``copies`` maps a file's path to the number of the patch's distinctive lines that it holds.
    """

    complete: bool = False
    missing: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    outside: int = 0
    history: tuple[str, ...] = ()
    lines: int = 0
    copies: Mapping[str, int] = field(default_factory=dict)
    own_modules: tuple[str, ...] = ()
    modules: tuple[HeldModule, ...] = ()
    toolchains: tuple[str, ...] = ()

    def solution_copies(self) -> list[str]:
        """Return the files that hold so much of the reference patch that they are copies of it, most lines first."""
        least = max(MIN_HELD, MIN_SHARE * self.lines)
        return sorted((path for path, held in self.copies.items() if held >= least), key=lambda p: (-self.copies[p], p))

    def own_copies(self, repo: str = "") -> list[HeldModule]:
        """Return the held modules that are the task's own, by the gateway's rule: its go.mod files' and its repository's.

        A Go distribution vendors packages of golang.org/x, and no image of such a task can do without it: that copy
        counts only where the distribution holds so many lines of the reference patch that it holds the solution.
        """
        where = {repo if "." in repo.partition("/")[0] else f"github.com/{repo}"} if repo else set()
        owned = GoPolicy(owned=frozenset({*self.own_modules, *where}))
        mine = [held for held in self.modules if owner_of(owned, held.module) is not None]
        return [held for held in mine if not self._is_harmless(held)]

    def _is_harmless(self, held: HeldModule) -> bool:
        """Whether a copy is a Go distribution's own vendored one, without the solution."""
        for folder in self.toolchains:
            if held.place in {f"{folder}/src/vendor/modules.txt", f"{folder}/src/cmd/vendor/modules.txt"}:
                return not any(path.startswith(f"{folder}/") for path in self.solution_copies())
        return False


def distinctive_lines(patch: bytes) -> tuple[bytes, ...]:
    """Return the lines that a patch adds and that are long and plain enough to be known again, first ones first."""
    lines: dict[bytes, None] = {}
    inside = False
    for line in patch.split(b"\n"):
        if HUNK.match(line):
            inside = True
        elif line.startswith(b"diff --git "):
            inside = False
        elif inside and line.startswith(b"+"):
            text = line[1:].strip()
            if len(text) >= MIN_LINE and _PLAIN.fullmatch(text) and len(set(text)) > 6:
                lines[text] = None
    return tuple(lines)[:MAX_LINES]


def endings_of(patch: bytes) -> tuple[str, ...]:
    """Return the endings of the names of the files that a patch touches, for example ``.go``."""
    found = (_ENDING.search(path) for path in paths_of(patch))
    return tuple(sorted({match[0].decode("ascii") for match in found if match}))


def inspection_of(text: str, lines: Sequence[bytes]) -> Inspection:
    """Return what inspect.sh told; ``lines`` are the distinctive lines that it was given."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for line in text.split("\n"):
        word, tab, rest = line.partition("\t")
        if tab:
            told[word].append(rest)
    in_tree = set(told["treeline"])
    wanted = [line.decode("ascii") for line in lines if line.decode("ascii") not in in_tree]
    return Inspection(
        complete="1" in told["done"],
        missing=tuple(told["missing"]),
        cut=tuple(word for word in LISTS if told[f"more-{word}"]),
        outside=int(told["outside"][0]) if told["outside"] and told["outside"][0].isdigit() else 0,
        history=(
            *(f"commit {line}" for line in told["commit"]),
            *(f"tag {line}" for line in told["tag"]),
            *(f"object {line}" for line in told["object"]),
            *(f"{line} in the repository" for line in told["gitfile"] if line == "objects/info/alternates"),
        ),
        lines=len(wanted),
        copies=_copies(told["copy"], frozenset(wanted)),
        own_modules=tuple(sorted({found["module"] for line in told["gomod"] if (found := _MODULE.match(line))})),
        modules=tuple(_modules(told)),
        toolchains=tuple(sorted(set(told["toolchain"]))),
    )


def _copies(told: Iterable[str], wanted: frozenset[str]) -> dict[str, int]:
    """Count the wanted lines in each file.  A path may hold a colon: the longest line that fits is taken."""
    held: defaultdict[str, set[str]] = defaultdict(set)
    for entry in told:
        start = entry.find(":")
        while start >= 0:
            if entry[start + 1 :] in wanted:
                held[entry[:start]].add(entry[start + 1 :])
                break
            start = entry.find(":", start + 1)
    return {path: len(lines) for path, lines in held.items()}


def _modules(told: Mapping[str, Sequence[str]]) -> Iterable[HeldModule]:
    for path in told["cached"]:
        found = _CACHED_ZIP.fullmatch(path) or _CACHED_TREE.fullmatch(path)
        if found:
            yield HeldModule(module=_unescaped(found["module"]), version=_unescaped(found["version"]), place=path)
    for line in told["vendored"]:
        vendored = _VENDORED.fullmatch(line)
        if vendored:
            for module in filter(None, (vendored["module"], vendored["other"])):
                yield HeldModule(module=module, version=vendored["version"] or "", place=vendored["file"])
    for line in (*told["zipped"], *told["built"]):
        named = _NAMED.fullmatch(line)
        if named:
            yield HeldModule(
                module=_unescaped(named["module"]), version=_unescaped(named["version"]), place=named["place"]
            )
    for line in told["zipmod"]:
        declared = _MODULE.match(line)
        if declared:
            yield HeldModule(module=declared["module"], version="", place=declared["file"].removesuffix("/go.mod"))
    for path in told["gopath"]:
        found = _GOPATH.fullmatch(path)
        if found:
            yield HeldModule(module=found["module"], version="", place=path)


def _unescaped(path: str) -> str:
    """Undo the module cache's spelling of capital letters: ``!a`` is ``A``."""
    return re.sub(r"!([a-z])", lambda match: match[1].upper(), path)
