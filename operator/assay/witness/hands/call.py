"""One call: what was asked, how far it is, what came of it."""

from __future__ import annotations

from assay.witness.hands.spool import Spool

QUEUED, RUNNING, DONE = "queued", "running", "done"
EXIT_TIMEOUT = 124


class Call:
    """A call by its number (order of arrival, from 1); changed by the engine alone, under its lock."""

    __slots__ = (
        "began", "cancelled", "deadline", "digest", "error", "exit_code", "id", "is_capture", "kill_at", "kills",
        "number", "omitted", "output_bytes", "seconds", "spool", "state", "timed_out",
    )  # fmt: skip

    def __init__(self, number: int, identifier: str, digest: str, *, is_capture: bool = False) -> None:
        self.number = number
        self.id = identifier
        self.digest = digest
        self.is_capture = is_capture
        self.state = QUEUED
        self.began = self.deadline = self.seconds = 0.0
        self.kill_at: float | None = None
        self.kills = 0
        self.timed_out = self.cancelled = False
        self.exit_code: int | None = None
        self.error: str | None = None
        self.output_bytes = 0
        self.omitted: tuple[int, int] | None = None
        self.spool: Spool | None = None

    def view(self, now: float) -> dict[str, object]:
        """Return what a client is told."""
        spool = self.spool
        gap = spool.omitted if spool and self.state != DONE else self.omitted
        return {
            "id": self.id,
            "state": self.state,
            "exitCode": self.exit_code,
            "timedOut": self.timed_out,
            "cancelled": self.cancelled,
            "seconds": round(now - self.began if self.state == RUNNING else self.seconds, 3),
            "outputBytes": spool.total if spool and self.state != DONE else self.output_bytes,
            "omitted": {"from": gap[0], "to": gap[1]} if gap else None,
            "error": self.error,
        }

    def result(self) -> dict[str, object]:
        """Return what the journal keeps of a call that is done."""
        return {
            "rc": self.exit_code,
            "timedOut": self.timed_out,
            "cancelled": self.cancelled,
            "seconds": round(self.seconds, 3),
            "bytes": self.output_bytes,
            "omitted": self.omitted,
            "error": self.error,
        }

    def restore(self, result: dict[str, object]) -> None:
        """Become what :meth:`result` said."""
        code, size, seconds, gap = result["rc"], result["bytes"], result["seconds"], result["omitted"]
        self.state = DONE
        self.exit_code = code if isinstance(code, int) else None
        self.timed_out, self.cancelled = result["timedOut"] is True, result["cancelled"] is True
        self.seconds = seconds if isinstance(seconds, int | float) else 0.0
        self.output_bytes = size if isinstance(size, int) else 0
        self.omitted = (gap[0], gap[1]) if isinstance(gap, list) else None
        self.error = None if result["error"] is None else str(result["error"])
