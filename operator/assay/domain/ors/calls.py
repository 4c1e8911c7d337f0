"""What the hands say of a call."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """How far a call has come; ``error`` says why it could not be carried out, ``seconds`` how long it ran.

    ``output`` is the whole output where the hands told it at once; None: it has to be asked for.
    """

    done: bool
    exit_code: int | None
    timed_out: bool
    seconds: float
    output_bytes: int
    error: str
    output: bytes | None = None


def call_state(answer: Mapping[str, Any]) -> CallState:
    """Return the state that an answer of the hands tells."""
    return CallState(
        done=answer.get("state") == "done",
        exit_code=answer.get("exitCode"),
        timed_out=bool(answer.get("timedOut")),
        seconds=float(answer.get("seconds") or 0),
        output_bytes=int(answer.get("outputBytes") or 0),
        error=str(answer.get("error") or ""),
        output=base64.b64decode(answer["output"]) if "output" in answer else None,
    )
