"""What ``make demo`` prints at its end: pure functions from the objects and the clock's stamps to text."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

EXPECTED = "examples.assay.dev/expected"
AS_EXPECTED = "as expected"
VERDICT_HEAD = ("NAME", "VERDICT", "REASON", "F2P", "P2P", "FLAKY", "EXCLUDED", "")
TIME_HEAD = ("NAME", "QUEUED", "RUNS", "TESTS", "SLOWEST", "LOST", "VERDICT AFTER")
SHOWN = 3

Object = Mapping[str, Any]


def verdict_row(item: Object) -> tuple[str, ...]:
    """One line of the table of verdicts: name, verdict, reason, counts, and whether it is the expected one."""
    status = item.get("status", {})
    tests = status.get("tests", {})
    counts = [str(tests.get(kind, {}).get("count", "")) for kind in ("failToPass", "passToPass", "flaky", "excluded")]
    expected = item["metadata"]["annotations"][EXPECTED]
    verdict, reason = status.get("verdict", "-"), status.get("reason", "-")
    said = verdict if verdict == "Valid" else f"{verdict}/{reason}"
    told = AS_EXPECTED if said == expected else f"EXPECTED {expected}"
    return (item["metadata"]["name"], verdict, reason, *counts, told)


def time_row(item: Object) -> tuple[str, ...]:
    """One object's times: until it was accepted, its runs, their tests' time in sum and at most, until the verdict."""
    status, applied = item.get("status", {}), item["metadata"].get("creationTimestamp")
    runs = status.get("runs", ())
    seconds = [run.get("durationSeconds", 0.0) for run in runs]
    lost = sum(len(run.get("faults", ())) for run in runs)
    return (
        item["metadata"]["name"],
        _between(applied, status.get("startedAt")),
        str(len(runs)),
        f"{sum(seconds):.1f} s",
        f"{max(seconds, default=0.0):.1f} s",
        str(lost),
        _between(applied, status.get("completedAt")),
    )


def step_rows(stamps: Sequence[tuple[str, float]], begin: float) -> list[tuple[str, str]]:
    """Return each step with the time since the one before it; ``stamps`` are ends on the clock of ``begin``."""
    starts = [begin, *(at for _, at in stamps)]
    rows = [(name, f"{at - since:.1f} s") for (name, at), since in zip(stamps, starts, strict=False)]
    return [*rows, ("all together", f"{starts[-1] - begin:.1f} s")]


def findings(item: Object) -> list[str]:
    """What the checks found in a task that is not valid, or valid with something to tell; nothing for a plain one."""
    status = item.get("status", {})
    lines = [] if status.get("verdict") == "Valid" else [status.get("message", "no verdict yet")]
    for kind in ("flaky", "unstable", "excluded"):
        group = status.get("tests", {}).get(kind, {})
        if group.get("count"):
            lines.append(f"{kind}: {_first(group)}")
    for run in status.get("runs", ()):
        lines += [
            f"{run['name']}, attempt {fault['attempt']} was lost: {fault['reason']}: {fault.get('message', '')}"
            for fault in run.get("faults", ())
        ]
    ends: dict[str, list[str]] = {}
    for run in status.get("runs", ()):
        if run.get("outcome") != "Finished":
            ends.setdefault(run["outcome"], []).append(run["name"])
    lines += [f"{outcome}: {', '.join(names)}" for outcome, names in sorted(ends.items())]
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines with aligned columns."""
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *rows)
    )


def report(items: Sequence[Object], steps: Sequence[tuple[str, str]]) -> str:
    """Return the demo's end: what the checks found, how long each object and each step took, the verdicts last."""
    found = [(item["metadata"]["name"], line) for item in items for line in findings(item)]
    names = [name if not at or found[at - 1][0] != name else "" for at, (name, _) in enumerate(found)]
    parts = [
        table(("NAME", "WHAT THE CHECKS FOUND"), [(name, line) for name, (_, line) in zip(names, found, strict=True)]),
        table(TIME_HEAD, [time_row(item) for item in items]),
        table(("STEP", "TOOK"), steps),
        table(VERDICT_HEAD, [verdict_row(item) for item in items]),
    ]
    return "\n\n".join(parts)


def _between(begin: str | None, end: str | None) -> str:
    if not begin or not end:
        return "-"
    return f"{(datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds():.0f} s"


def _first(group: Mapping[str, Any]) -> str:
    names = list(group.get("first", ()))[:SHOWN]
    more = group["count"] - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
