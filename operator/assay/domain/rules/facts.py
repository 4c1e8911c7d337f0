"""What all runs say, built once for all rules: one vector of standings a test, and which runs can be believed.

A run *speaks* when its results are complete: it finished within its limits and its log is whole.  A run that was cut
by the deadline or by the memory limit speaks only when it is *told* what the cut cost (``is_told``).  Tests are known
by their keys, the profile's normal form of a name; ``shown`` gives the name that people see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.plan import RunKind
from assay.domain.profiles import NameRule, Profile, Standing
from assay.domain.rules.spelling import cut_matches, key_of
from assay.domain.task import Task

STATES = tuple(RunKind)
WORST_FIRST = (Standing.FAIL, Standing.SKIP, Standing.PASS, Standing.ABSENT)
Observed = Mapping[str, Standing]
"""One run's results after the profile: key -> standing; absent keys are absent tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One test's standing in each run that speaks, state by state, in the order of the runs' numbers."""

    unpatched: tuple[Standing, ...] = ()
    patched: tuple[Standing, ...] = ()
    pristine: tuple[Standing, ...] = ()

    @property
    def states(self) -> tuple[tuple[RunKind, tuple[Standing, ...]], ...]:
        """The three states with their standings."""
        return (
            (RunKind.UNPATCHED, self.unpatched),
            (RunKind.PATCHED, self.patched),
            (RunKind.PRISTINE, self.pristine),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a rule may look at.

    ``outcomes`` are sorted by state and number, so that no rule depends on the order in which runs ended.  ``targets``
    and ``declared_p2p`` are keys of the declared lists, empty when there is none.  ``cut`` holds the unpatched and
    patched runs that a limit ended and that are not told; ``told`` those that are; ``inspected`` those that looked into
    the image.
    """

    task: Task
    profile: Profile
    outcomes: tuple[RunOutcome, ...]
    vectors: Mapping[str, Vector]
    shown: Mapping[str, str]
    targets: frozenset[str]
    declared_p2p: frozenset[str]
    cut: tuple[RunOutcome, ...]
    told: tuple[RunOutcome, ...]
    inspected: tuple[RunOutcome, ...] = ()

    def of(self, *states: RunKind) -> tuple[RunOutcome, ...]:
        """Return the outcomes of some states, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.run.kind in states)

    def ended_as(self, *kinds: OutcomeKind) -> tuple[RunOutcome, ...]:
        """Return the outcomes that ended in one of some ways, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.kind in kinds)

    def names(self, keys: Iterable[str]) -> list[str]:
        """Return the names of some keys as people know them, sorted."""
        return sorted(self.shown[key] for key in keys)


def facts_of(task: Task, outcomes: Sequence[RunOutcome], profile: Profile) -> Facts:
    """Return the facts of the outcomes so far."""
    every = sorted(outcomes, key=lambda outcome: (STATES.index(outcome.run.kind), outcome.run.number))
    ordered = tuple(outcome for outcome in every if outcome.run.kind is not RunKind.INSPECT)
    observed: dict[str, Observed] = {outcome.run.name: observed_of(outcome, profile) for outcome in ordered}
    f2p = {key_of(name, profile.names): name for name in sorted(task.fail_to_pass, reverse=True)}
    p2p = {key_of(name, profile.names): name for name in sorted(task.pass_to_pass, reverse=True)}
    if NameRule.CUT_PARAMETERS in profile.names:
        observed = {run: with_cut_names(results, {**p2p, **f2p}, observed) for run, results in observed.items()}
    cut = tuple(outcome for outcome in ordered if outcome.run.kind is not RunKind.PRISTINE and was_cut(outcome))
    told = tuple(outcome for outcome in cut if _is_told(outcome, ordered, observed, frozenset(f2p)))
    speaking = [outcome for outcome in ordered if speaks(outcome) or outcome in told]
    shown = _shown(ordered, profile) | p2p | f2p
    return Facts(
        task=task,
        profile=profile,
        outcomes=ordered,
        vectors=_vectors(sorted(shown), speaking, observed),
        shown=shown,
        targets=frozenset(f2p),
        declared_p2p=frozenset(p2p),
        cut=tuple(outcome for outcome in cut if outcome not in told),
        told=told,
        inspected=tuple(outcome for outcome in every if outcome.run.kind is RunKind.INSPECT),
    )


def was_cut(outcome: RunOutcome) -> bool:
    """Whether a limit ended the run, or a process of it, before its time."""
    return outcome.kind in (OutcomeKind.TEST_TIMEOUT, OutcomeKind.OUT_OF_MEMORY) or outcome.oom_kills > 0


def speaks(outcome: RunOutcome) -> bool:
    """Whether a test that is missing from the run's results was really absent."""
    return outcome.kind is OutcomeKind.FINISHED and not outcome.truncated and not was_cut(outcome)


def observed_of(outcome: RunOutcome, profile: Profile) -> dict[str, Standing]:
    """Return a run's standings; of two spellings of one test the worse counts."""
    standings = {word: profile.standing(word) for word in set(outcome.results.values())}
    found: dict[str, Standing] = {}
    for name, word in outcome.results.items():
        key, standing = key_of(name, profile.names), standings[word]
        known = found.get(key)
        found[key] = standing if known is None else min(known, standing, key=WORST_FIRST.index)
    return found


def with_cut_names(results: Observed, declared: Collection[str], observed: Mapping[str, Observed]) -> Observed:
    """Return a run's standings with the declared names that were cut: what all their candidates agree on, else absent."""
    everywhere = frozenset().union(*observed.values())
    added = {}
    for name in declared:
        standings = {results.get(match, Standing.ABSENT) for match in cut_matches(name, everywhere)}
        if len(standings) == 1 and Standing.ABSENT not in standings:
            added[name] = standings.pop()
    return {**results, **added}


def _is_told(
    outcome: RunOutcome, ordered: Iterable[RunOutcome], observed: Mapping[str, Observed], targets: frozenset[str]
) -> bool:
    """Whether a cut unpatched run still tells every test but the ones that it was cut in.

    A target may loop for ever on the base: it fails there, if all others can be told.  So no more tests may be missing
    than commands were cut, something else must have run, and declared targets alone may be missing.
    """
    patched = [observed[run.run.name] for run in ordered if run.run.kind is RunKind.PATCHED and speaks(run)]
    seen = observed[outcome.run.name]
    if outcome.run.kind is not RunKind.UNPATCHED or outcome.truncated or not seen or not patched:
        return False
    passing = {key for key, standing in patched[0].items() if standing is Standing.PASS}
    missing = {key for key in passing if all(run.get(key) is Standing.PASS for run in patched)} - seen.keys()
    cuts = sum(command.timed_out for command in outcome.commands) or 1
    return len(missing) <= cuts and (not targets or missing <= targets)


def _shown(ordered: Iterable[RunOutcome], profile: Profile) -> dict[str, str]:
    """Return one spelling a key, the same whatever the order of the runs."""
    names = sorted(frozenset().union(*(outcome.results for outcome in ordered)), reverse=True)
    return {key_of(name, profile.names): name for name in names}


def _vectors(
    keys: Iterable[str], speaking: Iterable[RunOutcome], observed: Mapping[str, Observed]
) -> dict[str, Vector]:
    of_state: dict[RunKind, list[Observed]] = {state: [] for state in RunKind}
    for outcome in speaking:
        of_state[outcome.run.kind].append(observed[outcome.run.name])
    unpatched, patched, pristine = (of_state[kind] for kind in (RunKind.UNPATCHED, RunKind.PATCHED, RunKind.PRISTINE))
    return {
        key: Vector(
            unpatched=tuple([run.get(key, Standing.ABSENT) for run in unpatched]),
            patched=tuple([run.get(key, Standing.ABSENT) for run in patched]),
            pristine=tuple([run.get(key, Standing.ABSENT) for run in pristine]),
        )
        for key in keys
    }
