"""A request's body -> the job that serve.sh runs: a few words of shell, and files beside it.  Pure."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple

ARGUMENT_BYTES = 65536
"""A longer script travels as a file: Linux limits one argument to 128 KiB."""
DEFAULT_SECONDS = 600.0
MOST_SECONDS = 86400.0
FILE_SECONDS = 120.0
CAPTURE_SECONDS = 300.0
MODES = ("keep", "create")
_WRITE_KEYS = {"path", "content", "mode", "replaces"}

_KEYS = {
    "script": {"script", "timeoutSeconds", "stdin", "cwd"},
    "read": {"read", "timeoutSeconds"},
    "write": {"write", "timeoutSeconds"},
}


class BadRequestError(ValueError):
    """The body asks for nothing that can be done; nothing was done."""


class Job(NamedTuple):
    """``text`` for the shell, ``files`` by their suffix, and the deadline."""

    text: bytes
    files: dict[str, bytes]
    seconds: float


def digest_of(body: object) -> str:
    """Return what is equal for equal requests."""
    return sha256(dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def capture() -> Job:
    """Return the job that takes the diff."""
    return Job(b"assay_capture\n", {}, CAPTURE_SECONDS)


def job_of(body: object, prefix: str) -> Job:
    """Return the job of a request; its files will lie at ``prefix`` + suffix.  Raises :class:`BadRequestError`."""
    if not isinstance(body, dict):
        raise BadRequestError("the body must be an object")
    kinds = [kind for kind in _KEYS if kind in body]
    if len(kinds) != 1:
        raise BadRequestError("exactly one of script, read and write must be given")
    kind = kinds[0]
    if strange := sorted(set(body) - _KEYS[kind]):
        raise BadRequestError(f"unknown: {', '.join(map(str, strange))}")
    place = prefix.encode()
    if kind == "script":
        return _script(body, place)
    if kind == "read":
        text = b"assay_read %s\n" % _word(body["read"], "read", empty=False)
        return Job(text, {}, _seconds(body, FILE_SECONDS))
    return _write(body, place)


def _script(body: dict[str, Any], place: bytes) -> Job:
    script = _bytes(body["script"], "script")
    files = {}
    stdin = b"/dev/null"
    if body.get("stdin") is not None:
        files["stdin"] = _base64(body["stdin"], "stdin")
        stdin = place + b"stdin"
    cwd = body.get("cwd")
    if len(script) > ARGUMENT_BYTES:
        files["script"] = script
        arguments = quoted(place + b"script")
    else:
        arguments = b"-c " + quoted(script)
    text = b"assay_script %s %s %s\n" % (_word("" if cwd is None else cwd, "cwd"), quoted(stdin), arguments)
    return Job(text, files, _seconds(body, DEFAULT_SECONDS))


def _write(body: dict[str, Any], place: bytes) -> Job:
    asked = body["write"]
    if not isinstance(asked, dict) or set(asked) - _WRITE_KEYS or "content" not in asked:
        raise BadRequestError("write must hold path, content and mode, and may hold replaces")
    mode = asked.get("mode", "keep")
    if mode not in MODES:
        raise BadRequestError("mode must be keep or create")
    path = _word(asked.get("path"), "path", empty=False)
    text = b"assay_write %s %s %s %s\n" % (quoted(place + b"data"), mode.encode(), path, _replaces(asked, mode))
    return Job(text, {"data": _base64(asked["content"], "content")}, _seconds(body, FILE_SECONDS))


def _replaces(asked: dict[str, Any], mode: str) -> bytes:
    """The SHA-256 that the file must have before it is written, as a word of the shell; empty: any."""
    value = asked.get("replaces")
    if value is None:
        return b"''"
    if mode != "keep" or not isinstance(value, str) or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise BadRequestError("replaces must be the SHA-256 of a file that is there, in hexadecimal, with mode keep")
    return quoted(value.encode())


def quoted(text: bytes) -> bytes:
    """Return a word that a shell reads as exactly ``text``."""
    return b"'" + text.replace(b"'", b"'\\''") + b"'"


def _word(value: object, name: str, *, empty: bool = True) -> bytes:
    data = _bytes(value, name)
    if not data and not empty:
        raise BadRequestError(f"{name} must not be empty")
    return quoted(data)


def _bytes(value: object, name: str) -> bytes:
    """UTF-8; bytes of odd file names travel as surrogate escapes."""
    if not isinstance(value, str):
        raise BadRequestError(f"{name} must be a string")
    try:
        data = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadRequestError(f"{name} is not text") from error
    if b"\0" in data:
        raise BadRequestError(f"{name} must not hold the null character")
    return data


def _base64(value: object, name: str) -> bytes:
    if not isinstance(value, str):
        raise BadRequestError(f"{name} must be base64")
    try:
        return a2b_base64(value.encode("ascii"), strict_mode=True) if value else b""
    except (Base64Error, UnicodeEncodeError) as error:
        raise BadRequestError(f"{name} must be base64") from error


def _seconds(body: dict[str, Any], default: float) -> float:
    value = body.get("timeoutSeconds")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_SECONDS:
        raise BadRequestError(f"timeoutSeconds must be more than 0 and at most {MOST_SECONDS:.0f}")
    return float(value)
