"""What a run has used of the gateway: each replica counts for itself, ``status.egress`` says the sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.api.episode import Egress


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One run's use of one replica; ``modules`` are the module paths that it was served."""

    requests: int = 0
    denied: int = 0
    bytes: int = 0
    modules: frozenset[str] = frozenset()


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
    )


def _count(run: str, raw: Mapping[str, object], field: str) -> int:
    value = raw.get(field, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"usage of {run}: {field} must be a whole number")
    return value
