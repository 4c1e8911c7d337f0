"""TestsDidNotRun: there is no result to judge, which is not the same as a failure of every test."""

from __future__ import annotations

from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.plan import RunKind
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, of_runs, sentence
from assay.domain.verdict import Reason

BROKEN = (OutcomeKind.SETUP_FAILED, OutcomeKind.PARSE_FAILED)


def tests_could_not_run(facts: Facts) -> Finding | None:
    """Condemn a task with an unpatched or patched run that was not set up, or whose log the parser cannot read."""
    runs = [run for run in facts.ended_as(*BROKEN) if run.run.kind is not RunKind.PRISTINE]
    unset = [run for run in runs if run.kind is OutcomeKind.SETUP_FAILED]
    unread = [run for run in runs if run.kind is OutcomeKind.PARSE_FAILED]
    message = sentence(
        (
            f"the run could not be set up: {of_runs(unset)}" if unset else "",
            f"the parser {facts.task.parser} cannot read the log: {of_runs(unread)}" if unread else "",
        )
    )
    return Finding(reason=Reason.TESTS_DID_NOT_RUN, message=message) if runs else None


def tests_did_not_run(facts: Facts) -> Finding | None:
    """Condemn a task of whose patched runs none has a result.

    An unpatched run without results is no fault by itself: the new tests may not compile before the patch.
    """
    runs = facts.of(RunKind.PATCHED)
    if not runs or any(run.results for run in runs):
        return None
    message = f"no test result in any patched run ({_exits(runs)}) by the parser {facts.task.parser}"
    unpatched = facts.of(RunKind.UNPATCHED)
    also = "nor in any unpatched run" if not any(run.results for run in unpatched) else ""
    return Finding(reason=Reason.TESTS_DID_NOT_RUN, message=sentence((message, also)))


def _exits(runs: tuple[RunOutcome, ...]) -> str:
    codes = sorted({"none" if run.exit_code is None else str(run.exit_code) for run in runs})
    return f"exit code {' and '.join(codes)}"
