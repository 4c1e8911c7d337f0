"""The verdict on a task: types here, one rule a module in ``rules/``, folded by ``verdict_of``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.api.v1alpha1 import Verdict as VerdictKind


class Reason(StrEnum):
    """Leading reason of a verdict; the order of the rules says which one leads."""

    TESTS_AS_DECLARED = "TestsBehaveAsDeclared"
    TARGETS_DERIVED = "TargetTestsDerived"
    TARGET_TESTS_PASS_UNPATCHED = "TargetTestsPassUnpatched"
    NO_TARGET_TESTS = "NoTargetTests"
    TARGET_TESTS_FAIL_PATCHED = "TargetTestsFailPatched"
    TARGET_TESTS_FLAKY = "TargetTestsFlaky"
    PASS_TO_PASS_REGRESSION = "PassToPassRegression"
    PATCH_DOES_NOT_APPLY = "PatchDoesNotApply"
    TEST_PATCH_DOES_NOT_APPLY = "TestPatchDoesNotApply"
    TESTS_DID_NOT_RUN = "TestsDidNotRun"
    TEST_TIMEOUT = "TestTimeout"
    OUT_OF_MEMORY = "OutOfMemory"
    NEEDS_NETWORK = "NeedsNetwork"
    DIRTY_IMAGE = "DirtyImage"
    FUTURE_HISTORY = "FutureHistory"
    MODULE_CACHE_HOLDS_TASK = "ModuleCacheHoldsTask"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    PLATFORM_MISMATCH = "PlatformMismatch"
    STATEMENT_REJECTED = "StatementRejected"
    STATEMENT_UNREVIEWED = "StatementUnreviewed"
    SPLIT_CONFLICT = "SplitConflict"
    MALFORMED_TASK = "MalformedTask"
    INFRASTRUCTURE = "InfrastructureFault"
    PASS_TO_PASS_EXCLUDED = "PassToPassExcluded"
    EXPECTED_NAMES_COLLIDE = "ExpectedNamesCollide"
    EXTRA_PASSING_TESTS = "ExtraPassingTests"
    EXIT_CODE_CONTRADICTS = "ExitCodeContradictsResults"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestLists:
    """Tests by what all runs say of them together; names sorted, raw, as the parser gives them.

    ``flaky`` and ``excluded`` map a name to its evidence in a sentence, for example ``unpatched 1/3 passed``.
    ``new_targets`` is None without pristine runs.
    """

    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    flaky: tuple[tuple[str, str], ...] = ()
    unstable: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    new_targets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict with exactly one leading reason, a sentence, and every rule's finding in ``details``."""

    kind: VerdictKind
    reason: Reason
    message: str
    details: tuple[tuple[Reason, str], ...] = ()
    tests: TestLists = TestLists()
