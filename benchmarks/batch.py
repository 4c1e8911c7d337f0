"""A batch from one ``kubectl apply`` to its report, with the real operator on simulated nodes.

    python benchmarks/batch.py [--objects 5000] [--max-pods 200]

All objects are applied at once by ``kubectl apply --server-side -f FILE``; each is one run, as in throughput.py.  When all
have their verdicts, and each the one that its run gives, ``assay report`` is made of them in each form and ``assay status`` is
asked.  Exits 1 when the operator logged an error, or a report takes longer than the goal.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from stage import OperatorProcess, Stage, cluster, machine, operator, output, versions
from throughput import check, figure, missed, validation, wait_for, witness_log

from assay.kube.client import TASK_VALIDATIONS

WORD = "batch"
GOAL_SECONDS = 10.0


def judged(stage: Stage, running: OperatorProcess, folder: Path, count: int) -> None:
    """Apply all objects at once and wait until each has its verdict."""
    items = [validation(f"task-{number:05}", WORD) for number in range(count)]
    file = folder / "tasks.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    started = time.monotonic()
    stage.kubectl("apply", "--server-side", "-f", str(file))
    print(f"{count} objects by one kubectl apply: {time.monotonic() - started:.1f} s", flush=True)
    wait_for(stage, TASK_VALIDATIONS, WORD, count)
    seconds = time.monotonic() - started
    check(stage, WORD)
    print(f"all verdicts {seconds:.1f} s after the first, {count / seconds:.1f} objects/s", flush=True)
    print(f"operator's memory at most: {running.memory('VmHWM'):.0f} MiB")


def reported(stage: Stage, folder: Path, count: int) -> None:
    """Make the report in each form; the goal is for each."""
    for form in (".html", ".md", ".json", ".parquet"):
        out = folder / f"report{form}"
        started = time.monotonic()
        output(sys.executable, "-m", "assay", "report", "--out", str(out), env=stage.environment)
        took = time.monotonic() - started
        print(figure(f"s for the report of {count} objects as {form[1:]}", took, GOAL_SECONDS))
    said = json.loads(output(sys.executable, "-m", "assay", "status", "-o", "json", env=stage.environment))
    if sum(line["tasks"] for line in said) != count:
        sys.exit(f"assay status counts other tasks: {said}")


def main() -> int:
    """Print the figures; return 1 when one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5_000)
    parser.add_argument("--max-pods", type=int, default=200, help="the operator's setting")
    options = parser.parse_args()
    print(machine())
    with cluster("simulated") as stage, tempfile.TemporaryDirectory() as place:
        print(versions(stage), flush=True)
        (stage.directory / "simlogs" / "witness.log").write_text(witness_log())
        with operator(stage, maxPods=options.max_pods) as running:
            judged(stage, running, Path(place), options.objects)
            reported(stage, Path(place), options.objects)
            errors = running.lines("ERROR")
            print(figure("errors in the operator's log", len(errors), 0))
            print("\n".join(f"    {line[:300]}" for line in errors[:5]))
    print("missed: " + (", ".join(missed) or "nothing"))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
