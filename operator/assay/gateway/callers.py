"""Who calls: API keys by their hashes, from a file that may be replaced at any time, and the keys of agents."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

MAX_KEY_CHARS = 1_000
_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who a request is from.  ``episode`` is the one that an agent's key opens, empty for an API key."""

    name: str
    max_episodes: int = 0
    episode: str = ""


class KeysUnreadableError(Exception):
    """The file of API keys cannot be read; nobody with an API key is let in until it can."""


class Keyring:
    """The API keys of a file: {"keys": [{"name", "sha256", "maxEpisodes"}]}."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._callers: dict[str, Caller] = {}

    def caller_of(self, key: str) -> Caller | None:
        """Return whose key this is; None for nobody's."""
        self.refresh()
        return self._callers.get(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())

    def refresh(self) -> int:
        """Read the file again if it was replaced; return the number of keys.  ``KeysUnreadableError`` when there are none to go by."""
        try:
            stat = self._file.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if stamp != self._stamp:
                self._callers = callers_of(self._file.read_bytes())
                self._stamp = stamp
                log.info("know %d API keys", len(self._callers))
        except (OSError, ValueError) as error:
            if self._stamp is None:
                raise KeysUnreadableError(f"{self._file}: {error}") from error
            log.warning("%s: %s; the keys stay as they were", self._file, error)
        return len(self._callers)


def callers_of(content: bytes) -> dict[str, Caller]:
    """Return callers by the SHA-256 of their keys.  ``ValueError`` names the entry that is wrong."""
    loaded = json.loads(content)
    entries = loaded.get("keys") if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise ValueError('must hold {"keys": [...]}')  # noqa: TRY004 - a wrong file, like any other wrong value
    callers: dict[str, Caller] = {}
    for position, entry in enumerate(entries):
        digest, caller = _caller_of(position, entry)
        callers[digest] = caller
    return callers


def _caller_of(position: int, entry: Any) -> tuple[str, Caller]:
    where = f"keys[{position}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise ValueError(f"{where}.name: must be a name")
    digest, most = entry.get("sha256"), entry.get("maxEpisodes", 100)
    if not isinstance(digest, str) or len(digest) != 64 or not set(digest) <= _DIGITS:
        raise ValueError(f"{where}.sha256: must be 64 hexadecimal digits, lower case")
    if type(most) is not int or most < 0:
        raise ValueError(f"{where}.maxEpisodes: must be a whole number, 0 or more")
    return digest, Caller(name=entry["name"], max_episodes=most)
