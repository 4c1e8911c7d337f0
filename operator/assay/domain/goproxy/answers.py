"""Upstream's answers: bytes in, the few facts that are judged out, or the reason why they are no such answer.

An upstream that lies (a login page as a zip, another version's info, a tile of the wrong length) is caught here, before
anything is cached or sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from assay.domain.gomodules import carried_keys
from assay.domain.goproxy.gomod import module_paths_of_gomod
from assay.domain.goproxy.paths import is_canonical_version
from assay.domain.goproxy.targets import Kind, ModuleRequest, Request, SumdbRequest

MAX_BYTES = {
    Kind.LIST: 4 << 20,
    Kind.LATEST: 1 << 20,
    Kind.INFO: 1 << 20,
    Kind.MOD: 16 << 20,
    Kind.ZIP: 500 << 20,
    Kind.SUMDB_LATEST: 64 << 10,
    Kind.SUMDB_LOOKUP: 64 << 10,
    Kind.SUMDB_TILE: 8 << 10,
}
"""Largest answer of each kind in bytes; zips are limited alike unpacked."""
HASH_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BadAnswer:
    """Upstream answered 200 with something that is not what was asked for."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What an answer says of its own descent. Absent facts are empty: no opinion.

    ``origins`` are repository URLs, ``declared`` module paths, ``carried`` compare keys of paths inside a zip,
    ``time`` the commit's time.
    """

    origins: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    carried: frozenset[str] = frozenset()
    time: datetime | None = None


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipListing:
    """A module zip's directory as read from the file: entry names in order, unpacked bytes, its own go.mod."""

    names: Sequence[str]
    unpacked: int
    gomod: bytes | None = field(default=None, repr=False)


def facts_of(request: Request, body: bytes) -> Facts | BadAnswer:
    """Read the answer to any request but a zip's."""
    match request.kind:
        case Kind.INFO | Kind.LATEST:
            return _info_facts(request.version, body)
        case Kind.MOD:
            return _mod_facts(body)
        case Kind.LIST:
            return _list_facts(body)
        case Kind.SUMDB_TILE if isinstance(request, SumdbRequest):
            right = len(body) == request.width * HASH_BYTES
            return NO_FACTS if right else BadAnswer(why="a hash tile of the wrong length")
        case Kind.SUMDB_LOOKUP if isinstance(request, SumdbRequest):
            return _lookup_facts(request, body)
        case Kind.SUMDB_LATEST:
            return NO_FACTS if _is_signed_tree(_text(body)) else BadAnswer(why="not a signed tree head")
        case _:
            return BadAnswer(why=f"no {request.kind} is asked of upstream")


def zip_facts(request: ModuleRequest, listing: ZipListing) -> Facts | BadAnswer:
    """Read a module zip's directory: all names under one prefix, each once, within the size limit."""
    prefix = f"{request.module}@{request.version}/"
    if not listing.names or not all(name.startswith(prefix) and _is_plain(name) for name in listing.names):
        return BadAnswer(why="not a zip of this module and version")
    if len({name.lower() for name in listing.names}) != len(listing.names):
        return BadAnswer(why="a zip with two entries of one name")
    if listing.unpacked > MAX_BYTES[Kind.ZIP]:
        return BadAnswer(why="a zip that unpacks to more than a module may hold")
    declared = () if listing.gomod is None else module_paths_of_gomod(_text(listing.gomod))
    return Facts(declared=declared, carried=carried_keys(listing.names, prefix))


def _is_plain(name: str) -> bool:
    """Say whether an entry's name is a relative path without dot elements; a directory's ends in a slash."""
    elements = name.removesuffix("/").split("/")
    return "\\" not in name and "\0" not in name and all(element.strip(".") for element in elements)


def _text(body: bytes) -> str:
    return body.decode("utf-8", errors="replace")


def _info_facts(version: str, body: bytes) -> Facts | BadAnswer:
    """Read ``{"Version", "Time", "Origin": {"URL"}}``; keys in any case and repeated, as JSON readers differ there."""
    try:
        pairs = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return BadAnswer(why="not a JSON document")
    if not isinstance(pairs, _Pairs):
        return BadAnswer(why="not a JSON object")
    versions = [value for value in pairs.under("version") if isinstance(value, str)]
    if not versions or not all(map(is_canonical_version, versions)):
        return BadAnswer(why="an info without a canonical version")
    if is_canonical_version(version) and set(versions) != {version}:
        return BadAnswer(why="the info of another version")
    origins = [origin for origin in pairs.under("origin") if isinstance(origin, _Pairs)]
    urls = tuple(url for origin in origins for url in origin.under("url") if isinstance(url, str))
    times = [_time(value) for value in pairs.under("time") if isinstance(value, str)]
    known = [time for time in times if time is not None]
    return Facts(origins=urls, time=max(known) if known and len(known) == len(times) else None)


class _Pairs(list[tuple[str, object]]):
    """A JSON object with all its members, also those of one name."""

    def under(self, key: str) -> Iterator[object]:
        return (value for name, value in self if name.lower() == key)


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _mod_facts(body: bytes) -> Facts | BadAnswer:
    declared = module_paths_of_gomod(_text(body))
    return Facts(declared=declared) if declared else BadAnswer(why="a go.mod without a module directive")


def _list_facts(body: bytes) -> Facts | BadAnswer:
    lines = [line.split() for line in _text(body).splitlines()]
    good = all(not words or is_canonical_version(words[0]) for words in lines)
    return NO_FACTS if good else BadAnswer(why="a version list with lines that are no versions")


def _lookup_facts(request: SumdbRequest, body: bytes) -> Facts | BadAnswer:
    """Read record number, go.sum lines of this module and version alone, blank line, signed tree head."""
    record, blank, tree = _text(body).partition("\n\n")
    number, *lines = record.split("\n")
    names = {f"{request.module} {request.version}", f"{request.module} {request.version}/go.mod"}
    sums_agree = bool(lines) and all(line.rpartition(" ")[0] in names for line in lines)
    if not blank or re.fullmatch(r"[0-9]{1,18}", number) is None or not sums_agree or not _is_signed_tree(tree):
        return BadAnswer(why="not a checksum record of this module and version")
    return NO_FACTS


def _is_signed_tree(text: str) -> bool:
    head, blank, signatures = text.partition("\n\n")
    return bool(blank) and head.startswith("go.sum database tree\n") and signatures.startswith("\u2014 ")
