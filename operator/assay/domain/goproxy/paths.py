"""The grammar of module paths and versions, plain and bang-escaped, as the go command reads them.

Everything is ASCII.  A function either recognises a string whole or says no; nothing is normalised.
"""

from __future__ import annotations

import re

MAX_PATH = 1024
"""Longest module path or version in characters; real ones stay under 200."""

_ELEMENT = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")
_HOST = re.compile(r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9.-]*)")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?")
_SHORT_NAME = re.compile(r"[^.]*~[0-9]+(?:\..*)?")
_NUMERIC_TAIL = re.compile(r"/v([0-9.]+)$")
_GOPKG = re.compile(r"gopkg\.in(?:/.*)?\.v(?:0|[1-9][0-9]*(?:-unstable)?)")
_GOPKG_PREFIX = "gopkg.in/"

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRERELEASE_PART = r"(?:0|[1-9][0-9]*|[0-9A-Za-z-]*[A-Za-z-][0-9A-Za-z-]*)"
_CANONICAL = re.compile(
    rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRERELEASE_PART}(?:\.{_PRERELEASE_PART})*)?(?:\+incompatible)?"
)
_QUERY = re.compile(r"[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*")
_ESCAPED = re.compile(r"(?:[^A-Z!]|![a-z])*")


def is_module_path(path: str) -> bool:
    """Say whether the go command would accept the (unescaped) path as a module path."""
    if not path or len(path) > MAX_PATH or not path.isascii():
        return False
    elements = path.split("/")
    if _HOST.fullmatch(elements[0]) is None or not all(map(_is_element, elements)):
        return False
    return _has_good_major(path)


def _is_element(element: str) -> bool:
    return (
        _ELEMENT.fullmatch(element) is not None
        and not element.endswith(".")
        and _RESERVED.fullmatch(element) is None
        and _SHORT_NAME.fullmatch(element) is None
    )


def _has_good_major(path: str) -> bool:
    """Apply the rule for the last element: /vN with N >= 2 and no leading zero, .vN for gopkg.in."""
    if path.startswith(_GOPKG_PREFIX):
        return _GOPKG.fullmatch(path) is not None
    match = _NUMERIC_TAIL.search(path)
    if match is None:
        return True
    digits = match[1]
    return "." not in digits and not digits.startswith("0") and digits != "1"


def is_canonical_version(version: str) -> bool:
    """Say whether the version names one immutable version: vX.Y.Z, perhaps with a pre-release or +incompatible."""
    return len(version) <= MAX_PATH and _CANONICAL.fullmatch(version) is not None


def is_version_query(version: str) -> bool:
    """Say whether the text may stand before ``.info``: a version, a branch, a tag or a hash, without a slash."""
    if len(version) > MAX_PATH or _QUERY.fullmatch(version) is None:
        return False
    return not version.endswith(".") and _RESERVED.fullmatch(version) is None


def escape(plain: str) -> str:
    """Return the bang-escaped form: each capital X as !x."""
    return re.sub(r"[A-Z]", lambda match: "!" + match[0].lower(), plain)


def unescape(escaped: str) -> str | None:
    """Return the plain form of a bang-escaped text, None where it is no escaped form (raw capitals, stray bangs)."""
    if not escaped.isascii() or _ESCAPED.fullmatch(escaped) is None:
        return None
    return re.sub(r"!([a-z])", lambda match: match[1].upper(), escaped)
