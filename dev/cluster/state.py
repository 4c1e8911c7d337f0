"""The supervisor's word on its cluster, as `up` and `status` read it."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from layout import Layout
from locks import holder_of


class Phase(StrEnum):
    """How far a cluster is."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The phase, what is awaited or went wrong, and the component whose log tells more."""

    phase: Phase
    message: str = ""
    component: str = ""

    def write(self, layout: Layout) -> None:
        """Replace the last status in one step."""
        partial = layout.status.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)))
        partial.rename(layout.status)


def read_status(layout: Layout) -> Status | None:
    """The last status that was written, whether or not its supervisor still lives."""
    try:
        content = json.loads(layout.status.read_text())
    except FileNotFoundError:
        return None
    return Status(**(content | {"phase": Phase(content["phase"])}))


def supervisor_of(layout: Layout) -> int | None:
    """The process id of the supervisor that lives now."""
    return holder_of(layout.alive)
