"""A tool's result, as the JSON of the protocol and as the pieces of an event stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PIECE = 4_000
"""Characters of one piece; clients fail on lines of half a megabyte."""
HEARTBEAT = b": ping\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool answers.  ``reward`` is None for all but the submission that was graded, which finishes the episode."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    reward: float | None = None
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A call that was not carried out, and why, for the agent."""

    text: str
    reason: str


Result = Output | Refused


def infrastructure(tool: str, text: str) -> Output:
    """Return the answer for a fault that is not the agent's: an answer like any other, so that clients go on."""
    metadata = {"ok": False, "tool": tool, "invalid": True, "failure_class": "infrastructure"}
    return Output(text=f"{text}\nExit code: 1", metadata=metadata)


def json_of(result: Result) -> str:
    """Return a result as JSON in ASCII, without blanks outside of strings; always with all keys that clients read."""
    if isinstance(result, Refused):
        answer: dict[str, Any] = {"ok": False, "error": _unmarked(result.text), "reason": result.reason}
    else:
        output = {
            "blocks": text_blocks(_unmarked(result.text)),
            "metadata": dict(result.metadata),
            "reward": result.reward,
            "finished": result.finished,
        }
        answer = {"ok": True, "output": output}
    return json.dumps(answer, separators=(",", ":"))


def text_blocks(text: str) -> list[dict[str, Any]]:
    """Return the one block of a text."""
    return [{"text": text, "detail": None, "type": "text"}]


def pieces_of(text: str) -> Iterator[str]:
    """Cut a JSON text (no blanks outside of its strings) into pieces that do not begin with a blank.

    Clients strip blanks from the front of a piece: there, the blank is written as JSON's escape for it.
    """
    for start in range(0, len(text), PIECE):
        piece = text[start : start + PIECE]
        yield "\\u0020" + piece[1:] if piece[0] == " " else piece


def frame_of(event: str, data: str) -> bytes:
    """Return one event of a stream."""
    lines = "".join(f"data: {line}\n" for line in data.split("\n"))
    return f"event: {event}\n{lines}\n".encode()


def frames_of(result: Result) -> Iterator[bytes]:
    """Yield the events that carry a result: ``chunk`` for all pieces but the last, ``end`` for the last."""
    pieces = list(pieces_of(json_of(result)))
    for piece in pieces[:-1]:
        yield frame_of("chunk", piece)
    yield frame_of("end", pieces[-1])


def _unmarked(text: str) -> str:
    """Break marks by which some harnesses read a reward out of a text: here a reward is a number in its own place."""
    return text.replace("[OR_REWARD:", "[OR_REWARD :").replace("[EPISODE COMPLETE]", "[EPISODE  COMPLETE]")
