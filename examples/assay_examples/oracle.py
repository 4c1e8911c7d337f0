"""What repeated direct runs of a task say: a second, independent statement of the rules of validation.

It shares no code with the operator but the log parser. Everything is plain set algebra over `name -> status` of each
run, so that a disagreement with the cluster points at one of the two.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from assay_examples.recipes import Plant, Recipe

PASS, FAIL, SKIP, ABSENT = "pass", "fail", "skip", "absent"
GROUPS = {"PASSED": PASS, "FAILED": FAIL, "ERROR": FAIL, "SKIPPED": SKIP}
WANTS_NETWORK = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Network is unreachable|no such host"
    r"|module lookup disabled by GOPROXY=off|Connection refused"
)


PYTEST_LINE = re.compile(r"^(PASSED|FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


DROPPED_BY = {
    Plant.TAG: ("FutureHistory", "FutureHistory"),
    Plant.RELEASE: ("FutureHistory", "FutureHistory"),
    Plant.MODULE_CACHE: ("ModuleCache", "ModuleCacheHoldsTask"),
}
"""The check that finds what is planted in an image, and the reason that it gives; direct execution only runs tests."""


class End(StrEnum):
    """How a direct run ended."""

    RAN = "ran"
    TEST_PATCH = "TestPatchDoesNotApply"
    PATCH = "PatchDoesNotApply"
    MEMORY = "OutOfMemory"
    TIME = "TestTimeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectRun:
    """One run: its state (`pristine`, `unpatched`, `patched`), how it ended and, when it ran, its results and log.

    `results` are what the recipe's dialect reads, which may cut names and so merge tests; `whole` are the runner's own.
    """

    state: str
    end: End
    results: Mapping[str, str] = field(default_factory=dict)
    whole: Mapping[str, str] = field(default_factory=dict)
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of direct execution. Names are sorted; `flaky` maps a name to its outcomes, state by state.

    `reason` is None for a valid task, `new_targets` None without pristine runs.
    """

    verdict: str
    reason: str | None
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    flaky: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    unstable: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    new_targets: tuple[str, ...] | None = None


Vectors = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Outcome groups by test name and state, one for each run that ran."""
Stable = Mapping[str, tuple[str | None, str | None]]
"""What each test that neither flakes nor is unstable did unpatched and patched; None where no such run ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    vectors: Vectors
    stable: Stable
    flaky: set[str]
    fail_to_pass: set[str]


def condemned_by_first(recipe: Recipe, run: DirectRun) -> bool:
    """Whether the first unpatched run alone settles the verdict, so that no other is needed."""
    if run.end is not End.RAN:
        return True
    return bool(recipe.fail_to_pass) and all(run.results.get(name) == "PASSED" for name in recipe.fail_to_pass)


def whole_results(language: str, log: str, results: Mapping[str, str]) -> Mapping[str, str]:
    """Results by the names that the runner prints: what pytest's `-rA` lists, and for Go what the dialect reads."""
    if language != "python":
        return results
    passed = {line[len("PASSED ") :]: "PASSED" for line in log.split("\n") if line.startswith("PASSED ")}
    return {**{name: status for status, name in PYTEST_LINE.findall(log) if status != "PASSED"}, **passed}


def judgement_of_whole(recipe: Recipe, runs: Sequence[DirectRun]) -> Judgement:
    """As `judgement_of`, by the runner's own names: what the counts of a recipe are about."""
    return judgement_of(recipe, [replace(run, results=run.whole) for run in runs])


def judgement_of(recipe: Recipe, runs: Sequence[DirectRun]) -> Judgement:
    """The verdict and the lists that the runs give; `runs` holds one state's runs after the other."""
    vectors = vectors_of(recipe, runs)
    declared = {*recipe.fail_to_pass, *recipe.pass_to_pass}
    unstable = {name for name, states in vectors.items() if name not in declared and _is_unstable(states)}
    flaky = {name for name, states in vectors.items() if _disagrees(states)} - unstable
    stable = {name: (_only(states, "unpatched"), _only(states, "patched")) for name, states in vectors.items()}
    stable = {name: pair for name, pair in stable.items() if name not in flaky | unstable}
    targets = {name for name, pair in stable.items() if pair[0] in (FAIL, ABSENT) and pair[1] == PASS}
    f2p = targets & set(recipe.fail_to_pass) if recipe.fail_to_pass else targets
    p2p = {name for name, pair in stable.items() if pair == (PASS, PASS)}
    reason = _reason(recipe, runs, _Found(vectors=vectors, stable=stable, flaky=flaky, fail_to_pass=f2p))
    pristine = any(run.state == "pristine" for run in runs)
    return Judgement(
        verdict="Invalid" if reason else "Valid",
        reason=reason,
        fail_to_pass=tuple(sorted(f2p)),
        pass_to_pass=tuple(sorted(p2p)),
        flaky={name: vectors[name] for name in sorted(flaky)},
        unstable=tuple(sorted(unstable)),
        excluded=tuple(sorted(set(vectors) - f2p - p2p - flaky - unstable)),
        new_targets=tuple(sorted(name for name in f2p if PASS not in vectors[name]["pristine"])) if pristine else None,
    )


def vectors_of(recipe: Recipe, runs: Sequence[DirectRun]) -> Vectors:
    """What each test, seen or declared, did in each run that ran to its end."""
    ran = [run for run in runs if run.end is End.RAN]
    names = {name for run in ran for name in run.results} | {*recipe.fail_to_pass, *recipe.pass_to_pass}
    states = ("pristine", "unpatched", "patched")
    return {
        name: {
            state: tuple(GROUPS.get(run.results.get(name, ""), ABSENT) for run in ran if run.state == state)
            for state in states
        }
        for name in names
    }


def _reason(recipe: Recipe, runs: Sequence[DirectRun], found: _Found) -> str | None:
    """The leading reason against the task, None when nothing speaks against it."""
    ends = {run.end for run in runs}
    for end in (End.TEST_PATCH, End.PATCH, End.MEMORY, End.TIME):
        if end in ends:
            return end.value
    targets, stable = recipe.fail_to_pass, found.stable
    if any(set(found.vectors[name]["unpatched"]) in ({PASS}, {SKIP}) for name in targets):
        return "TargetTestsPassUnpatched"
    patched = [run for run in runs if run.state == "patched"]
    nothing_ran = not any(run.results for run in patched)
    failing = [name for name in targets if name not in found.flaky and stable[name][1] != PASS]
    if (nothing_ran or failing) and any(WANTS_NETWORK.search(run.log) for run in patched):
        return "NeedsNetwork"
    if nothing_ran:
        return "TestsDidNotRun"
    if not targets and not found.fail_to_pass:
        return "NoTargetTests"
    if failing:
        return "TargetTestsFailPatched"
    if found.flaky & set(targets):
        return "TargetTestsFlaky"
    if _regressions(recipe, stable):
        return "PassToPassRegression"
    return _reason_of_plant(recipe)


def _reason_of_plant(recipe: Recipe) -> str | None:
    """The reason against a task whose image holds its solution where a check of the recipe looks."""
    check, reason = DROPPED_BY[recipe.planted] if recipe.planted else ("", None)
    return reason if check in recipe.checks else None


def _regressions(recipe: Recipe, stable: Stable) -> set[str]:
    """Tests that pass before and fail after; of declared ones also those that are skipped or missing after."""
    declared = set(recipe.pass_to_pass)
    broken = {name for name, pair in stable.items() if pair == (PASS, FAIL)}
    lost = {name for name, pair in stable.items() if pair in ((PASS, SKIP), (PASS, ABSENT))}
    return (broken | lost) & declared if declared else broken


def _only(states: Mapping[str, tuple[str, ...]], state: str) -> str | None:
    """What a test that does not flake did in a state; None when the state has no run."""
    return states[state][0] if states[state] else None


def _disagrees(states: Mapping[str, tuple[str, ...]]) -> bool:
    return any(len(set(outcomes)) > 1 for outcomes in states.values())


def _is_unstable(states: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the name was seen in one run of all, although its state was run again."""
    seen = [len(outcomes) for outcomes in states.values() for outcome in outcomes if outcome != ABSENT]
    return len(seen) == 1 and seen[0] > 1
