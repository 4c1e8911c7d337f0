"""A note on declared pass-to-pass tests that are none: they fail before for their own reasons, flake, or are not there.

They leave the list with their evidence and do not cost the task: in another environment the claim may have been true,
and a test that is not in the list misjudges no submission.
"""

from __future__ import annotations

from assay.domain.rules.classes import TestClass, class_of, evidence_of
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.rules.regression import regressions_of
from assay.domain.verdict import Reason


def pass_to_pass_excluded(facts: Facts) -> Finding | None:
    """Note the declared pass-to-pass tests that left the list without being regressions."""
    broken = set(regressions_of(facts))
    kept = {key for key in facts.declared_p2p if class_of(key, facts) is TestClass.PASS_TO_PASS}
    left = sorted(facts.declared_p2p - kept - broken, key=lambda key: facts.shown[key])
    if not left:
        return None
    count = counted(len(left), "pass-to-pass test", of=len(facts.declared_p2p))
    message = f"{count} declared, but not confirmed: {named(facts.names(left))} ({evidence_of(left[0], facts)})"
    return Finding(reason=Reason.PASS_TO_PASS_EXCLUDED, message=message, kind=None)
