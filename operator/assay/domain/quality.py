"""Where a batch's rows went and why: objects' statuses -> the numbers of a quality report.

An infrastructure fault is counted beside the verdicts, never among them: the denominator of every rate is the tasks
with a verdict of Valid or Invalid.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.domain.datasets.manifests import LABEL_FAMILY, LABEL_LANGUAGE, LABEL_SOURCE
from assay.domain.manifests import LABEL_DATASET

UNNAMED = "(none)"
REFUSED = "MalformedTask"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One finished run: its state, how it ended, and times in seconds: of its test commands, and of its waits."""

    name: str
    outcome: str
    seconds: float
    faults: tuple[str, ...] = ()
    queue_seconds: float = 0.0
    start_seconds: float = 0.0
    log_bytes: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One TaskValidation as the report sees it; ``seconds`` is the time from creation to verdict, 0 without one."""

    name: str
    task: str
    repo: str
    language: str
    dataset: str
    family: str
    split: str
    phase: str
    verdict: str
    reason: str
    message: str
    fail_to_pass: int
    pass_to_pass: int
    flaky: int
    unstable: int
    excluded: int
    flaky_names: tuple[str, ...]
    image: str
    seconds: float
    cpu_seconds: float
    runs: tuple[RunRow, ...]

    @property
    def accepted(self) -> bool:
        """Whether its spec was a task at all."""
        return self.reason != REFUSED

    @property
    def judged(self) -> bool:
        """Whether execution said something of it."""
        return self.accepted and self.verdict in ("Valid", "Invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution: how many values, and its quantiles."""

    count: int
    p50: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tasks that share a language, a repository, a data set, a family or a split."""

    name: str
    total: int
    valid: int
    invalid: int
    inconclusive: int
    open: int

    @property
    def rate(self) -> float | None:
        """Share of valid tasks among those with a verdict; None without any."""
        judged = self.valid + self.invalid
        return self.valid / judged if judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """How many tasks ended for one reason, with their names in order."""

    verdict: str
    reason: str
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many."""
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """All numbers of a report; ``funnel`` is ordered, each step a part of the one before."""

    rows: tuple[TaskRow, ...]
    funnel: tuple[tuple[str, int], ...]
    reasons: tuple[ReasonCount, ...]
    refusals: tuple[tuple[str, int], ...]
    groups: Mapping[str, tuple[Group, ...]]
    flaky_tasks: tuple[TaskRow, ...]
    run_seconds: Mapping[str, Spread]
    waits: Mapping[str, Spread]
    verdict_seconds: Spread
    log_bytes: Spread
    faults: tuple[tuple[str, int], ...]
    attempts_lost: int
    runs: int
    truncated: int
    cpu_seconds: float
    images: int

    @property
    def valid(self) -> int:
        """Tasks that are valid."""
        return sum(row.verdict == "Valid" for row in self.rows)


def task_row_of(raw: Mapping[str, Any]) -> TaskRow:
    """Return the row of a TaskValidation's JSON; of a bundled task its labels tell repository and language."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    task = spec.get("task") or {}
    tests, labels = status.get("tests") or {}, metadata.get("labels") or {}
    runs = tuple(_run_row(run) for run in status.get("runs") or ())
    return TaskRow(
        name=metadata["name"],
        task=task.get("id") or (spec.get("taskFrom") or {}).get("id", ""),
        repo=task.get("repo") or status.get("source") or labels.get(LABEL_SOURCE) or UNNAMED,
        language=task.get("language") or labels.get(LABEL_LANGUAGE) or UNNAMED,
        family=labels.get(LABEL_FAMILY) or (spec.get("provenance") or {}).get("family") or UNNAMED,
        dataset=labels.get(LABEL_DATASET) or (spec.get("taskFrom") or {}).get("dataset") or UNNAMED,
        split=spec.get("split") or UNNAMED,
        phase=status.get("phase") or "Pending",
        verdict=status.get("verdict") or "",
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        **{field: _count(tests, key) for field, key in COUNTS.items()},
        flaky_names=tuple((tests.get("flaky") or {}).get("first") or ()),
        image=(status.get("image") or {}).get("digest", ""),
        seconds=_seconds_between(metadata.get("creationTimestamp"), status.get("completedAt")),
        cpu_seconds=_processors(spec) * sum(run.seconds for run in runs),
        runs=runs,
    )


COUNTS = {
    "fail_to_pass": "failToPass",
    "pass_to_pass": "passToPass",
    "flaky": "flaky",
    "unstable": "unstable",
    "excluded": "excluded",
}


def quality_of(rows: Iterable[TaskRow], refusals: Sequence[str] = ()) -> QualityReport:
    """Return the report over these tasks; ``refusals`` are the reasons for which an import took rows for no task."""
    rows = tuple(sorted(rows, key=lambda row: row.name))
    runs = [run for row in rows for run in row.runs]
    faults = Counter(fault for run in runs for fault in run.faults)
    return QualityReport(
        rows=rows,
        funnel=_funnel(rows, len(refusals)),
        reasons=_reasons(rows),
        refusals=tuple(Counter(refusals).most_common()),
        groups={
            "language": _groups(rows, "language"),
            "data set": _groups(rows, "dataset"),
            "family": _groups(rows, "family"),
            "split": _groups(rows, "split"),
            "repository": _groups(rows, "repo"),
        },
        flaky_tasks=tuple(sorted((row for row in rows if row.flaky), key=lambda row: (-row.flaky, row.name))),
        run_seconds=_run_seconds(runs),
        waits={
            "for a node": spread_of([run.queue_seconds for run in runs if run.seconds]),
            "for images and start": spread_of([run.start_seconds for run in runs if run.seconds]),
        },
        verdict_seconds=spread_of([row.seconds for row in rows if row.seconds]),
        log_bytes=spread_of([float(run.log_bytes) for run in runs if run.log_bytes]),
        faults=tuple(faults.most_common()),
        attempts_lost=sum(faults.values()),
        runs=len(runs),
        truncated=sum(run.truncated for run in runs),
        cpu_seconds=sum(row.cpu_seconds for row in rows),
        images=len({row.image for row in rows if row.image}),
    )


def spread_of(values: Sequence[float]) -> Spread:
    """Return the quantiles of values, by the nearest rank; all 0 without values."""
    ordered = sorted(values)
    if not ordered:
        return Spread(count=0, p50=0.0, p95=0.0, most=0.0)
    return Spread(count=len(ordered), p50=_rank(ordered, 0.5), p95=_rank(ordered, 0.95), most=ordered[-1])


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _run_row(run: Mapping[str, Any]) -> RunRow:
    return RunRow(
        name=run.get("name", ""),
        outcome=run.get("outcome", ""),
        seconds=float(run.get("durationSeconds") or 0.0),
        queue_seconds=float(run.get("queueSeconds") or 0.0),
        start_seconds=float(run.get("startSeconds") or 0.0),
        faults=tuple(fault.get("reason", "") for fault in run.get("faults") or ()),
        log_bytes=int((run.get("log") or {}).get("bytes") or 0),
        truncated=bool(run.get("truncated")),
    )


def _count(tests: Mapping[str, Any], key: str) -> int:
    return int((tests.get(key) or {}).get("count") or 0)


def _processors(spec: Mapping[str, Any]) -> float:
    amount = str((spec.get("resources") or {}).get("cpu", "1"))
    return float(amount[:-1]) / 1000 if amount.endswith("m") else float(amount)


def _seconds_between(start: str | None, end: str | None) -> float:
    if not start or not end:
        return 0.0
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def _funnel(rows: Sequence[TaskRow], refused: int) -> tuple[tuple[str, int], ...]:
    accepted = [row for row in rows if row.accepted]
    judged = [row for row in accepted if row.judged]
    steps = [
        ("imported", len(rows) + refused),
        ("made into objects", len(rows)),
        ("accepted", len(accepted)),
        ("with a verdict", len(judged)),
        ("valid", sum(row.verdict == "Valid" for row in judged)),
    ]
    return tuple(steps if refused else steps[1:])


def _reasons(rows: Iterable[TaskRow]) -> tuple[ReasonCount, ...]:
    named: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        named[row.verdict or "Open", row.reason or row.phase].append(row.name)
    found = [
        ReasonCount(verdict=verdict, reason=reason, names=tuple(names)) for (verdict, reason), names in named.items()
    ]
    order = ("Valid", "Invalid", "Inconclusive", "Open")
    return tuple(sorted(found, key=lambda entry: (order.index(entry.verdict), -entry.count, entry.reason)))


def _groups(rows: Iterable[TaskRow], key: str) -> tuple[Group, ...]:
    verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        verdicts[getattr(row, key)][row.verdict] += 1
    found = [
        Group(
            name=name,
            total=counts.total(),
            valid=counts["Valid"],
            invalid=counts["Invalid"],
            inconclusive=counts["Inconclusive"],
            open=counts[""],
        )
        for name, counts in verdicts.items()
    ]
    return tuple(sorted(found, key=lambda group: (-group.total, group.name)))


def _run_seconds(runs: Iterable[RunRow]) -> Mapping[str, Spread]:
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.seconds:
            seconds[run.name.rpartition("-")[0]].append(run.seconds)
    return {state: spread_of(values) for state, values in sorted(seconds.items())}
