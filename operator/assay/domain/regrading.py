"""Stored evidence judged by other rules: when it is to be, by which, and what another parser makes of a stored log."""

from __future__ import annotations

from dataclasses import replace

from assay.api import v1alpha1 as api
from assay.domain.evidence import end_of, results_of, unread
from assay.domain.logs import ParseFailed, is_dialect
from assay.domain.outcomes import OutcomeKind, RunOutcome
from assay.domain.profiles import profile_named
from assay.domain.screening import SCREENED_OUT
from assay.domain.verdict import Reason

READABLE = frozenset(
    {OutcomeKind.FINISHED, OutcomeKind.TEST_TIMEOUT, OutcomeKind.OUT_OF_MEMORY, OutcomeKind.PARSE_FAILED}
)
"""Ends of a run whose log was read, or would have been."""
DROPPED = SCREENED_OUT | {Reason.SPLIT_CONFLICT.value}
"""Reasons of verdicts that no evidence decided."""


def is_known(regrade: api.Regrade) -> bool:
    """Whether there are a profile and a parser of these names."""
    return (not regrade.profile or profile_named(regrade.profile) is not None) and (
        not regrade.parser or is_dialect(regrade.parser)
    )


def regrade_of(spec: api.Regrade | None) -> api.Regrade:
    """Return the rules that a spec asks for; nothing is asked for where it is absent or names what there is not."""
    return spec if spec and is_known(spec) else api.Regrade()


def is_to_regrade(spec: api.Regrade | None, judged: api.Regrade | None, *, reason: str) -> bool:
    """Whether a verdict that evidence decided was ``judged`` by other rules than its spec asks for now."""
    if reason in DROPPED or (spec and not is_known(spec)):
        return False
    return regrade_of(spec) != (judged or api.Regrade())


def read_again(outcome: RunOutcome, log: bytes, parser: str) -> RunOutcome:
    """Return a run's outcome as another parser reads its log (both streams as they came)."""
    if outcome.kind not in READABLE:
        return outcome
    kind, message = outcome.kind, outcome.message
    if kind is OutcomeKind.PARSE_FAILED:
        kind, message = end_of(outcome.commands, outcome.oom_kills)
    try:
        results, contradicted = results_of(parser, log)
    except ParseFailed as failure:
        kind, message = unread(kind, message, failure)
        return replace(outcome, kind=kind, message=message, results={}, contradicted=())
    return replace(outcome, kind=kind, message=message, results=results, contradicted=contradicted)
