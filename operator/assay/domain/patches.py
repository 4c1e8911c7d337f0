"""What a patch touches and whether it may be applied: git's diff grammar, on bytes, as far as paths are concerned.

git itself applies patches in the pod (and refuses paths outside of the tree there, too).  This module looks at a patch
before any pod exists, so that a malformed one is refused with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

HUNK = re.compile(rb"^@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
SYMLINK = re.compile(rb"(?:new file mode|new mode|index [0-9a-f]+\.\.[0-9a-f]+) 120000\r?")
ESCAPED = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
ESCAPES = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}


def unquoted(path: bytes) -> bytes:
    """Return a path as git means it: C-style quotes taken off, the rest as it is."""
    if not (path.startswith(b'"') and path.endswith(b'"') and len(path) > 1):
        return path

    def plain(found: re.Match[bytes]) -> bytes:
        code = found.group(1)
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else ESCAPES.get(code, code)

    return re.sub(rb"\\([0-7]{3}|.)", plain, path[1:-1])


def quoted(path: bytes) -> bytes:
    """Return a path as git prints it with ``core.quotePath``: in C-style quotes where it holds odd bytes."""
    if all(32 <= code < 127 and code not in ESCAPED for code in path):
        return path
    plain = (
        b"\\" + ESCAPED[code] if code in ESCAPED else bytes([code]) if 32 <= code < 127 else b"\\%03o" % code
        for code in path
    )
    return b'"' + b"".join(plain) + b'"'


def header_lines(patch: bytes) -> list[bytes]:
    """Return the lines of a diff that are not inside a hunk, without their newlines."""
    return [line for inside, line in _walked(patch) if not inside]


def hunk_lines(patch: bytes) -> list[bytes]:
    """Return the lines of a diff that are inside a hunk, with their marks, without their newlines."""
    return [line for inside, line in _walked(patch) if inside]


def _walked(patch: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield every line of a diff, and whether it is inside a hunk, as the hunks' counts say."""
    old = new = 0
    for line in patch.split(b"\n"):
        if old > 0 or new > 0:
            mark = line[:1]
            old -= mark in (b" ", b"-", b"")
            new -= mark in (b" ", b"+", b"")
            yield True, line
            continue
        hunk = HUNK.match(line)
        if hunk:
            old, new = (int(hunk.group(group)) if hunk.group(group) else 1 for group in (2, 4))
        yield False, line


def paths_of(patch: bytes) -> tuple[bytes, ...]:
    """Return every path that a git diff names, without their prefixes (a/ and b/, say), sorted."""
    return paths_in(header_lines(patch))


def paths_in(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return every path that these lines, none of them inside a hunk, name, without their prefixes, sorted."""
    paths: set[bytes] = set()
    for raw in lines:
        line = raw.rstrip(b"\r")  # a name that ends with one is in quotes
        if line.startswith(b"diff --git "):
            paths.update(_names_of_both(line[len(b"diff --git ") :]))
        elif line.startswith((b"+++ ", b"--- ")):
            name = unquoted(line[4:].split(b"\t")[0])
            if name != b"/dev/null":
                paths.add(_without_prefix(name))
        elif line.startswith((b"rename to ", b"rename from ", b"copy to ", b"copy from ")):
            paths.add(unquoted(line.split(b" ", 2)[2]))
    return tuple(sorted(paths))


def fault_of_patch(patch: bytes) -> str:
    """Return why a patch is refused, as a sentence without its subject; empty when it is not."""
    if not patch.strip():
        return ""
    lines = header_lines(patch)
    if not _has_file_header(lines):
        return "is not a git diff: it has neither a 'diff --git' line nor a '---' line before a '+++' line"
    fault = fault_of_paths(paths_in(lines))
    if fault:
        return fault
    target = escaping_symlink(patch)
    if target:
        return f"makes a symbolic link to {shown_path(target)}, which is outside of the work tree"
    return ""


def fault_of_paths(paths: Iterable[bytes]) -> str:
    """Return which path no patch may name, as a sentence without its subject; empty when all may."""
    for path in paths:
        if path.startswith(b"/"):
            return f"names the absolute path {shown_path(path)}"
        if b".." in path.split(b"/"):
            return f"names {shown_path(path)}, which is outside of the work tree"
        if b".git" in path.lower().split(b"/"):
            return f"names {shown_path(path)}, which is inside of .git"
    return ""


def _names_of_both(rest: bytes) -> Iterator[bytes]:
    """Yield the names in ``a/x b/x``; of a rename nothing, its own lines name both paths without doubt."""
    if b'"' in rest:
        for name in re.findall(rb'"(?:[^"\\]|\\.)*"|\S+', rest):
            yield _without_prefix(unquoted(name))
        return
    for blank in re.finditer(rb" ", rest):
        left, right = rest[: blank.start()], rest[blank.end() :]
        if _without_prefix(left) == _without_prefix(right):
            yield _without_prefix(left)


def _without_prefix(path: bytes) -> bytes:
    """Return a name without its first part, as ``git apply`` reads it; one that has no other part stays."""
    if path.startswith(b"/"):
        return path
    return path.partition(b"/")[2] or path


def _has_file_header(lines: list[bytes]) -> bool:
    pairs = pairwise(lines)
    return any(line.startswith(b"diff --git ") for line in lines) or any(
        old.startswith(b"--- ") and new.startswith(b"+++ ") for old, new in pairs
    )


def escaping_symlink(patch: bytes) -> bytes:
    """Return the target of a new or changed symbolic link that leaves the work tree; empty when there is none."""
    if b"120000" not in patch:  # the mode of a symbolic link
        return b""
    for part in re.split(rb"(?m)^(?=diff --git )", patch):
        lines = header_lines(part)
        if not any(SYMLINK.fullmatch(line) for line in lines):
            continue
        paths = paths_of(b"\n".join(line for line in lines if line.startswith(b"+++ ")))
        added = re.search(rb"^@@ .*\n(?:[-\\].*\n)*\+(.+)$", part, re.MULTILINE)
        if not paths or not added:
            continue
        if _leaves(paths[0], added.group(1)):
            return added.group(1)
    return b""


def _leaves(path: bytes, target: bytes) -> bool:
    """Whether a link at a path of the work tree points out of it."""
    depth = path.count(b"/")
    for step in target.split(b"/"):
        depth += -1 if step == b".." else (step not in (b"", b"."))
        if depth < 0:
            return True
    return target.startswith(b"/")


def shown_path(path: bytes) -> str:
    """Return a path for people, in quotes, escaped where it is no text."""
    return repr(path.decode("utf-8", "backslashreplace"))
