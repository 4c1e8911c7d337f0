"""What was decided on one request, and its line in the log. The token is in neither."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from assay.domain.goproxy.records import RunRecord
from assay.domain.goproxy.targets import Kind, Request
from assay.goproxy.cache import Stored

logger = logging.getLogger("assay.goproxy.decisions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer to one request: a status, a file (200) or a sentence (all else), and why.

    ``rule`` is a policy rule, "" where no policy denied; ``evidence`` is for the log alone.
    """

    status: int
    why: str = ""
    rule: str = ""
    evidence: str = ""
    record: RunRecord | None = None
    request: Request | None = None
    stored: Stored | None = None
    body: bytes | None = None
    close: bool = False

    @property
    def kind(self) -> str:
        """Return the request's kind, "none" where the target was not understood."""
        return str(self.request.kind) if self.request is not None else "none"

    @property
    def content_type(self) -> str:
        """Return the content type, fixed by what was asked for."""
        kind = self.request.kind if self.request is not None and self.status == 200 else None
        match kind:
            case Kind.INFO | Kind.LATEST:
                return "application/json"
            case Kind.ZIP:
                return "application/zip"
            case Kind.SUMDB_TILE:
                return "application/octet-stream"
            case _:
                return "text/plain; charset=utf-8"


def log_decision(decision: Decision, *, method: str, sent: int, peer: str) -> None:
    """Write one JSON line."""
    record, request, stored = decision.record, decision.request, decision.stored
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "run": record.run if record else "",
        "podUID": record.pod_uid if record else "",
        "peer": peer,
        "method": method,
        "kind": decision.kind,
        "module": request.module if request else "",
        "version": request.version if request else "",
        "decision": _word(decision),
        "rule": decision.rule,
        "evidence": decision.evidence,
        "status": decision.status,
        "why": decision.why,
        "bytes": sent,
        "sha256": stored.sha256 if stored else "",
    }
    logger.info(json.dumps(line, separators=(",", ":")))


def _word(decision: Decision) -> str:
    if decision.status == 200:
        return "served"
    if decision.rule:
        return "denied"
    return "failed" if decision.status >= 500 else "refused"
