"""The reverse of a git diff: what takes the change back, as text, without a repository."""

from __future__ import annotations

import re

from assay.domain.patches import HUNK

SWAPPED = {b"new file mode ": b"deleted file mode ", b"deleted file mode ": b"new file mode ",
           b"old mode ": b"new mode ", b"new mode ": b"old mode ",
           b"rename from ": b"rename to ", b"rename to ": b"rename from "}  # fmt: skip
INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)(.*)", re.DOTALL)
GIT_HEADER = re.compile(rb"diff --git (\"(?:[^\"\\]|\\.)*\"|\S+) (\"(?:[^\"\\]|\\.)*\"|\S+)(\r?)")


class IrreversibleError(Exception):
    """The diff cannot be reversed as text: it holds binary content or a copy."""


def reversed_patch(patch: bytes) -> bytes:
    """Return the diff that undoes a diff.  ``IrreversibleError`` for binary content and copies."""
    said: list[bytes] = []
    old = new = 0
    header: list[bytes] = []
    for line in patch.split(b"\n"):
        if old > 0 or new > 0:
            mark = line[:1]
            old -= mark in (b" ", b"-", b"")
            new -= mark in (b" ", b"+", b"")
            said.append(_turned(line, mark))
            continue
        hunk = HUNK.match(line)
        if hunk:
            said += _header(header)
            header = []
            old, new = (int(hunk.group(group)) if hunk.group(group) else 1 for group in (2, 4))
            said.append(_range(hunk, line))
        elif line.startswith(b"\\"):
            said.append(line)
        else:
            header.append(line)
    return b"\n".join([*said, *_header(header)])


def _turned(line: bytes, mark: bytes) -> bytes:
    if mark == b"+":
        return b"-" + line[1:]
    return b"+" + line[1:] if mark == b"-" else line


def _range(hunk: re.Match[bytes], line: bytes) -> bytes:
    first, count, second, other = hunk.groups()
    before = second + (b"," + other if other else b"")
    after = first + (b"," + count if count else b"")
    return b"@@ -" + before + b" +" + after + b" @@" + line[hunk.end() :]


def _header(lines: list[bytes]) -> list[bytes]:
    """Return the lines before a file's first hunk, with both sides exchanged and in git's order."""
    turned: list[bytes] = []
    minus = b""
    for line in lines:
        if line.startswith((b"GIT binary patch", b"Binary files ", b"copy from ", b"copy to ")):
            raise IrreversibleError(line[:60].decode("utf-8", "replace"))
        if line.startswith(b"--- "):
            minus = line
        elif line.startswith(b"+++ "):
            turned += [b"--- " + _side(line[4:], b"a/"), b"+++ " + _side(minus[4:], b"b/")]
        else:
            turned.append(_exchanged(line))
    return _in_order(turned)


def _exchanged(line: bytes) -> bytes:
    index = INDEX.fullmatch(line)
    if index:
        return b"index " + index[2] + b".." + index[1] + index[3]
    git = GIT_HEADER.fullmatch(line)
    if git:
        return b"diff --git " + _side(git[2], b"a/") + b" " + _side(git[1], b"b/") + git[3]
    for word, other in SWAPPED.items():
        if line.startswith(word):
            return other + line[len(word) :]
    return line


def _side(path: bytes, prefix: bytes) -> bytes:
    """Return a path with the prefix of the side that it now stands on."""
    quote = path[:1] if path.startswith(b'"') else b""
    rest = path[len(quote) :]
    return quote + prefix + rest[2:] if rest[:2] in (b"a/", b"b/") else path


def _in_order(lines: list[bytes]) -> list[bytes]:
    """Return the lines with ``old mode`` and ``rename from`` before their counterparts, as git writes them."""
    ordered = list(lines)
    for place in range(len(ordered) - 1):
        late = ordered[place].startswith((b"new mode ", b"rename to "))
        if late and ordered[place + 1].startswith((b"old mode ", b"rename from ")):
            ordered[place], ordered[place + 1] = ordered[place + 1], ordered[place]
    return ordered
