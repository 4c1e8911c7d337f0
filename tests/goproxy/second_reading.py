"""A second reading of the target grammar: one regular expression a route over the decoded target.

Written from the specification's sentences alone, without the gateway's code, so that the two can be compared.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

ELEMENT = r"(?:[a-z0-9_~-]|![a-z])(?:[a-z0-9_.~-]|![a-z])*(?<!\.)"
MODULE = rf"(?P<module>[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9.-]))*(?:/{ELEMENT})*)"
NUMBER = "(?:0|[1-9][0-9]*)"
PRE = "(?:0|[1-9][0-9]*|(?=[0-9]*(?:[a-z-]|![a-z]))(?:[0-9a-z-]|![a-z])+)"
CANONICAL = rf"v{NUMBER}\.{NUMBER}\.{NUMBER}(?:-{PRE}(?:\.{PRE})*)?(?:\+incompatible)?"
QUERY = r"(?:[a-z0-9_~+-]|![a-z])(?:[a-z0-9._~+-]|![a-z])*(?<!\.)"
GROUPS = "(?!x000/)(?:x[0-9]{3}/){0,4}[0-9]{3}"
WIDTH = r"(?:\.p/(?:[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))?"
DATABASE = r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)+"
ROUTES = {
    "list": rf"/{MODULE}/@v/list",
    "latest": rf"/{MODULE}/@latest",
    "info": rf"/{MODULE}/@v/(?!(?:latest|upgrade|patch)\.info$)(?P<version>{QUERY})\.info",
    "mod": rf"/{MODULE}/@v/(?P<version>{CANONICAL})\.mod",
    "zip": rf"/{MODULE}/@v/(?P<version>{CANONICAL})\.zip",
    "sumdb-lookup": rf"/sumdb/{DATABASE}/lookup/{MODULE}@(?P<version>{CANONICAL})",
    "sumdb-tile": rf"/sumdb/{DATABASE}/tile/8/(?:[0-9]|[1-5][0-9]|6[0-3])/{GROUPS}{WIDTH}",
    "sumdb-data": rf"/sumdb/{DATABASE}/tile/8/data/{GROUPS}{WIDTH}",
    "sumdb-supported": rf"/sumdb/{DATABASE}/supported",
    "sumdb-latest": rf"/sumdb/{DATABASE}/latest",
}
WINDOWS = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)")


def second_reading(target: str) -> tuple[str, str, str] | None:
    """Return (kind, module, version) or None, from the specification's sentences alone."""
    if re.search(r"%(?![0-9A-Fa-f]{2})|%2[fF]|%25|[^!-~]|[?#;\\]", target):
        return None
    raw = unquote_to_bytes(target)
    if not raw.isascii() or "//" in raw.decode():
        return None
    text = raw.decode()
    for kind, pattern in ROUTES.items():
        match = re.fullmatch(pattern, text)
        if match is None:
            continue
        named = match.groupdict()
        module, version = (
            re.sub("!(.)", lambda bang: bang[1].upper(), named.get(name) or "") for name in ("module", "version")
        )
        sound = not module or _is_sound(module)
        return (kind, module, version) if sound and not WINDOWS.match(version.lower()) else None
    return None


def _is_sound(module: str) -> bool:
    """What a regular expression over the whole says badly: reserved names, short names, majors."""
    elements = module.split("/")
    stems = [element.split(".")[0] for element in elements]
    if "." not in elements[0] or any(WINDOWS.match(element.lower()) for element in elements):
        return False
    if any(re.search("~[0-9]+$", stem) for stem in stems):
        return False
    if elements[0] == "gopkg.in" and len(elements) > 1:
        return re.search(r"\.v(0|[1-9][0-9]*(-unstable)?)$", elements[-1]) is not None
    last = elements[-1] if len(elements) > 1 else ""
    return re.fullmatch(r"v[0-9.]+", last) is None or re.fullmatch(r"v([2-9]|[1-9][0-9]+)", last) is not None


SEEDS = (
    "/golang.org/x/text/@v/list",
    "/github.com/!burnt!sushi/toml/@v/v1.3.2.mod",
    "/github.com/acme/widget/@latest",
    "/github.com/docker/docker/@v/v20.10.7+incompatible.zip",
    "/gopkg.in/acme/widget.v1/@v/v1.4.0-rc.1.zip",
    "/go.acme.dev/widget/v2/@v/main.info",
    "/github.com/acme/widget/@v/v1.4.1-0.20240102030405-abcdefabcdef.info",
    "/sumdb/sum.example.org/lookup/github.com/!acme/!widget@v1.4.0",
    "/sumdb/sum.example.org/tile/8/0/x012/345.p/7",
    "/sumdb/sum.example.org/tile/8/data/000",
    "/sumdb/sum.example.org/supported",
    "/sumdb/sum.example.org/latest",
)
"""One target of each route."""

PIECES = (
    "%2f", "%2F", "%25", "%2577", "%61", "%41", "%00", "%40", "%2e", "%C3%A9", "//", "/../", "/./", "@v/", "@latest", "/v1", "/v2",
    "x000/", "con", "~1", ".git", "%zz", "%",
)  # fmt: skip
"""What a target may be made odd by."""
