"""Which spellings are one test: the profile's name rules, applied to results and to declared lists alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from assay.domain.logs.names import AS_PRINTED, NameRules, collisions, normalised
from assay.domain.profiles import NameRule

DURATIONS = NameRules()
"""Without timings and outer blanks: what the evaluator of SWE-rebench V2 compares."""


def key_of(name: str, rules: Collection[NameRule]) -> str:
    """Return the form under which all spellings of one test are equal."""
    return normalised(name, DURATIONS) if NameRule.DURATIONS in rules else name


def spellings_of(names: Iterable[str], rules: Collection[NameRule]) -> Mapping[str, tuple[str, ...]]:
    """Return key -> its distinct spellings, where there are two or more among the names."""
    return collisions(names, DURATIONS if NameRule.DURATIONS in rules else AS_PRINTED)


def cut_matches(name: str, observed: Collection[str]) -> tuple[str, ...]:
    """Return the observed names that a declared one stands for if it was cut inside its parameters, else nothing.

    Published lists hold names such as ``test_x[log(photon``, cut at a blank; a whole name closes what it opens.
    """
    if name in observed or name.count("[") <= name.count("]"):
        return ()
    return tuple(sorted(candidate for candidate in observed if candidate.startswith(name)))
