"""The rules of a verdict, one a module, and the fold over them.

Each rule looks at the same ``Facts`` and says at most one ``Finding``.  ``RULES`` is their order: the first finding
that asks for a verdict leads, all others stay in the verdict's details.  What spoils the evidence comes before what
the evidence says: no image, another platform, a changed tree, a patch that does not apply, no set-up or no readable
log, memory, time.  Targets that pass without the patch come next, since no later fault could excuse them; then logs
with a hole, the network (which explains the failures after it), no results at all, and what the results say.  Notes
(``kind=None``) come last and never lead.  A task that no rule condemns is valid.

``EARLY_RULES`` are the findings that no later run can take back.  An unpatched run without any result is not among
them: new tests need not compile before the patch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.outcomes import RunOutcome
from assay.domain.plan import RunKind
from assay.domain.profiles import Profile
from assay.domain.rules.classes import lists_of
from assay.domain.rules.collisions import expected_names_collide
from assay.domain.rules.dirty_image import dirty_image
from assay.domain.rules.excluded import pass_to_pass_excluded
from assay.domain.rules.exit_code import exit_code_contradicts
from assay.domain.rules.extra_passing import extra_passing_tests
from assay.domain.rules.facts import Facts, facts_of
from assay.domain.rules.failing import target_tests_fail_patched
from assay.domain.rules.finding import Finding, counted
from assay.domain.rules.flaky import target_tests_flaky
from assay.domain.rules.future_history import future_history
from assay.domain.rules.image_unavailable import image_unavailable
from assay.domain.rules.memory import out_of_memory, surely_out_of_memory
from assay.domain.rules.module_cache import module_cache
from assay.domain.rules.network import needs_network
from assay.domain.rules.no_targets import no_target_tests
from assay.domain.rules.not_run import tests_could_not_run, tests_did_not_run
from assay.domain.rules.passing import all_targets_pass_unpatched, target_tests_pass_unpatched
from assay.domain.rules.platform_mismatch import platform_mismatch
from assay.domain.rules.reference_patch import patch_does_not_apply
from assay.domain.rules.regression import pass_to_pass_regression
from assay.domain.rules.test_patch import test_patch_does_not_apply
from assay.domain.rules.timeout import surely_test_timeout, test_timeout, told_by_the_rest
from assay.domain.rules.truncated import log_truncated
from assay.domain.task import Task
from assay.domain.verdict import Reason, TestLists, Verdict

Rule = Callable[[Facts], Finding | None]

RULES: tuple[Rule, ...] = (
    image_unavailable,
    platform_mismatch,
    dirty_image,
    test_patch_does_not_apply,
    patch_does_not_apply,
    tests_could_not_run,
    out_of_memory,
    test_timeout,
    target_tests_pass_unpatched,
    log_truncated,
    needs_network,
    tests_did_not_run,
    no_target_tests,
    target_tests_fail_patched,
    target_tests_flaky,
    pass_to_pass_regression,
    future_history,
    module_cache,
    told_by_the_rest,
    pass_to_pass_excluded,
    expected_names_collide,
    extra_passing_tests,
    exit_code_contradicts,
)

EARLY_RULES: tuple[Rule, ...] = (
    image_unavailable,
    platform_mismatch,
    dirty_image,
    test_patch_does_not_apply,
    patch_does_not_apply,
    tests_could_not_run,
    surely_out_of_memory,
    surely_test_timeout,
    all_targets_pass_unpatched,
)


def verdict_of(task: Task, outcomes: Sequence[RunOutcome], profile: Profile) -> Verdict:
    """Return the verdict of all planned runs, each with complete evidence, in any order.

    Raises ValueError when a state has no run at all and the other runs do not force a verdict: none without evidence.
    """
    facts = facts_of(task, outcomes, profile)
    complete = facts.of(RunKind.UNPATCHED) and facts.of(RunKind.PATCHED)
    verdict = _folded(RULES if complete else EARLY_RULES, facts)
    if verdict:
        return verdict
    if not complete:
        raise ValueError("a verdict needs an unpatched and a patched run")
    tests = lists_of(facts)
    return Verdict(
        kind=VerdictKind.VALID,
        reason=Reason.TESTS_AS_DECLARED if facts.targets else Reason.TARGETS_DERIVED,
        message=_valid_message(facts, tests),
        details=_details(RULES, facts),
        tests=tests,
    )


def early_verdict_of(task: Task, outcomes: Sequence[RunOutcome], profile: Profile) -> Verdict | None:
    """Return the verdict that the outcomes so far force, whatever the runs to come say; None when they do not."""
    return _folded(EARLY_RULES, facts_of(task, outcomes, profile))


def _folded(rules: Sequence[Rule], facts: Facts) -> Verdict | None:
    findings = [finding for finding in (rule(facts) for rule in rules) if finding]
    leading = next((finding for finding in findings if finding.kind), None)
    if not leading or not leading.kind:
        return None
    return Verdict(
        kind=leading.kind,
        reason=leading.reason,
        message=leading.message,
        details=tuple((finding.reason, finding.message) for finding in findings if finding is not leading),
        tests=lists_of(facts),
    )


def _details(rules: Sequence[Rule], facts: Facts) -> tuple[tuple[Reason, str], ...]:
    findings = (rule(facts) for rule in rules)
    return tuple((finding.reason, finding.message) for finding in findings if finding)


def _valid_message(facts: Facts, tests: TestLists) -> str:
    unpatched, patched = len(facts.of(RunKind.UNPATCHED)), len(facts.of(RunKind.PATCHED))
    count = counted(len(tests.fail_to_pass), "target test")
    return (
        f"{count} passed in none of {counted(unpatched, 'unpatched run')} and in all of {counted(patched, 'patched run')}; "
        f"{len(tests.pass_to_pass)} pass-to-pass, {len(tests.flaky)} flaky, "
        f"{len(tests.unstable)} unstable, {len(tests.excluded)} excluded"
    )
