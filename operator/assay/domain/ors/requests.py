"""Bodies of requests become frozen values here, or a ``Problem``: the status and the sentence that the client gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_BODY_BYTES = 10 << 20
"""Largest body that is read; what a sandbox takes in one request (16 MiB, base64) still holds a file of that size."""
SESSION_ID = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request is refused: an HTTP status and what ``detail`` says."""

    status: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What ``/create`` asks for: a task by its name, or by its place in a split."""

    environment: str
    task: str = ""
    split: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call; ``task_id`` is given when an earlier connection was lost and its answer is wanted again."""

    name: str
    input: Mapping[str, Any]
    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A split and a part of it, by the rules of a Python slice."""

    split: str
    start: int | None = None
    stop: int | None = None


def object_of(body: bytes) -> dict[str, Any] | Problem:
    """Return the JSON object of a body; nothing at all is an empty one."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Problem(status=400, detail="the body is not JSON")
    return value if isinstance(value, dict) else Problem(status=422, detail="the body must be a JSON object")


def opening_of(body: Mapping[str, Any]) -> Opening | Problem:
    """Return what ``/create`` asks for.  Of a task object only its name counts: a client cannot change a task."""
    toolset = body.get("toolset_name")
    if toolset is not None:
        return Problem(status=400, detail=f"toolset {str(toolset)[:100]!r} is not supported; leave toolset_name out")
    environment = body.get("env_name") or ""
    if not isinstance(environment, str):
        return Problem(status=422, detail="env_name must be a string")
    spec = body.get("task_spec")
    by_place = body.get("split") is not None or body.get("index") is not None
    if (spec is not None) == by_place:
        return Problem(status=400, detail="give either task_spec, or split and index")
    if spec is None:
        listing, index = listing_of(body), index_of(body)
        if isinstance(listing, Problem):
            return listing
        if isinstance(index, Problem):
            return index
        return Opening(environment=environment, split=listing.split, index=index)
    if not isinstance(spec, dict) or not isinstance(spec.get("task"), str) or not spec["task"]:
        return Problem(status=400, detail='task_spec must be a task that this gateway has listed: {"task": name}')
    return Opening(environment=environment, task=spec["task"])


def call_of(body: Mapping[str, Any]) -> Call | Problem:
    """Return a tool call.  The tool's own input is looked at later: a wrong one is told to the agent."""
    name, given, task_id = body.get("name"), body.get("input"), body.get("task_id")
    if not isinstance(name, str) or not name:
        return Problem(status=422, detail="name must be the name of a tool")
    if given is not None and not isinstance(given, dict):
        return Problem(status=422, detail="input must be a JSON object")
    if task_id is not None and not isinstance(task_id, str):
        return Problem(status=422, detail="task_id must be a string")
    return Call(name=name, input=given or {}, task_id=task_id or "")


def listing_of(body: Mapping[str, Any]) -> Listing | Problem:
    """Return the split that a request names, and the part of it."""
    split = body.get("split")
    if isinstance(split, dict):
        split = split.get("name")
    if not isinstance(split, str) or split not in SPLITS:
        return Problem(status=400, detail=f"Invalid split: there are {' and '.join(SPLITS)}")
    bounds = [body.get(name) for name in ("start", "stop")]
    if any(bound is not None and not _is_whole(bound) for bound in bounds):
        return Problem(status=422, detail="start and stop must be whole numbers")
    return Listing(split=split, start=bounds[0], stop=bounds[1])


def index_of(body: Mapping[str, Any]) -> int | Problem:
    """Return the index that a request names; negative ones count from the end."""
    index = body.get("index")
    return index if _is_whole(index) else Problem(status=422, detail="index must be a whole number")  # type: ignore[return-value]


def session_of(header: str | None) -> str | Problem:
    """Return a session's id from its header."""
    if not header:
        return Problem(status=400, detail="the header X-Session-ID is missing")
    if not SESSION_ID.fullmatch(header):
        return Problem(status=400, detail="X-Session-ID must have 1 to 200 printable characters and no blanks")
    return header


SPLITS = ("train", "test")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
