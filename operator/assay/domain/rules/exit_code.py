"""A note on patched runs whose exit code contradicts their results.

Output can be forged, and a coverage gate can fail a run in which every test passed: the note tells, the results decide.
Grading under a profile that wants agreement would resolve no submission that ends like this.
"""

from __future__ import annotations

from assay.domain.outcomes import RunOutcome
from assay.domain.plan import RunKind
from assay.domain.profiles import Profile, Standing
from assay.domain.rules.facts import Facts, speaks
from assay.domain.rules.finding import Finding, of_runs, sentence
from assay.domain.verdict import Reason


def exit_code_contradicts(facts: Facts) -> Finding | None:
    """Note a failure that no test shows, and a success in spite of failed tests."""
    runs = [run for run in facts.of(RunKind.PATCHED) if speaks(run) and run.results]
    unshown = [run for run in runs if run.exit_code and not _failures(run, facts.profile)]
    denied = [run for run in runs if run.exit_code == 0 and _failures(run, facts.profile)]
    if not unshown and not denied:
        return None
    message = sentence(
        (
            f"exit code {unshown[0].exit_code} with no failed test: {of_runs(unshown)}" if unshown else "",
            f"exit code 0 with {_failures(denied[0], facts.profile)} failed tests: {of_runs(denied)}" if denied else "",
        )
    )
    return Finding(reason=Reason.EXIT_CODE_CONTRADICTS, message=message, kind=None)


def _failures(run: RunOutcome, profile: Profile) -> int:
    return sum(profile.standing(word) is Standing.FAIL for word in run.results.values())
