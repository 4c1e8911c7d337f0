"""What str_replace makes of a file.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from assay.domain.ors.tools import MAX_TEXT_BYTES, StrReplace

LISTED_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file's new content, and the line (from 1) where it begins to differ."""

    content: bytes
    line: int


def changed(content: bytes, tool: StrReplace) -> Change | str:
    """Return the file with the one place replaced, or why not, for the agent."""
    old, new = tool.old.encode(), tool.new.encode()
    found = content.count(old)
    if found != 1:
        return _not_once(tool.path, content, old, found)
    fresh = content.replace(old, new)
    if len(fresh) > MAX_TEXT_BYTES:
        return f"{tool.path} would have {len(fresh)} bytes; edit it by bash"
    return Change(content=fresh, line=content[: content.index(old)].count(b"\n") + 1)


def _not_once(path: str, content: bytes, old: bytes, found: int) -> str:
    if not found:
        return f"{path}: old_str was not found in the file; nothing was changed"
    lines: list[str] = []
    at = content.find(old)
    while at >= 0 and len(lines) < LISTED_LINES:
        lines.append(str(content[:at].count(b"\n") + 1))
        at = content.find(old, at + len(old))
    more = " ..." if found > len(lines) else ""
    return (
        f"{path}: old_str appears {found} times (lines {', '.join(lines)}{more}); make it longer. Nothing was changed"
    )
