"""Speed and estimate from a few looks at a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a batch has come: tasks, tasks a second over the looks, seconds left (None while nothing moves)."""

    done: int
    total: int
    speed: float
    seconds_left: float | None

    @property
    def sentence(self) -> str:
        """The speed and the estimate as people read them."""
        if self.done == self.total:
            return "all done"
        if self.seconds_left is None:
            return "no verdict in the last looks"
        minutes, seconds = divmod(round(self.seconds_left), 60)
        return f"{self.speed * 60:.1f} verdicts a minute, about {minutes} min {seconds} s left"


def progress_of(looks: Sequence[tuple[float, int]], *, total: int) -> Progress:
    """Return the progress after looks of (time in seconds, tasks done), oldest first; at least one."""
    (first, before), (last, done) = looks[0], looks[-1]
    speed = (done - before) / (last - first) if last > first else 0.0
    left = (total - done) / speed if speed > 0 else None
    return Progress(done=done, total=total, speed=speed, seconds_left=left)
