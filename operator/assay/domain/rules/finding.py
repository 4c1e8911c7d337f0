"""What a rule says, and the words that all rules say it in."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.outcomes import RunOutcome
from assay.domain.verdict import Reason

SHOWN_NAMES = 3
SHOWN_CHARS = 120
SHOWN_RUNS = 3
SHOWN_MESSAGE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule's sentence.  ``kind`` is the verdict that it asks for; None: a note, which never leads."""

    reason: Reason
    message: str
    kind: VerdictKind | None = VerdictKind.INVALID


def counted(count: int, noun: str, of: int | None = None) -> str:
    """Return ``1 target test``, ``2 target tests`` or ``1 of 3 target tests``."""
    total = count if of is None else of
    return f"{count}{'' if of is None else f' of {of}'} {noun}{'' if total == 1 else 's'}"


def named(names: Collection[str]) -> str:
    """Return the first few names, cut and printable: ``a, b, c and 7 more``."""
    shown = ", ".join(printable(name, SHOWN_CHARS) for name in sorted(names)[:SHOWN_NAMES])
    return shown + (f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else "")


def of_runs(outcomes: Collection[RunOutcome]) -> str:
    """Return the names of the first few runs and what the first one said: ``patched-1, patched-2: no such file``."""
    runs = [outcome.run.name for outcome in outcomes]
    shown = ", ".join(runs[:SHOWN_RUNS]) + (f" and {len(runs) - SHOWN_RUNS} more" if len(runs) > SHOWN_RUNS else "")
    said = next((outcome.message for outcome in outcomes if outcome.message), "")
    return f"{shown}: {printable(said, SHOWN_MESSAGE)}" if said else shown


def printable(text: str, limit: int) -> str:
    """Return text on one line, what no terminal shows escaped, cut to a number of characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in cut)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def sentence(parts: Iterable[str]) -> str:
    """Join the parts that are not empty by semicolons."""
    return "; ".join(part for part in parts if part)
