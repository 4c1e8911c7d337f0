"""Normalisation of test names, applied by a profile to expected and observed names alike, never by a parser.

Runners print timings, blanks and colours into names; published evaluators compare names without some of them. What is
removed is named by the profile, and two expected names that become one are reported, since they can never both match.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.domain.logs.statuses import Results

_BRACKETED = re.compile(r"\[\s*\d++(?:\.\d++)?\s*+m?s\s*+\]$", re.IGNORECASE)
_INFIX = re.compile(r"(?<!\s)\s++in\s++\d++(?:\.\d++)?\s*+m?sec\b", re.IGNORECASE)
_PARENTHESISED = re.compile(r"\(\s*\d++(?:\.\d++)?\s*+m?s\s*+\)$", re.IGNORECASE)
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[ -/]*+[0-~])")


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRules:
    """What of a name does not count; the default is what the evaluator of SWE-rebench V2 removes."""

    timings: bool = True
    trim: bool = True
    escapes: bool = False
    blanks: bool = False


AS_PRINTED = NameRules(timings=False, trim=False)


def normalised(name: str, rules: NameRules) -> str:
    """The name without escapes, with single blanks, without timings, trimmed: each as far as the rules say so.

    Timings are a trailing `[1.34 ms]`, then every ` in 29.08 msec` (a whole word), then a trailing `(1.2s)`, in any
    letter case and with any blanks between their parts.
    """
    if rules.escapes and "\x1b" in name:
        name = _ESCAPE.sub("", name)
    if rules.blanks:
        name = " ".join(name.split())
    if rules.timings:
        name = _without_last(_BRACKETED, "[", name)
        name = _INFIX.sub("", name) if "sec" in name.lower() else name
        name = _without_last(_PARENTHESISED, "(", name)
    return name.strip() if rules.trim else name


def _without_last(tail: re.Pattern[str], opening: str, name: str) -> str:
    """The name without a tail that begins at its last opening bracket; blanks may follow the tail."""
    bare = name.rstrip()
    at = bare.rfind(opening)
    return bare[:at].rstrip() if at >= 0 and tail.match(bare, at) else name


def normalised_results(results: Results, rules: NameRules) -> dict[str, str]:
    """The results under normalised names; of names that become one the later wins."""
    return {normalised(name, rules): status for name, status in results.items()}


def collisions(names: Iterable[str], rules: NameRules) -> Mapping[str, tuple[str, ...]]:
    """Normalised name -> the distinct names that become it, where there are two or more, in order."""
    groups: dict[str, dict[str, None]] = {}
    for name in names:
        groups.setdefault(normalised(name, rules), {})[name] = None
    return {key: tuple(group) for key, group in groups.items() if len(group) > 1}
