"""An episode's status that fits, however often the agent submits: as ``assay.domain.status_size`` for a validation's.

Submissions before the last one are shortened first, then all; counts, hashes, rewards and reasons stay.  What the Go
module gateway refuses stays whole, as it is from the status that the gateway reads it: ``assay.domain.goproxy.policies``
takes no more than fits beside all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.status_size import DETAILS, Detail, cut, first_that_fits, nowhere, shortened_conditions, shortened_run


def fitted_episode(status: api.AgentEpisodeStatus) -> api.AgentEpisodeStatus:
    """Return the status with as much detail as fits."""
    return first_that_fits(chain((status,), _shorter(status)))


def _shorter(status: api.AgentEpisodeStatus) -> Iterator[api.AgentEpisodeStatus]:
    *older, last = status.submissions or (None,)
    kept = () if last is None else (last,)
    for detail in DETAILS:
        yield status.model_copy(update={"submissions": (*(_submission(one, detail) for one in older if one), *kept)})
    shortest = tuple(_submission(one, DETAILS[-1]) for one in older if one)
    for detail in DETAILS:
        changes: dict[str, Any] = {
            "submissions": (*shortest, *(_submission(one, detail) for one in kept)),
            "message": status.message[: detail.message_chars],
            "conditions": shortened_conditions(status.conditions, detail),
        }
        yield status.model_copy(update=changes)
    yield status.model_copy(
        update=changes | {"submissions": (*map(_bare, shortest), *changes["submissions"][len(shortest) :])}
    )


def _bare(entry: api.SubmissionStatus) -> api.SubmissionStatus:
    """A submission whose run tells its outcome and its log alone: the report holds the rest."""
    run = entry.run and api.RunStatus(
        name=entry.run.name, attempt=entry.run.attempt, outcome=entry.run.outcome, log=entry.run.log
    )
    return entry.model_copy(update={"message": "", "run": run})


def _submission(entry: api.SubmissionStatus, detail: Detail) -> api.SubmissionStatus:
    places = {} if detail.uris else {"diff": nowhere(entry.diff), "report": nowhere(entry.report)}
    names = cut(entry.ignored.first[: detail.names], detail.name_chars)
    return entry.model_copy(
        update={
            "message": entry.message[: detail.message_chars],
            "ignored": entry.ignored.model_copy(update={"first": names}),
            "run": shortened_run(entry.run, detail) if entry.run else None,
            **places,
        }
    )
