"""Which spellings are one test: the profile's name rules, applied to results and to declared lists alike."""

from __future__ import annotations

import re
from collections.abc import Collection

from assay.domain.profiles import NameRule

BRACKETED = re.compile(r"\[\s*\d+(?:\.\d+)?\s*m?s\s*\]\s*\Z", re.IGNORECASE)
WORDED = re.compile(r" in \d+(?:\.\d+)? m?sec", re.IGNORECASE)
PARENTHESISED = re.compile(r"\(\s*\d+(?:\.\d+)?\s*m?s\s*\)\s*\Z", re.IGNORECASE)


def key_of(name: str, rules: Collection[NameRule]) -> str:
    """Return the form under which all spellings of one test are equal."""
    return without_durations(name) if NameRule.DURATIONS in rules else name


def without_durations(name: str) -> str:
    """Return a name without ``[1.3 ms]`` at its end, `` in 29 msec`` anywhere, ``(12 ms)`` at its end, then trimmed."""
    return PARENTHESISED.sub("", WORDED.sub("", BRACKETED.sub("", name))).strip()


def cut_matches(name: str, observed: Collection[str]) -> tuple[str, ...]:
    """Return the observed names that a declared one stands for if it was cut inside its parameters, else nothing.

    Published lists hold names such as ``test_x[log(photon``, cut at a blank; a whole name closes what it opens.
    """
    if name in observed or name.count("[") <= name.count("]"):
        return ()
    return tuple(sorted(candidate for candidate in observed if candidate.startswith(name)))
