"""What holds for any results whatever."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.v1alpha1 import Verdict as VerdictKind
from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.plan import RunKind
from assay.domain.profiles import PROFILES, Profile, Standing
from assay.domain.rules import early_verdict_of, verdict_of
from assay.domain.rules.finding import named, printable
from assay.domain.task import Task
from builders import WORDS, make_outcome, make_task

NAMES = st.sampled_from(["a", "b", "c", "d (3 ms)", "d (4 ms)", "e[x", "e[x y]"])
RESULTS = st.dictionaries(NAMES, st.sampled_from([*WORDS.values(), "XPASS"]), max_size=6)
PROFILE = st.sampled_from(list(PROFILES.values()))
KINDS = st.one_of(st.just(OutcomeKind.FINISHED), st.sampled_from(OutcomeKind))


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    f2p = draw(st.lists(NAMES, unique=True, max_size=3))
    p2p = draw(st.lists(NAMES.filter(lambda name: name not in f2p), unique=True, max_size=3))
    return make_task(f2p=f2p, p2p=p2p)


@st.composite
def validations(draw: st.DrawFn, kinds: st.SearchStrategy[OutcomeKind] = KINDS) -> list[RunOutcome]:
    counts = {
        "unpatched": draw(st.integers(1, 3)),
        "patched": draw(st.integers(1, 3)),
        "pristine": draw(st.integers(0, 2)),
    }
    return [
        make_outcome(
            f"{state}-{number + 1}",
            results=draw(RESULTS),
            kind=draw(kinds),
            oom_kills=draw(st.sampled_from([0, 0, 0, 1])),
            truncated=draw(st.sampled_from([False, False, False, True])),
            network_hints=draw(st.sampled_from([(), (), ("dial tcp",)])),
        )
        for state, count in counts.items()
        for number in range(count)
    ]


CLEAN = validations(kinds=st.just(OutcomeKind.FINISHED)).map(
    lambda runs: [replace(run, oom_kills=0, truncated=False) for run in runs]
)


@settings(deadline=None)
@given(tasks(), validations(), PROFILE, st.randoms(use_true_random=False))
def test_the_order_in_which_runs_ended_does_not_matter(task, outcomes, profile, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(outcomes)
    random.shuffle(shuffled)

    assert verdict_of(task, shuffled, profile) == verdict_of(task, outcomes, profile)


@settings(deadline=None)
@given(tasks(), validations(), PROFILE)
def test_attempts_lost_before_do_not_matter(task: Task, outcomes: list[RunOutcome], profile: Profile) -> None:
    later = [replace(run, attempt=run.attempt + number) for number, run in enumerate(outcomes)]

    assert verdict_of(task, later, profile) == verdict_of(task, outcomes, profile)


@settings(deadline=None)
@given(tasks(), validations(), PROFILE)
def test_every_name_is_in_exactly_one_list(task: Task, outcomes: list[RunOutcome], profile: Profile) -> None:
    tests = verdict_of(task, outcomes, profile).tests

    flaky, excluded = (name for name, _ in tests.flaky), (name for name, _ in tests.excluded)
    listed = [*tests.fail_to_pass, *tests.pass_to_pass, *flaky, *tests.unstable, *excluded]
    seen = {name for run in outcomes for name in run.results} | {*task.fail_to_pass, *task.pass_to_pass}
    assert len(listed) == len(set(listed))
    assert set(listed) <= seen
    if not profile.names:
        assert set(listed) == seen


@settings(deadline=None)
@given(tasks(), CLEAN, PROFILE)
def test_a_valid_task_has_targets_that_fail_before_and_pass_after(
    task: Task, outcomes: list[RunOutcome], profile: Profile
) -> None:
    verdict = verdict_of(task, outcomes, profile)
    if verdict.kind is not VerdictKind.VALID or profile.names:
        return

    assert verdict.tests.fail_to_pass
    assert set(task.fail_to_pass) <= set(verdict.tests.fail_to_pass)
    for run in outcomes:
        for name in verdict.tests.fail_to_pass:
            word = run.results.get(name)
            if run.run.kind is RunKind.UNPATCHED:
                assert word is None or profile.standing(word) in (Standing.FAIL, Standing.ABSENT)
            elif run.run.kind is RunKind.PATCHED:
                assert word is not None
                assert profile.standing(word) is Standing.PASS
        for name in verdict.tests.pass_to_pass:
            assert run.run.kind is RunKind.PRISTINE or profile.standing(run.results[name]) is Standing.PASS


@settings(deadline=None)
@given(st.sets(st.sampled_from("abcdef"), min_size=1), st.integers(1, 4), st.integers(1, 4), PROFILE)
def test_targets_that_behave_are_always_found_valid(
    targets: set[str], unpatched: int, patched: int, profile: Profile
) -> None:
    outcomes = [
        *(make_outcome(f"unpatched-{n + 1}", failed=targets, passed=["old"]) for n in range(unpatched)),
        *(make_outcome(f"patched-{n + 1}", passed=[*targets, "old"]) for n in range(patched)),
    ]

    for task in (make_task(), make_task(f2p=targets, p2p=["old"])):
        verdict = verdict_of(task, outcomes, profile)
        assert verdict.kind is VerdictKind.VALID
        assert verdict.tests.fail_to_pass == tuple(sorted(targets))
        assert verdict.tests.pass_to_pass == ("old",)


@settings(deadline=None)
@given(tasks(), validations(), PROFILE)
def test_a_run_with_a_hole_or_cut_after_the_patch_is_never_part_of_a_valid_verdict(
    task: Task, outcomes: list[RunOutcome], profile: Profile
) -> None:
    if verdict_of(task, outcomes, profile).kind is VerdictKind.VALID:
        judged = [run for run in outcomes if run.run.kind is not RunKind.PRISTINE]
        assert not any(run.truncated for run in judged)
        assert all(
            run.kind is OutcomeKind.FINISHED and not run.oom_kills for run in judged if run.run.kind is RunKind.PATCHED
        )


@settings(deadline=None)
@given(tasks(), validations(), PROFILE, st.data())
def test_no_later_run_takes_an_early_verdict_back(task, outcomes, profile, data) -> None:  # type: ignore[no-untyped-def]
    so_far = data.draw(st.lists(st.sampled_from(outcomes), unique_by=lambda run: run.run.name))

    early = early_verdict_of(task, so_far, profile)

    if early is not None:
        assert early.kind is VerdictKind.INVALID
        late = verdict_of(task, outcomes, profile)
        assert late.kind is VerdictKind.INVALID or any(run.truncated for run in outcomes)


@settings(deadline=None)
@given(st.text())
def test_what_a_message_shows_fits_on_one_printable_line(text: str) -> None:
    shown = printable(text, 40)

    assert shown.isprintable()
    assert len(text) > 40 or text.isprintable() is (shown == text)


def test_a_message_names_three_tests_and_counts_the_rest() -> None:
    assert named(["d", "b", "a", "c", "e"]) == "a, b, c and 2 more"
    assert named(["a"]) == "a"
    assert named(["\ud800\x1b[31m"]) == "\\ud800\\x1b[31m"
