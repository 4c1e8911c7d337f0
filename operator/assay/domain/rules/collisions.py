"""A note on declared names that the profile takes for one test.

They can never both be matched: where the passing names must equal the lists, no submission could resolve such a task.
"""

from __future__ import annotations

from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import SHOWN_CHARS, SHOWN_NAMES, Finding, counted, printable, sentence
from assay.domain.rules.spelling import spellings_of
from assay.domain.verdict import Reason


def expected_names_collide(facts: Facts) -> Finding | None:
    """Note the declared names, of both lists together, that are equal under the profile's name rules."""
    groups = spellings_of((*facts.task.fail_to_pass, *facts.task.pass_to_pass), facts.profile.names)
    if not groups:
        return None
    count = counted(len(groups), "declared test")
    shown = [" = ".join(printable(name, SHOWN_CHARS) for name in groups[key]) for key in sorted(groups)[:SHOWN_NAMES]]
    rest = f"and {len(groups) - SHOWN_NAMES} more" if len(groups) > SHOWN_NAMES else ""
    message = f"{count} listed in several spellings that {facts.profile.name} takes for one: {sentence((*shown, rest))}"
    return Finding(reason=Reason.EXPECTED_NAMES_COLLIDE, message=message, kind=None)
