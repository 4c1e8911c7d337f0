"""Bytes of a submitted diff -> the diff that is applied, and what was left out of it.

An honest helper file costs nothing and a cheat gains nothing: what touches tests or steers their runner is ignored and
listed, never punished (``assay.domain.protected``).  A diff that names a path outside of the work tree or inside of .git
is refused as a whole: no honest tool writes one.

The applied diff is built anew from the sections that this module understood, so that git sees no line which was not
looked at; where git and this module should differ all the same, the pod puts back every path that is not in ``paths``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.domain.patches import HUNK, escaping_symlink, fault_of_paths, paths_in, shown_path
from assay.domain.protected import Protection, WhyIgnored
from assay.domain.task import Task

GITLINK = re.compile(rb"(?:new file mode|new mode|old mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) 160000\r?")
MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A path of a submission that is left out, and why."""

    path: bytes
    why: WhyIgnored

    def __str__(self) -> str:
        return self.path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What of a submission is applied: a diff (maybe empty), every path that it may change, and what was left out."""

    diff: bytes
    paths: tuple[bytes, ...]
    ignored: tuple[Ignored, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A submission that is not applied at all: a sentence without its subject."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The part of a diff about one file: its bytes, its header's lines and every path that git may read in them."""

    content: bytes
    header: tuple[bytes, ...]
    paths: tuple[bytes, ...]


def submission_of(content: bytes, task: Task) -> Applied | Refused:
    """Return what is applied of a submitted diff."""
    if len(content) > MAX_BYTES:
        return Refused(why=f"has {len(content)} bytes, more than {MAX_BYTES}")
    if not content.strip():
        return Applied(diff=b"", paths=())
    sections = sections_of(content)
    if isinstance(sections, Refused):
        return sections
    if not sections:
        return Refused(why="is not a git diff: it has neither a 'diff --git' line nor a '---' line before a '+++' line")
    fault = fault_of_paths(path for section in sections for path in section.paths)
    if fault:
        return Refused(why=fault)
    protection = Protection(task)
    kept: list[Section] = []
    ignored: dict[bytes, WhyIgnored] = {}
    for section in sections:
        why = _why_ignored(section, protection)
        if why:
            ignored[why[0]] = why[1]
        else:
            kept.append(section)
    return Applied(
        diff=b"".join(section.content for section in kept),
        paths=tuple(sorted({path for section in kept for path in section.paths})),
        ignored=tuple(Ignored(path=path, why=ignored[path]) for path in sorted(ignored)),
    )


def sections_of(patch: bytes) -> tuple[Section, ...] | Refused:
    """Return the sections of a diff; lines before, between and after them (mail headers, signatures) are dropped."""
    lines = patch.split(b"\n")
    ends = [b"\n"] * (len(lines) - 1) + [b""]
    starts = _starts(lines)
    if isinstance(starts, Refused):
        return starts
    found = []
    for begin, end in starts:
        content = b"".join(line + ending for line, ending in zip(lines[begin:end], ends[begin:end], strict=True))
        header = _header(lines[begin:end])
        paths = paths_in(header)
        if not paths:
            return Refused(why=f"names no file in the line {shown_path(lines[begin][:200])}")
        found.append(
            Section(content=content if content.endswith(b"\n") else content + b"\n", header=header, paths=paths)
        )
    return tuple(found)


def _starts(lines: list[bytes]) -> list[tuple[int, int]] | Refused:
    """Return where each section begins and ends, by line; ``Refused`` for a hunk that is cut off or holds other lines."""
    found: list[tuple[int, int]] = []
    begin = end = -1
    hunks = False
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith(b"diff --git ") or (_is_plain_start(lines, number) and (begin < 0 or hunks)):
            if begin >= 0:
                found.append((begin, end))
            begin, end, hunks = number, number + 1, False
            number += 1
            continue
        hunk = HUNK.match(line) if begin >= 0 else None
        if hunk:
            after = _after_hunk(lines, number, hunk)
            if after < 0:
                return Refused(why=f"is cut off or damaged after its line {number + 1}")
            number = end = after
            hunks = True
            continue
        if begin >= 0 and not hunks and not _ends_header(line):
            end = number + 1
        number += 1
    if begin >= 0:
        found.append((begin, end))
    return found


def _is_plain_start(lines: list[bytes], number: int) -> bool:
    following = lines[number + 1] if number + 1 < len(lines) else b""
    return lines[number].startswith(b"--- ") and following.startswith(b"+++ ")


def _after_hunk(lines: list[bytes], number: int, hunk: re.Match[bytes]) -> int:
    """Return the number of the line after a hunk; -1 when the hunk is not whole."""
    old, new = (int(hunk.group(group)) if hunk.group(group) else 1 for group in (2, 4))
    number += 1
    while old > 0 or new > 0:
        mark = lines[number][:1] if number < len(lines) else b"?"
        if mark not in (b" ", b"-", b"+", b"\\", b"\r", b"") or (mark == b"" and number == len(lines) - 1):
            return -1
        old -= mark in (b" ", b"-", b"", b"\r")
        new -= mark in (b" ", b"+", b"", b"\r")
        number += 1
    if old < 0 or new < 0:
        return -1
    while number < len(lines) and lines[number].startswith(b"\\"):
        number += 1
    return number


def _ends_header(line: bytes) -> bool:
    """Whether a line before any hunk is no part of a section: a mail's signature."""
    return line.rstrip(b"\r") == b"-- "


def _header(lines: list[bytes]) -> tuple[bytes, ...]:
    """Return a section's lines before its first hunk or binary data."""
    for number, line in enumerate(lines):
        if HUNK.match(line) or line.startswith(b"GIT binary patch"):
            return tuple(lines[:number])
    return tuple(lines)


def _why_ignored(section: Section, protection: Protection) -> tuple[bytes, WhyIgnored] | None:
    for path in section.paths:
        why = protection.why(path)
        if why:
            return path, why
    if any(GITLINK.fullmatch(line) for line in section.header):
        return section.paths[0], WhyIgnored.SUBMODULE
    return (section.paths[0], WhyIgnored.OUTSIDE_LINK) if escaping_symlink(section.content) else None
