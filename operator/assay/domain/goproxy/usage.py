"""What a run has used of the gateway: each replica counts for itself, ``status.egress`` says the sum.

The last count is taken when it cannot grow any more: the phase of an episode that is over has taken its route away, its
pods are gone, and no replica is still answering it.  Condition ``EgressCounted`` says that this was done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.api.episode import AgentEpisodeStatus, Egress
from assay.domain.status import merged_conditions

COUNTED = "EgressCounted"
COUNT_SECONDS = 60.0
"""How long after its end an episode's last count waits for pods that do not go and replicas that do not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One run's use of one replica; ``modules`` are the module paths that it was served, ``active`` requests under way."""

    requests: int = 0
    denied: int = 0
    bytes: int = 0
    modules: frozenset[str] = frozenset()
    active: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the replicas said of some runs, by run; ``silent`` are the addresses of those that said nothing."""

    by_run: Mapping[str, Sequence[Usage]] = field(default_factory=dict)
    silent: tuple[str, ...] = ()


def usage_of_answer(answer: object) -> Mapping[str, Usage]:
    """Read the answer of a replica's ``/usage``, by run; entries of another shape raise ValueError."""
    if not isinstance(answer, Mapping):
        raise ValueError("usage must be an object")  # noqa: TRY004 - the shape of an answer, not of an argument
    return {str(run): _usage(str(run), raw) for run, raw in answer.items()}


def egress_of(usages: Iterable[Usage], *, before: Egress | None = None) -> Egress:
    """Sum the replicas' counts of one run; modules that several served count once.

    No figure falls below ``before``: a replica that was replaced has forgotten what it counted.
    """
    taken, known = tuple(usages), before or Egress()
    modules = frozenset[str]().union(*(usage.modules for usage in taken))
    return Egress(
        requests=max(known.requests, sum(usage.requests for usage in taken)),
        denied=max(known.denied, sum(usage.denied for usage in taken)),
        bytes=max(known.bytes, sum(usage.bytes for usage in taken)),
        modules=max(known.modules, len(modules)),
    )


def may_grow(usages: Sequence[Usage], *, silent: Sequence[str], pods: int) -> str:
    """Say why the counts of a run that is over are not its last; empty when they are.  ``pods`` of it are still there."""
    active = sum(usage.active for usage in usages)
    if pods:
        return f"{pods} of its pods are still there"
    if active:
        return f"{active} of its requests are still being answered"
    return f"no answer from the module gateway at {', '.join(silent)}" if silent else ""


def counted_status(
    status: AgentEpisodeStatus, egress: Egress, doubt: str, *, generation: int, now: float
) -> AgentEpisodeStatus:
    """Return the status of an episode that is over with its last count; ``doubt`` says why it may be too low."""
    told = ("False", "CountUncertain", doubt) if doubt else ("True", "Counted", "no request was made after the count")
    kept = [(said.type, said.status, said.reason, said.message) for said in status.conditions if said.type != COUNTED]
    conditions = merged_conditions(status.conditions, [*kept, (COUNTED, *told)], generation, now)
    return status.model_copy(update={"egress": egress, "conditions": conditions, "observed_generation": generation})


def is_uncounted(spec: Mapping[str, object], status: Mapping[str, object]) -> bool:
    """Say of an episode that is over whether a sandbox of it had a way to the gateway and its last count is missing."""
    sandbox, conditions = status.get("sandbox"), status.get("conditions")
    if spec.get("network") != "GoProxy" or not isinstance(sandbox, Mapping) or not sandbox.get("podUID"):
        return False
    told = conditions if isinstance(conditions, list) else []
    return not any(said.get("type") == COUNTED for said in told)


def _usage(run: str, raw: object) -> Usage:
    if not isinstance(raw, Mapping):
        raise ValueError(f"usage of {run} must be an object")  # noqa: TRY004 - the shape of an answer
    modules = raw.get("modules", [])
    if not isinstance(modules, list) or not all(isinstance(module, str) for module in modules):
        raise ValueError(f"usage of {run}: modules must be a list of texts")
    return Usage(
        requests=_count(run, raw, "requests"),
        denied=_count(run, raw, "denied"),
        bytes=_count(run, raw, "bytes"),
        modules=frozenset(modules),
        active=_count(run, raw, "active"),
    )


def _count(run: str, raw: Mapping[str, object], field: str) -> int:
    value = raw.get(field, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"usage of {run}: {field} must be a whole number")
    return value
