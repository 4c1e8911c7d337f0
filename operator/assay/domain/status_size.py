"""A status that fits: whatever the task, the runs and their faults, it stays under ``MAX_BYTES`` in etcd.

Only excerpts are shortened, in steps and for the whole object alike; counts, hashes, verdict and reason stay, and so
does the last fault of each run, which tells the number of the next attempt.  The report in the store holds everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from assay.api import v1alpha1 as api

StatusT = TypeVar("StatusT", api.TaskValidationStatus, api.AgentEpisodeStatus)

MAX_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of each excerpt stays.

    ``uris``: whether it tells where files lie, which their hashes tell too; ``proofs``: whether each run tells the
    figures of its own isolation, which the condition sums up.
    """

    names: int
    name_chars: int
    faults: int
    fault_chars: int
    message_chars: int
    uris: bool
    proofs: bool = True


DETAILS = (
    Detail(names=5, name_chars=200, faults=5, fault_chars=300, message_chars=2000, uris=True),
    Detail(names=5, name_chars=80, faults=2, fault_chars=100, message_chars=1000, uris=True),
    Detail(names=3, name_chars=60, faults=1, fault_chars=60, message_chars=400, uris=False),
    Detail(names=1, name_chars=40, faults=1, fault_chars=0, message_chars=200, uris=False),
    Detail(names=0, name_chars=0, faults=1, fault_chars=0, message_chars=60, uris=False, proofs=False),
)


def fitted(status: api.TaskValidationStatus) -> api.TaskValidationStatus:
    """Return the status with as much detail as fits."""
    return first_that_fits(_shortened(status, detail) for detail in DETAILS)


def first_that_fits(shorter_and_shorter: Iterable[StatusT]) -> StatusT:
    """Return the first status that fits, the last one if none does; there is at least one."""
    for status in shorter_and_shorter:
        if bytes_of(status) <= MAX_BYTES:
            break
    return status


def bytes_of(status: api.TaskValidationStatus | api.AgentEpisodeStatus | api.GoPolicy) -> int:
    """Return the size of a status, or a part of one, as the API server stores it: JSON in UTF-8, with <, > and & escaped."""
    text = json.dumps(api.to_wire(status), ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "backslashreplace")) + 5 * sum(text.count(letter) for letter in "<>&")


def _shortened(status: api.TaskValidationStatus, detail: Detail) -> api.TaskValidationStatus:
    groups = {
        name: group.model_copy(update={"first": cut(group.first[: detail.names], detail.name_chars)})
        for name, group in status.tests
        if isinstance(group, api.TestGroup)
    }
    return status.model_copy(
        update={
            "message": status.message[: detail.message_chars],
            "tests": status.tests.model_copy(update=groups),
            "runs": tuple(shortened_run(run, detail) for run in status.runs),
            "conditions": shortened_conditions(status.conditions, detail),
            "report": status.report if detail.uris else nowhere(status.report),
        }
    )


def shortened_conditions(conditions: Iterable[api.Condition], detail: Detail) -> tuple[api.Condition, ...]:
    """Return conditions with so much of their messages."""
    return tuple(said.model_copy(update={"message": said.message[: detail.message_chars]}) for said in conditions)


def shortened_run(run: api.RunStatus, detail: Detail) -> api.RunStatus:
    """Return a run with so much detail; the last fault stays."""
    faults = [
        fault.model_copy(update={"message": fault.message[: detail.fault_chars]})
        for fault in run.faults[-detail.faults :]
    ]
    proof = {} if detail.proofs else {"isolation": None}
    places = {} if detail.uris else {"log": nowhere(run.log), "results": nowhere(run.results)}
    return run.model_copy(update={"faults": tuple(faults), **places, **proof})


def nowhere(artifact: api.Artifact | None) -> api.Artifact | None:
    """Return an artifact without its place, which its hash tells too."""
    return artifact.model_copy(update={"uri": ""}) if artifact else None


def cut(names: Iterable[str], chars: int) -> tuple[str, ...]:
    """Return names of so many characters at most."""
    return tuple(name[:chars] for name in names)
