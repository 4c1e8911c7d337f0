"""The five tools: what clients are told of them, and how their input is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_TEXT_BYTES = 11 << 20
"""Largest file that str_replace and create_file write; larger ones are made by bash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bash:
    """Run a command."""

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Show a file, a directory or the whole output of an earlier call; ``first`` counts from 1, ``last`` 0 is the end."""

    path: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StrReplace:
    """Replace the one place where a text stands."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFile:
    """Write a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitAnswer:
    """Offer the work tree for grading."""


Tool = Bash | View | StrReplace | CreateFile | SubmitAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRefusal:
    """Why a call is not carried out, for the agent; ``reason`` is the protocol's word for it."""

    reason: str
    text: str


_STRING = {"type": "string"}
_DESCRIPTION = {"type": "string", "description": "Why you make this call, in a few words."}
_PATH = {"type": "string", "description": "Path of the file, absolute or relative to the work tree."}


def _spec(name: str, text: str, properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": text, "input_schema": schema}


TOOLS: tuple[dict[str, Any], ...] = (
    _spec(
        "bash",
        "Run a command in the work tree, in a new shell. Files and background processes stay from call to call, shell "
        "variables and the directory do not. Of long output both ends are shown and the text says how to read the rest.",
        {"command": {"type": "string", "description": "The command."}, "description": _DESCRIPTION},
        ("command", "description"),
    ),
    _spec(
        "create_file",
        "Write a file: exactly the given text. Makes parent directories, replaces a file that is there.",
        {"description": _DESCRIPTION, "path": _PATH, "file_text": {**_STRING, "description": "The file's content."}},
        ("description", "path", "file_text"),
    ),
    _spec(
        "str_replace",
        "Replace a text in a file by another. The old text must stand in the file exactly once.",
        {
            "path": _PATH,
            "old_str": {**_STRING, "description": "The text to replace, with its white space."},
            "new_str": {**_STRING, "description": "The text to put there; empty to delete.", "default": ""},
            "description": _DESCRIPTION,
        },
        ("path", "old_str", "description"),
    ),
    _spec(
        "submit_answer",
        "Submit the work tree for grading, once you are done. A graded submission ends the episode.",
        {},
        (),
    ),
    _spec(
        "view",
        "Show a file with line numbers, or what a directory holds, two levels deep.",
        {
            "path": _PATH,
            "view_range": {
                "anyOf": [
                    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                    {"type": "null"},
                ],
                "default": None,
                "description": "First and last line to show, counted from 1; -1 as the last is the end of the file.",
            },
            "description": _DESCRIPTION,
        },
        ("path", "description"),
    ),
)
"""Tool specifications as clients get them, in alphabetical order; a further key would break both clients."""

_REQUIRED = {spec["name"]: tuple(spec["input_schema"].get("required", ())) for spec in TOOLS}


def tool_of(name: str, given: Mapping[str, Any]) -> Tool | ToolRefusal:
    """Return the call that a name and an input make; unknown inputs are ignored."""
    if name not in _REQUIRED:
        return ToolRefusal(reason="not_found", text=f"{name[:100]!r} is not a valid tool")
    faults = [_string_fault(given, field) for field in _REQUIRED[name]]
    if "new_str" in given and name == "str_replace":
        faults.append(_string_fault(given, "new_str"))
    faults += _further_faults(name, given) if not any(faults) else []
    if any(faults):
        return ToolRefusal(
            reason="input_validation", text=f"Tool input validation error: {'; '.join(filter(None, faults))}"
        )
    return _tool(name, given)


def _tool(name: str, given: Mapping[str, Any]) -> Tool:
    match name:
        case "bash":
            return Bash(command=given["command"])
        case "view":
            first, last = given.get("view_range") or (0, 0)
            return View(path=given["path"], first=first, last=0 if last == -1 else last)
        case "str_replace":
            return StrReplace(path=given["path"], old=given["old_str"], new=given.get("new_str", ""))
        case "create_file":
            return CreateFile(path=given["path"], text=given["file_text"])
        case _:
            return SubmitAnswer()


def _string_fault(given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    if field not in given:
        return f"{field}: is required"
    if not isinstance(value, str):
        return f"{field}: must be a string"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{field}: holds half of a surrogate pair, which is no text"
    return f"{field}: holds a NUL character" if "\0" in value and field in ("command", "path") else ""


def _further_faults(name: str, given: Mapping[str, Any]) -> list[str]:
    faults = []
    if "path" in _REQUIRED[name] and not given["path"]:
        faults.append("path: must not be empty")
    if name == "str_replace" and not given["old_str"]:
        faults.append("old_str: must not be empty")
    if name == "create_file" and len(given["file_text"].encode()) > MAX_TEXT_BYTES:
        faults.append(f"file_text: has more than {MAX_TEXT_BYTES} bytes; write it by bash, in parts")
    if name == "view":
        faults.append(_range_fault(given.get("view_range")))
    return faults


def _range_fault(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, list) or len(value) != 2 or any(type(item) is not int for item in value):
        return "view_range: must be two whole numbers, [first, last], or null"
    first, last = value
    if first < 1 or (last != -1 and last < first):
        return "view_range: the first line is 1 or more, and the last is not before it (or -1, the end)"
    return ""
