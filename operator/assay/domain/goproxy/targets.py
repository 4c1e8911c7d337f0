"""Request targets: raw bytes of the request line in, a typed request out, and the typed request rendered afresh.

The only parser of targets.  What it returns is what is judged, looked up, sent upstream and logged; the client's own
spelling goes nowhere.  ``parse_target(render(request)) == request`` for every request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from assay.domain.goproxy import paths

MAX_TARGET = 4096
"""Longest part of a target after the token, in characters."""
RESERVED_QUERIES = frozenset({"latest", "upgrade", "patch"})
"""Words of the go command's own query language; no server route."""
FULL_TILE = 256


class Kind(StrEnum):
    """What is asked for; the value is the word in logs and metrics."""

    LIST = "list"
    LATEST = "latest"
    INFO = "info"
    MOD = "mod"
    ZIP = "zip"
    SUMDB_SUPPORTED = "sumdb-supported"
    SUMDB_LATEST = "sumdb-latest"
    SUMDB_LOOKUP = "sumdb-lookup"
    SUMDB_TILE = "sumdb-tile"
    SUMDB_DATA = "sumdb-data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRequest:
    """A request for a module's file. ``version`` is plain (unescaped), "" for list and latest."""

    kind: Kind
    module: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SumdbRequest:
    """A request to a checksum database. Lookup has module and version, tiles level, index and width (1 to 256)."""

    kind: Kind
    database: str
    module: str = ""
    version: str = ""
    level: int = 0
    index: int = 0
    width: int = FULL_TILE


Request = ModuleRequest | SumdbRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a target is no request that is served here: an HTTP status and a sentence for the person who reads it."""

    status: int
    why: str


_CHARACTERS = re.compile(r"[A-Za-z0-9._~!+@/$&'(),:=*-]*")
_UNSENT = re.compile(r"[^!-~]|[?#\\]")
_PREFIX = "/t/"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
_EMPTY_OR_DOTS = re.compile(r"/\.*(?=/|$)")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_DATABASE = re.compile(r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)+")
_TILE = re.compile(r"8/(data|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")
_MAX_LEVEL = 63
_MAX_TILE_GROUPS = 5
_SUFFIXES = {".info": Kind.INFO, ".mod": Kind.MOD, ".zip": Kind.ZIP}

_NO_ROUTE = "no such route: this server speaks the GOPROXY protocol and nothing else"


def method_refusal(method: str) -> Refusal | None:
    """Return the refusal of a method other than GET and HEAD."""
    if method in {"GET", "HEAD"}:
        return None
    return Refusal(status=405, why="only GET and HEAD are served")


def split_token(raw_target: str) -> tuple[str, str] | Refusal:
    """Cut ``/t/<token>`` off a raw target; the rest begins with a slash or is empty.

    A target in absolute form, or with a query, a fragment or a character outside of printable ASCII is refused
    whoever asks; one without a well-formed token is refused as unidentified.
    """
    if not raw_target.startswith("/"):
        return Refusal(status=400, why="the request target must be a path")
    if _UNSENT.search(raw_target) is not None:
        return Refusal(status=400, why="the request target holds a query, a fragment or a character that no path has")
    token, slash, rest = raw_target.removeprefix(_PREFIX).partition("/")
    if not raw_target.startswith(_PREFIX) or _TOKEN.fullmatch(token) is None:
        return Refusal(status=403, why="the GOPROXY URL lacks the token of a run")
    return token, slash + rest


def parse_target(rest: str) -> Request | Refusal:
    """Return the request that the target after the token spells, or why it spells none.

    400: no canonical spelling; 404: a well-formed path that is no route.
    """
    decoded = _decoded(rest)
    if isinstance(decoded, Refusal):
        return decoded
    if not decoded:
        return Refusal(status=404, why=_NO_ROUTE)
    elements = decoded[1:].split("/")
    if _EMPTY_OR_DOTS.search(decoded) is not None:
        return Refusal(status=400, why="the path has an empty or a dot element")
    if elements[0] == "sumdb":
        return _sumdb_request(elements[1:])
    return _module_request(elements)


def _decoded(rest: str) -> str | Refusal:
    """Undo percent-encoding exactly once; an escape may hide neither a separator nor another escape."""
    if len(rest) > MAX_TARGET:
        return Refusal(status=400, why="the path is too long")
    if "%" in rest:
        if not all(_is_harmless(match[1]) for match in _PERCENT.finditer(rest)):
            return Refusal(status=400, why="the path has an escape that no canonical spelling has")
        rest = _PERCENT.sub(lambda match: _of_hex(match[1]), rest)
    if _CHARACTERS.fullmatch(rest) is None:
        return Refusal(status=400, why="the path has a character that no module path has")
    return rest


def _is_harmless(digits: str | None) -> bool:
    """Say whether an escape is complete and stands for a character of a path other than the separator."""
    return digits is not None and _of_hex(digits) != "/" and _CHARACTERS.fullmatch(_of_hex(digits)) is not None


def _of_hex(digits: str) -> str:
    return chr(int(digits, 16))


def _module_request(elements: list[str]) -> Request | Refusal:
    """Read ``<module>/@latest`` and ``<module>/@v/<file>``."""
    marks = [index for index, element in enumerate(elements) if "@" in element]
    if not marks or marks[0] == 0:
        return Refusal(status=404, why=_NO_ROUTE)
    module = _module("/".join(elements[: marks[0]]))
    if isinstance(module, Refusal):
        return module
    match elements[marks[0] :]:
        case ["@latest"]:
            return ModuleRequest(kind=Kind.LATEST, module=module)
        case ["@v", "list"]:
            return ModuleRequest(kind=Kind.LIST, module=module)
        case ["@v", file]:
            return _file_request(module, file)
        case _:
            return Refusal(status=404, why=_NO_ROUTE)


def _module(escaped: str) -> str | Refusal:
    plain = paths.unescape(escaped)
    if plain is None or not paths.is_module_path(plain):
        return Refusal(status=400, why="not the escaped form of a module path")
    return plain


def _file_request(module: str, file: str) -> Request | Refusal:
    """Read ``<version>.info``, ``.mod`` and ``.zip``; only the first may name anything but a canonical version."""
    stem, dot, suffix = file.rpartition(".")
    kind = _SUFFIXES.get(dot + suffix)
    if kind is None:
        return Refusal(status=404, why=_NO_ROUTE)
    version = paths.unescape(stem)
    if version is None or not paths.is_version_query(version):
        return Refusal(status=400, why="not the escaped form of a version")
    if version in RESERVED_QUERIES or (kind is not Kind.INFO and not paths.is_canonical_version(version)):
        return Refusal(status=404, why=f"no {kind} file is served under this version")
    return ModuleRequest(kind=kind, module=module, version=version)


def _sumdb_request(elements: list[str]) -> Request | Refusal:
    """Read ``<database>/supported``, ``latest``, ``lookup/<module>@<version>`` and ``tile/8/...``."""
    if len(elements) < 2 or _DATABASE.fullmatch(elements[0]) is None:
        return Refusal(status=404, why=_NO_ROUTE)
    database = elements[0]
    match elements[1:]:
        case ["supported"]:
            return SumdbRequest(kind=Kind.SUMDB_SUPPORTED, database=database)
        case ["latest"]:
            return SumdbRequest(kind=Kind.SUMDB_LATEST, database=database)
        case ["lookup", *rest] if rest:
            return _lookup_request(database, "/".join(rest))
        case ["tile", *rest] if rest:
            return _tile_request(database, "/".join(rest))
        case _:
            return Refusal(status=404, why=_NO_ROUTE)


def _lookup_request(database: str, text: str) -> Request | Refusal:
    escaped, at, stem = text.partition("@")
    module = _module(escaped)
    if isinstance(module, Refusal):
        return module
    version = paths.unescape(stem)
    if not at or version is None or not paths.is_canonical_version(version):
        return Refusal(status=400, why="a lookup names a module and a canonical version")
    return SumdbRequest(kind=Kind.SUMDB_LOOKUP, database=database, module=module, version=version)


def _tile_request(database: str, text: str) -> Request | Refusal:
    """Read ``8/<level>/<index>[.p/<width>]``: the index in groups of three digits, all but the last behind an x."""
    match = _TILE.fullmatch(text)
    if match is None:
        return Refusal(status=400, why="not the canonical spelling of a tile")
    groups = match[2].split("/")
    width = int(match[3] or FULL_TILE)
    if (
        len(groups) > _MAX_TILE_GROUPS
        or (len(groups) > 1 and groups[0] == "x000")
        or width > FULL_TILE - (match[3] is not None)
    ):
        return Refusal(status=400, why="not the canonical spelling of a tile")
    index = int("".join(group.removeprefix("x") for group in groups))
    if match[1] == "data":
        return SumdbRequest(kind=Kind.SUMDB_DATA, database=database, index=index, width=width)
    if int(match[1]) > _MAX_LEVEL:
        return Refusal(status=400, why="not the canonical spelling of a tile")
    return SumdbRequest(kind=Kind.SUMDB_TILE, database=database, level=int(match[1]), index=index, width=width)


def render(request: Request) -> str:
    """Return the request's path, without a leading slash, in its one canonical spelling (bang-escaped, no percent)."""
    if isinstance(request, SumdbRequest):
        return f"sumdb/{request.database}/{_sumdb_tail(request)}"
    module = paths.escape(request.module)
    match request.kind:
        case Kind.LATEST:
            return f"{module}/@latest"
        case Kind.LIST:
            return f"{module}/@v/list"
        case _:
            return f"{module}/@v/{paths.escape(request.version)}.{request.kind}"


def _sumdb_tail(request: SumdbRequest) -> str:
    match request.kind:
        case Kind.SUMDB_LOOKUP:
            return f"lookup/{paths.escape(request.module)}@{paths.escape(request.version)}"
        case Kind.SUMDB_TILE | Kind.SUMDB_DATA:
            level = "data" if request.kind is Kind.SUMDB_DATA else str(request.level)
            partial = "" if request.width == FULL_TILE else f".p/{request.width}"
            return f"tile/8/{level}/{_tile_index(request.index)}{partial}"
        case _:
            return request.kind.removeprefix("sumdb-")


def _tile_index(index: int) -> str:
    groups = [f"{index % 1000:03d}"]
    while index >= 1000:
        index //= 1000
        groups.append(f"x{index % 1000:03d}")
    return "/".join(reversed(groups))
