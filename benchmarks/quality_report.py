"""How long the quality report of many TaskValidations takes, from a real API server: ``python benchmarks/quality_report.py``.

The objects have the size of usual ones, with verdicts of every kind, five runs and their evidence in status.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stage import AT_ONCE, NAMESPACE, Stage, cluster, create_all, machine, output, versions
from throughput import validation

from assay.kube.client import TASK_VALIDATIONS, Client

GOAL_SECONDS = 10.0
REASONS = (("Valid", "TargetTestsDerived"), ("Invalid", "NoTargetTests"), ("Invalid", "TargetTestsFlaky"))


def status(number: int) -> dict[str, Any]:
    """Return a status as the operator writes it at the end."""
    verdict, reason = REASONS[number % len(REASONS)]
    names = ("unpatched-1", "unpatched-2", "unpatched-3", "patched-1", "patched-2")
    stored = {"uri": f"s3://bucket/{number % 256:02x}/{'a' * 64}.zst", "sha256": f"{number:064x}", "bytes": 20_000}
    counts = {"passed": 50, "failed": 1}
    runs = [
        {"name": name, "outcome": "Finished", "exitCode": 1, "durationSeconds": 12.5, "counts": counts}
        | {"log": stored, "results": stored}
        for name in names
    ]
    group = {"count": 5, "first": [f"tests/test_m.py::test_{place}[{number}]" for place in range(5)]}
    return {
        "phase": "Complete",
        "verdict": verdict,
        "reason": reason,
        "message": "5 tests fail without the patch and pass with it",
        "image": {
            "requested": "registry.test/acorn/lantern",
            "digest": "registry.test/acorn@sha256:" + f"{number:064x}",
        },
        "tests": {"failToPass": group, "passToPass": group, "flaky": group if reason == "TargetTestsFlaky" else {}},
        "runs": runs,
        "report": stored,
        "completedAt": "2026-01-01T00:10:00Z",
        "observedGeneration": 1,
    }


async def tell_all(stage: Stage, names: list[str]) -> None:
    """Write the statuses, some at a time."""
    waiting = iter(enumerate(names))
    client = Client(stage.login)

    async def work() -> None:
        for number, name in waiting:
            await client.patch_status(TASK_VALIDATIONS, NAMESPACE, name, {"status": status(number)})

    try:
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    finally:
        await client.close()


def main() -> int:
    """Print the figures; return 1 when a report misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5_000)
    options = parser.parse_args()
    print(machine())
    slow = False
    with cluster("simulated") as stage, tempfile.TemporaryDirectory() as folder:
        print(versions(stage), flush=True)
        names = [f"task-{number:05}" for number in range(options.objects)]
        asyncio.run(create_all(stage, TASK_VALIDATIONS, [validation(name, "report") for name in names], NAMESPACE))
        asyncio.run(tell_all(stage, names))
        for form in (".html", ".md", ".json", ".parquet"):
            out = Path(folder) / f"report{form}"
            began = time.monotonic()
            output(sys.executable, "-m", "assay", "report", "--out", str(out), env=stage.environment)
            took = time.monotonic() - began
            slow = slow or took > GOAL_SECONDS
            size = out.stat().st_size / 1024
            print(
                f"{form[1:]} of {options.objects} objects: {took:.1f} s, {size:.0f} KiB (goal: at most {GOAL_SECONDS:g} s)"
            )
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
