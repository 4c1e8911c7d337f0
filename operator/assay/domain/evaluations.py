"""Ended episodes -> reports: one a task and one a run, in SWE-bench's schema, and Assay's own.

The two differ where it matters: in SWE-bench's, whatever was not graded lowers the score; in Assay's, what the
infrastructure lost is outside of the denominator, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA_VERSION = 2
NOT_APPLIED = frozenset({"PatchDoesNotApply", "PatchRefused"})
INFRASTRUCTURE = frozenset(
    {"Infrastructure", "EvidenceIncomplete", "ImageUnavailable", "PlatformMismatch", "DirtyImage", "SetupFailed"}
)
AMBIGUOUS = frozenset({"TestTimeout", "OutOfMemory", "ParseFailed", "TestPatchDoesNotApply"})
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One prediction's end.  ``reward`` is None when nothing was graded; ``tests`` is the grade's report, if it is there."""

    id: str
    model: str
    episode: str
    empty: bool
    reason: str
    message: str = ""
    reward: float | None = None
    resolved: bool | None = None
    ignored: int = 0
    tests: Mapping[str, Any] | None = None

    @property
    def graded(self) -> bool:
        """Whether there is a reward."""
        return self.reward is not None

    @property
    def infrastructure(self) -> bool:
        """Whether the infrastructure kept it from being graded."""
        return not self.graded and self.reason in INFRASTRUCTURE


def is_completed(result: Result) -> bool:
    """Whether SWE-bench would call a prediction evaluated: a patch that applied, and tests that ran to an end."""
    return result.graded and not result.empty and result.reason not in NOT_APPLIED


def instance_report(result: Result, patch: str | None) -> Json:
    """Return a task's report.json as SWE-bench writes it."""
    said: Json = {
        "patch_is_None": patch is None,
        "patch_exists": bool(patch and patch.strip()),
        "patch_successfully_applied": is_completed(result),
        "resolved": bool(result.resolved),
        "infra_failure": result.infrastructure,
    }
    if result.infrastructure:
        said["infra_failure_reason"] = result.reason
    tests = result.tests or {}
    said["tests_status"] = {
        "FAIL_TO_PASS": _split(tests.get("failToPass") or ()),
        "PASS_TO_PASS": _split(tests.get("passToPass") or ()),
        "FAIL_TO_FAIL": _split(()),
        "PASS_TO_FAIL": _split(()),
    }
    return {result.id: said}


def run_report(results: Sequence[Result], dataset: Sequence[str]) -> Json:
    """Return a whole run's report in SWE-bench's schema."""
    completed = [one for one in results if is_completed(one)]
    errors = [one for one in results if not one.empty and not is_completed(one)]
    lists = {
        "submitted": list(results),
        "completed": completed,
        "resolved": [one for one in completed if one.resolved],
        "unresolved": [one for one in completed if not one.resolved],
        "empty_patch": [one for one in results if one.empty],
        "error": errors,
        "infra_failure": [one for one in errors if one.infrastructure],
        "ambiguous_failure": [one for one in errors if one.reason in AMBIGUOUS],
    }
    said: Json = {"total_instances": len(set(dataset))}
    said |= {f"{name}_instances": len(members) for name, members in lists.items()}
    said |= {f"{name}_ids": sorted(one.id for one in members) for name, members in lists.items()}
    said["incomplete_ids"] = sorted(set(dataset) - {one.id for one in results})
    said["failure_reasons"] = {one.id: one.reason for one in errors}
    said["schema_version"] = SCHEMA_VERSION
    return said


def own_report(results: Sequence[Result], dataset: Sequence[str], *, profile: str, run: str) -> Json:
    """Return Assay's own report: the score without what the infrastructure lost, and every end by reason.

    Results are by task, or by model and task when there are several models.
    """
    graded = [one for one in results if one.graded]
    lost = [one for one in results if one.infrastructure]
    counted = len(results) - len(lost)
    many = len({one.model for one in results}) > 1
    return {
        "format": 1,
        "run": run,
        "profile": profile,
        "tasks": len(set(dataset)),
        "predictions": len(results),
        "denominator": counted,
        "resolved": sum(bool(one.resolved) for one in graded),
        "score": round(sum(bool(one.resolved) for one in graded) / counted, 6) if counted else None,
        "meanReward": round(sum(one.reward or 0.0 for one in graded) / len(graded), 6) if graded else None,
        "infrastructure": sorted(one.id for one in lost),
        "reasons": dict(sorted(Counter(one.reason for one in results).items())),
        "results": {
            (f"{one.model}/{one.id}" if many else one.id): {
                "episode": one.episode,
                "reason": one.reason,
                "message": one.message,
                "reward": one.reward,
                "resolved": one.resolved,
                "ignoredPaths": one.ignored,
            }
            for one in sorted(results, key=lambda one: (one.id, one.model))
        },
    }


def report_name(model: str, run: str) -> str:
    """Return the file name that SWE-bench's readers look for."""
    return f"{model.replace('/', '__')}.{run}.json"


def flips(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two of Assay's own reports: task, word before, word after."""
    old, new = before["results"], after["results"]
    for name in sorted({*old, *new}):
        words = [_word(results.get(name)) for results in (old, new)]
        if words[0] != words[1]:
            yield name, words[0], words[1]


def _word(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "absent"
    if entry["resolved"] is None:
        return f"not graded ({entry['reason']})"
    return "resolved" if entry["resolved"] else f"unresolved ({entry['reason']})"


def _split(tests: Sequence[Mapping[str, str]]) -> Json:
    return {
        "success": [test["name"] for test in tests if test["credit"] == "success"],
        "failure": [test["name"] for test in tests if test["credit"] == "failure"],
    }
