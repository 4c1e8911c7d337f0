"""FutureHistory: the image holds the solution, in git beyond the base commit or in a newer release of the project."""

from __future__ import annotations

from assay.api.v1alpha1 import Check
from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.inspection import Inspection
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named, printable, sentence
from assay.domain.rules.inspected import inspection_in, unfinished, unseen
from assay.domain.verdict import Reason

SHOWN = 100


def future_history(facts: Facts) -> Finding | None:
    """Condemn a task whose image gives its solution away; with ``scrub``, history alone is a note."""
    if Check.FUTURE_HISTORY not in facts.task.checks:
        return None
    found = inspection_in(facts)
    if found is None:
        return unfinished(facts, Reason.FUTURE_HISTORY)
    copies, history = found.solution_copies(), _history(found)
    if not copies and not history:
        return unseen(found, {"copy", "archive"}, Reason.FUTURE_HISTORY)
    shown = (
        f"{counted(len(copies), 'file')} elsewhere {'holds' if len(copies) == 1 else 'hold'} lines of the reference patch: "
        f"{named(copies)}"
        if copies
        else ""
    )
    scrubbed = "history is removed before an agent works" if history and facts.task.scrub else ""
    return Finding(
        reason=Reason.FUTURE_HISTORY,
        message=sentence((history, shown, scrubbed)),
        kind=None if facts.task.scrub and not copies else VerdictKind.INVALID,
    )


def _history(found: Inspection) -> str:
    count = found.outside or len(found.history)
    if not count:
        return ""
    first = f", first: {printable(found.history[0], SHOWN)}" if found.history else ""
    return f"git holds {counted(count, 'object')} outside of the base's ancestry{first}"
