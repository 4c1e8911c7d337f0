"""NeedsNetwork: the patched state fails, and its log shows connections or look-ups that were refused.

It leads over the failures that it explains, and makes none of its own: a log may speak of refused look-ups in a test
that passes.  A failure of targets or of every test is taken to be explained by any such line; tests that the patched
state lost only when the unpatched runs show no such line.
"""

from __future__ import annotations

from assay.domain.plan import RunKind
from assay.domain.profiles import Standing
from assay.domain.rules.classes import is_flaky
from assay.domain.rules.facts import Facts, Vector
from assay.domain.rules.failing import target_tests_fail_patched
from assay.domain.rules.finding import Finding, counted, printable
from assay.domain.rules.no_targets import no_target_tests
from assay.domain.rules.not_run import tests_did_not_run
from assay.domain.rules.regression import pass_to_pass_regression
from assay.domain.verdict import Reason

SHOWN_HINT = 200


def needs_network(facts: Facts) -> Finding | None:
    """Condemn a task whose patched runs fail and look as if they wanted the network."""
    hinting = [run for run in facts.of(RunKind.PATCHED) if run.network_hints]
    if not hinting:
        return None
    explained = tests_did_not_run(facts) or target_tests_fail_patched(facts)
    what = explained.message if explained else _lost(facts)
    if not what:
        return None
    hint = printable(hinting[0].network_hints[0], SHOWN_HINT)
    message = f"{what}; {hinting[0].run.name} was refused the network: {hint}"
    return Finding(reason=Reason.NEEDS_NETWORK, message=message)


def _lost(facts: Facts) -> str:
    """Return how many tests the patched state lost; empty when that condemns nothing or has another explanation."""
    if any(run.network_hints for run in facts.of(RunKind.UNPATCHED)):
        return ""
    lost = sum(_is_lost(vector) for vector in facts.vectors.values())
    if not lost or not (no_target_tests(facts) or pass_to_pass_regression(facts)):
        return ""
    return f"{counted(lost, 'test')} passed without the reference patch and not with it"


def _is_lost(vector: Vector) -> bool:
    if is_flaky(vector) or not vector.unpatched or not vector.patched:
        return False
    return vector.unpatched[0] is Standing.PASS and vector.patched[0] in (Standing.FAIL, Standing.ABSENT)
