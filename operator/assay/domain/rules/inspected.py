"""What the inspection run says to the rules that ask it, and what they say when it has no answer."""

from __future__ import annotations

from collections.abc import Collection

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.inspection import Inspection
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, named, of_runs
from assay.domain.verdict import Reason


def inspection_in(facts: Facts) -> Inspection | None:
    """Return a complete inspection; None while there is none, or when something that it needs was missing."""
    for outcome in facts.inspected:
        found = outcome.inspection
        if found and found.complete and not found.missing:
            return found
    return None


def unfinished(facts: Facts, reason: Reason) -> Finding | None:
    """Return the finding of an inspection that ended without an answer: neither valid nor invalid; None before it ran."""
    if not facts.inspected:
        return None
    last = facts.inspected[-1]
    missing = last.inspection.missing if last.inspection else ()
    why = f"the image lacks {named(missing)}" if missing else f"{last.kind} ({of_runs(facts.inspected)})"
    return _unanswered(reason, why)


def unseen(found: Inspection, lists: Collection[str], reason: Reason) -> Finding | None:
    """Return the finding of an inspection that shows nothing in lists that are not whole; None when they are."""
    cut = [word for word in found.cut if word in lists]
    return _unanswered(reason, f"it holds more than can be told ({', '.join(cut)})") if cut else None


def _unanswered(reason: Reason, why: str) -> Finding:
    return Finding(reason=reason, message=f"the image could not be looked into: {why}", kind=VerdictKind.INCONCLUSIVE)
