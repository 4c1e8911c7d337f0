"""A note on tests that pass with the reference patch and are in neither declared list.

Under a profile that compares the passing names with the lists exactly, no submission could resolve such a task.
"""

from __future__ import annotations

from assay.domain.profiles import Standing
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.verdict import Reason


def extra_passing_tests(facts: Facts) -> Finding | None:
    """Note the undeclared tests that pass in a patched run, when the profile is exact and lists are declared."""
    declared = facts.targets | facts.declared_p2p
    if not facts.profile.exact or not declared:
        return None
    extra = [key for key, vector in facts.vectors.items() if Standing.PASS in vector.patched and key not in declared]
    if not extra:
        return None
    message = f"{counted(len(extra), 'test')} in neither list passed with the reference patch"
    names = named(facts.names(extra))
    return Finding(
        reason=Reason.EXTRA_PASSING_TESTS,
        message=f"{message}, which is a mismatch under {facts.profile.name}: {names}",
        kind=None,
    )
