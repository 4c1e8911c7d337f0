"""Where policy records come from: a JSON file that is read again when it changes, or a table that a watch fills."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from assay.domain.goproxy.records import BadRecord, RunRecord, record_of_mapping

logger = logging.getLogger(__name__)


class PolicySource(Protocol):
    """Finds the record of a token. The gateway holds tokens as SHA-256 alone."""

    async def find(self, token_sha256: str) -> RunRecord | None:
        """Return the record of the token with this hash (64 hexadecimal digits), None where no run has it."""

    def count(self) -> int | None:
        """Return how many records are known, None before the first successful read."""


class TablePolicies:
    """Records in memory, by object; a watch of custom resources calls :meth:`put` and :meth:`drop`."""

    def __init__(self, records: Iterable[RunRecord] = ()) -> None:
        self._by_run = {record.run: record for record in records}
        self._by_token = {record.token_sha256: record for record in self._by_run.values()}

    async def find(self, token_sha256: str) -> RunRecord | None:
        """Return the record of the token."""
        return self._by_token.get(token_sha256)

    def count(self) -> int | None:
        """Return the number of runs."""
        return len(self._by_run)

    def put(self, record: RunRecord) -> None:
        """Add or replace the record of its run."""
        self.drop(record.run)
        self._by_run[record.run] = record
        self._by_token[record.token_sha256] = record

    def drop(self, run: str) -> None:
        """Forget a run; its token opens nothing from now on."""
        record = self._by_run.pop(run, None)
        if record is not None and self._by_token.get(record.token_sha256) is record:
            del self._by_token[record.token_sha256]


class FilePolicies:
    """Records of a JSON file ``{"runs": [...]}``, looked at again at each request when the file was replaced.

    A file that cannot be read whole changes nothing: the records before it stay in force, and a warning is logged.  One
    bad record makes the file unreadable, so that a typing error never looks like a revoked run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._by_token: dict[str, RunRecord] | None = None

    async def find(self, token_sha256: str) -> RunRecord | None:
        """Return the record of the token as the file says now."""
        self.refresh()
        return (self._by_token or {}).get(token_sha256)

    def count(self) -> int | None:
        """Return the number of records, None until the file was read once."""
        self.refresh()
        return None if self._by_token is None else len(self._by_token)

    def refresh(self) -> None:
        """Read the file again if its inode, size or time of change differ."""
        try:
            stat = os.stat(self._path)  # noqa: PTH116 - on every request; pathlib costs three times as much
            stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self._by_token = _records_of(json.loads(self._path.read_bytes()))
        except (OSError, ValueError) as error:
            logger.warning("policy file %s was not taken: %s", self._path, error)


def _records_of(document: object) -> dict[str, RunRecord]:
    """Read the file's document; raises ValueError with the record's number and field."""
    runs = document.get("runs") if isinstance(document, Mapping) else None
    if not isinstance(runs, list):
        raise ValueError('expected {"runs": [...]}')  # noqa: TRY004 - the shape of a file, not of an argument
    records: dict[str, RunRecord] = {}
    for number, raw in enumerate(runs):
        record = record_of_mapping(raw) if isinstance(raw, Mapping) else BadRecord(field="", why="must be an object")
        if isinstance(record, BadRecord):
            raise ValueError(f"runs[{number}].{record.field}: {record.why}")  # noqa: TRY004 - a bad value in a file
        if record.token_sha256 in records:
            raise ValueError(f"runs[{number}].tokenSHA256: another run has it too")
        records[record.token_sha256] = record
    return records
