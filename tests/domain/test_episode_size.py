"""However much an episode submits, its status fits; counts, hashes, rewards and the last submission's details stay."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.domain.episode_size import fitted_episode
from assay.domain.goproxy.policies import MAX_POLICY_BYTES
from assay.domain.sandbox_status import Seen, sandbox_status
from assay.domain.status_size import MAX_BYTES, bytes_of

NOW = 1_000_000.0
MOST = 20
TIME = "2026-01-01T00:00:00Z"


def artifact(number: int) -> dict[str, Any]:
    return {"uri": f"s3://a-bucket/{'x' * 150}/{number}.zst", "sha256": f"{number:064x}", "bytes": 123_456_789}


def submission(number: int, letter: str = "m") -> api.SubmissionStatus:
    faults = [{"attempt": one, "reason": "EvidenceIncomplete", "message": letter * 300} for one in range(1, 6)]
    run = {
        "name": f"graded-{number}",
        "attempt": 6,
        "outcome": "TestTimeout",
        "exitCode": 124,
        "durationSeconds": 123.456,
        "log": artifact(1),
        "results": artifact(2),
        "counts": {"passed": 10_000, "failed": 10_000, "skipped": 10_000, "other": 10_000},
        "isolation": {"targets": 10, "samples": 1_000, "leaks": 0, "gateSeconds": 1.234},
        "faults": faults,
    }
    said = {
        "number": number,
        "time": TIME,
        "outcome": "NotGraded",
        "reason": "TestPatchDoesNotApply",
        "message": letter * 1000,
        "diff": artifact(number),
        "failToPass": {"passed": 1_000, "total": 100_000},
        "passToPass": {"passed": 1_000, "total": 100_000},
        "ignored": {"count": 1_000, "first": [letter * 200] * 5},
        "run": run,
        "report": artifact(3),
    }
    return api.SubmissionStatus.model_validate(said)


def policy() -> api.GoPolicy:
    """A policy of as many bytes as an episode may have."""
    paths = tuple(f"{number:03}".ljust(MAX_POLICY_BYTES // 600 - 4, "x") for number in range(600))
    owned, forks, nested = paths[:200], paths[200:400], paths[400:]
    return api.GoPolicy(owned=owned, fork_names=forks, nested_elsewhere=nested, not_after=TIME)


def status_of(*submissions: api.SubmissionStatus, go_policy: api.GoPolicy | None = None) -> api.AgentEpisodeStatus:
    before = api.AgentEpisodeStatus(sandbox=api.SandboxStatus(go_policy=go_policy))
    return sandbox_status(before, Seen(), requested="i" * 200, submissions=submissions, generation=1, now=NOW)


@pytest.mark.parametrize("letter", ["m", "<", "ü"])
def test_an_episode_that_submits_as_often_as_it_may_fits_beside_the_largest_policy(letter: str) -> None:
    given = [submission(number, letter) for number in range(1, MOST + 1)]
    status = status_of(*given, go_policy=policy())
    assert bytes_of(status) <= MAX_BYTES
    assert status.sandbox.go_policy == policy(), "the module gateway refuses by what the status says"
    for before, after in zip(given, status.submissions, strict=True):
        assert (after.number, after.outcome, after.reason) == (before.number, before.outcome, before.reason)
        assert (after.ignored.count, after.fail_to_pass) == (before.ignored.count, before.fail_to_pass)
        assert after.diff
        assert before.diff
        assert after.diff.sha256 == before.diff.sha256


def test_the_last_submission_keeps_its_details_longest() -> None:
    given = [submission(number) for number in range(1, MOST + 1)]
    status = status_of(*given)
    assert bytes_of(status) <= MAX_BYTES
    assert status.submissions[-1] == given[-1]
    assert status.submissions[0] != given[0]


def test_what_fits_is_left_as_it_is() -> None:
    status = status_of(submission(1), submission(2))
    assert fitted_episode(status) == status
    assert status.submissions == (submission(1), submission(2))
