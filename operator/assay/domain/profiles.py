"""Named sets of comparison rules: what the public harnesses disagree on, one column each.

A profile is recorded with every verdict and every grade, so that results compare with published ones.  ``rules/``
reads a run's status words through it; ``profiles_markdown`` is the table as people read it (docs/profiles.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """What a status word says of one test in one run."""

    PASS = "passed"
    FAIL = "failed"
    SKIP = "skipped"
    ABSENT = "absent"


class Credit(StrEnum):
    """What a listed test that neither passed nor failed counts as."""

    SUCCESS = "success"
    FAILURE = "failure"
    LEFT_OUT = "left out"


class NameRule(StrEnum):
    """What two spellings of one test's name may differ in."""

    DURATIONS = "durations"
    CUT_PARAMETERS = "cut parameters"


class LogText(StrEnum):
    """Which text of a run the parser reads."""

    STREAMS = "stdout+stderr"
    MERGED = "merged"


class ExitCodeRule(StrEnum):
    """What an exit code does that contradicts the parsed results; the contradiction is reported in any case."""

    REPORTED = "reported"
    NONZERO_NEEDS_FAILURE = "above 0 needs a failure"
    MUST_AGREE = "must agree"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One family's rules.

    ``passed``, ``failed`` and ``skipped`` are status words in capitals; ``other`` is what any other word (XPASS) says.
    ``*_skipped`` and ``*_missing`` are the credit of a listed test; ``empty_list`` that of a list without names.
    ``exact``: a passing test that is in neither list is a mismatch.
    """

    name: str
    family: str
    passed: frozenset[str]
    failed: frozenset[str]
    skipped: frozenset[str]
    other: Standing
    f2p_skipped: Credit
    f2p_missing: Credit
    p2p_skipped: Credit
    p2p_missing: Credit
    empty_f2p: Credit
    empty_p2p: Credit
    exact: bool
    names: frozenset[NameRule]
    text: LogText
    exit_code: ExitCodeRule
    note: str = ""

    def standing(self, word: str) -> Standing:
        """Return what a status word says, in any case of letters."""
        capitals = word.upper()
        if capitals in self.passed:
            return Standing.PASS
        if capitals in self.failed:
            return Standing.FAIL
        return Standing.SKIP if capitals in self.skipped else self.other


FAILURES = frozenset({"FAILED", "ERROR"})

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="strict",
            family="Assay's own",
            passed=frozenset({"PASSED"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED", "XFAIL"}),
            other=Standing.SKIP,
            f2p_skipped=Credit.FAILURE,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.FAILURE,
            p2p_missing=Credit.FAILURE,
            empty_f2p=Credit.FAILURE,
            empty_p2p=Credit.SUCCESS,
            exact=False,
            names=frozenset(),
            text=LogText.STREAMS,
            exit_code=ExitCodeRule.MUST_AGREE,
            note="Only a pass is a pass: what is skipped, missing or expected to fail was not shown to work.",
        ),
        Profile(
            name="rebench-v2",
            family="SWE-rebench V2",
            passed=frozenset({"PASSED"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED"}),
            other=Standing.ABSENT,
            f2p_skipped=Credit.FAILURE,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.FAILURE,
            p2p_missing=Credit.FAILURE,
            empty_f2p=Credit.SUCCESS,
            empty_p2p=Credit.SUCCESS,
            exact=True,
            names=frozenset({NameRule.DURATIONS}),
            text=LogText.STREAMS,
            exit_code=ExitCodeRule.REPORTED,
            note="The passing names must equal both lists together.",
        ),
        Profile(
            name="swebench-v4",
            family="SWE-bench 4",
            passed=frozenset({"PASSED", "XFAIL"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED"}),
            other=Standing.ABSENT,
            f2p_skipped=Credit.LEFT_OUT,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.LEFT_OUT,
            p2p_missing=Credit.FAILURE,
            empty_f2p=Credit.SUCCESS,
            empty_p2p=Credit.SUCCESS,
            exact=False,
            names=frozenset(),
            text=LogText.MERGED,
            exit_code=ExitCodeRule.REPORTED,
            note="A skipped test leaves its list, so that a run which skips everything resolves.",
        ),
        Profile(
            name="swebench-v5",
            family="SWE-bench 5",
            passed=frozenset({"PASSED", "XFAIL"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED"}),
            other=Standing.ABSENT,
            f2p_skipped=Credit.FAILURE,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.SUCCESS,
            p2p_missing=Credit.FAILURE,
            empty_f2p=Credit.SUCCESS,
            empty_p2p=Credit.SUCCESS,
            exact=False,
            names=frozenset({NameRule.CUT_PARAMETERS}),
            text=LogText.MERGED,
            exit_code=ExitCodeRule.NONZERO_NEEDS_FAILURE,
            note="A listed name that was cut inside a parameter stands for the tests that it begins, when they agree.",
        ),
        Profile(
            name="live",
            family="SWE-bench-Live",
            passed=frozenset({"PASSED"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED"}),
            other=Standing.ABSENT,
            f2p_skipped=Credit.FAILURE,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.LEFT_OUT,
            p2p_missing=Credit.LEFT_OUT,
            empty_f2p=Credit.SUCCESS,
            empty_p2p=Credit.SUCCESS,
            exact=False,
            names=frozenset(),
            text=LogText.MERGED,
            exit_code=ExitCodeRule.REPORTED,
            note="A pass-to-pass test counts against a run only when it fails in so many words; targets are compared by name, "
            "not by how many pass.",
        ),
        Profile(
            name="pro",
            family="SWE-bench Pro",
            passed=frozenset({"PASSED"}),
            failed=FAILURES,
            skipped=frozenset({"SKIPPED"}),
            other=Standing.ABSENT,
            f2p_skipped=Credit.FAILURE,
            f2p_missing=Credit.FAILURE,
            p2p_skipped=Credit.FAILURE,
            p2p_missing=Credit.FAILURE,
            empty_f2p=Credit.SUCCESS,
            empty_p2p=Credit.SUCCESS,
            exact=False,
            names=frozenset(),
            text=LogText.STREAMS,
            exit_code=ExitCodeRule.REPORTED,
            note="Both lists must be among the passing names.",
        ),
    )
}
"""Every profile by its name; the first is the default."""


def profile_named(name: str) -> Profile | None:
    """Return the profile of a name, or None."""
    return PROFILES.get(name)


INTRODUCTION = """\
# Grading profiles

A profile is a named set of comparison rules. The public harnesses for coding tasks disagree on what a skipped or missing
test counts as, on expected failures, on names and on exit codes; a verdict or a grade is comparable only with those made
under the same rules, so its profile is recorded with it. `spec.profile` chooses one; `strict` is the default.

This page is generated from `operator/assay/domain/profiles.py`.
"""

VALIDATION = """\
## What no profile changes

A name that one log shows to pass and to fail has failed, whichever line came last, in validations and in grades alike:
output can be forged, and what cannot be told apart must not pass. Names that a data set cut at a blank are such names
when their tests disagree.

## What a profile changes in a grade

A submission is *graded* (reward 0 or 1; `reward: Partial` gives the mean of both lists' rates) when its run ended with
complete evidence, and *not graded* (no reward) when a test command passed its deadline, memory ran out before every listed
test had passed, the log lost its middle, the parser cannot read it, or the infrastructure lost the run too often. The table
says what a listed test counts as; `left out` takes it out of its list. Where an exit code decides, any code above 0 agrees
with a failed test (`cargo test` ends with 101, `make` with 2), and a contradiction that the reference patch's own runs show
as well is not held against a submission. Under an exact profile a passing test counts as a mismatch unless a list has it or
the validation knows it as flaky, unstable or excluded.

## What a profile changes in a validation

Targets are judged alike under every profile: each must fail, or be absent, in every unpatched run and pass in every patched
run. A profile decides which status words are a pass, a failure or neither, which spellings are one name, which text the
parser reads, and whether a *declared* pass-to-pass test that is skipped or missing in the patched runs is a regression
(credit `failure`) or not (`success`, `left out`). An exit code that contradicts the results is reported in a validation and
never drops a task by itself: a coverage gate or a package that does not build must not cost the task its tests. The rows on
empty lists, on tests in neither list and on exit codes decide when a submission is graded; a validation notes the last two.

A declared pass-to-pass test that never was one (it fails, flakes or is missing without the reference patch, too) leaves the
list with its evidence and does not drop the task: a test that is not in the list misjudges no submission.
"""


def _words(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"


ROWS: tuple[tuple[str, Callable[[Profile], str]], ...] = (
    ("data sets", lambda profile: profile.family),
    ("words that pass", lambda profile: _words(profile.passed)),
    ("words that fail", lambda profile: _words(profile.failed)),
    ("words that skip", lambda profile: _words(profile.skipped)),
    ("any other word (XPASS)", lambda profile: profile.other),
    ("fail-to-pass test skipped", lambda profile: profile.f2p_skipped),
    ("fail-to-pass test missing", lambda profile: profile.f2p_missing),
    ("pass-to-pass test skipped", lambda profile: profile.p2p_skipped),
    ("pass-to-pass test missing", lambda profile: profile.p2p_missing),
    ("empty fail-to-pass list", lambda profile: profile.empty_f2p),
    ("empty pass-to-pass list", lambda profile: profile.empty_p2p),
    ("passing test in neither list", lambda profile: "mismatch" if profile.exact else "ignored"),
    ("names may differ in", lambda profile: _words(profile.names)),
    ("text that is parsed", lambda profile: profile.text),
    ("exit code that contradicts", lambda profile: profile.exit_code),
)
"""Rows of the table in docs/profiles.md: label and cell of a profile."""


def profiles_markdown() -> str:
    """Return docs/profiles.md: one column a profile, generated from the table above."""
    profiles = tuple(PROFILES.values())
    lines = [INTRODUCTION, _row(("", *(f"`{profile.name}`" for profile in profiles)))]
    lines.append(_row(("---",) * (len(profiles) + 1)))
    lines += [_row((label, *(cell(profile) for profile in profiles))) for label, cell in ROWS]
    lines += ["", *(f"- `{profile.name}`: {profile.note}" for profile in profiles), "", VALIDATION]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
