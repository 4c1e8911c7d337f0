"""Pods a second through TaskValidations beside plain Jobs, API writes, memory and restarts, on simulated nodes.

    python benchmarks/throughput.py [--pods 500] [--rounds 3] [--objects 10000] [--max-pods 200]

A cluster of its own: a real API server, etcd, scheduler and controller-manager (its request limits raised), nodes
simulated by kwok, all on this machine.  Each round makes the same number of pods twice: as batch/v1 Jobs, and through
TaskValidations whose first run condemns them (its target passes without the patch), so that an object is one run.  Both
are created by the same client; time runs from the first creation until the last one is Complete.  The evidence of a run is a
real record of the witness that kwok serves as the pod's log.

Then half of ``--objects`` are applied by one ``kubectl apply --server-side``, the other half by the client; the operator is
restarted while they are under way and again when all have their verdict.  0 objects leave this out.  Exits 1 when a
figure misses its goal.
"""

import argparse
import asyncio
import io
import json
import shutil
import sys
import tempfile
import time
from collections import Counter

from stage import NAMESPACE, OperatorProcess, Stage, cluster, create_all, machine, operator, rows, versions

from assay.kube.client import TASK_VALIDATIONS, Kind
from assay.witness.frames import Printer
from assay.witness.recording import Recording

JOBS = Kind(prefix="/apis/batch/v1", plural="jobs")
JOB_NAMESPACE = "jobs"
ROUND = "benchmark/round"
GOALS = {"ratio": 1.10, "pods/s": 40.0, "MiB": 200.0, "restart": 10.0, "pod writes": 2.0, "status": 3.0, "secrets": 1.0}
TARGET = "tests/test_m.py::test_f"
PATCH = """\
diff --git a/{path} b/{path}
--- a/{path}
+++ b/{path}
@@ -1,2 +1,{count} @@
 def f():
-    return 1
{lines} """
missed: list[str] = []


def figure(text: str, value: float, goal: float, *, at_least: bool = False) -> str:
    """Return a line of the report, and remember a miss."""
    word = "at least" if at_least else "at most"
    wrong = value < goal if at_least else value > goal
    if wrong:
        missed.append(text)
    return f"{text}: {value:.2f} (goal: {word} {goal:g}){'  MISSED' if wrong else ''}"


def witness_log() -> str:
    """Return the log of a witness whose run passed its target, as a node keeps it."""
    said = f"PASSED {TARGET}\n".encode()
    store = io.BytesIO()
    recording = Recording(store, head=1 << 20, tail=0)
    recording.append(0, said)
    recording.finish()
    places = (("setup", 0), ("command-001-begin", 0), ("command-001-end", len(said)), ("end", len(said)))
    header = {
        "format": 1,
        "ended": True,
        "rc": 0,
        "sizes": {"out": len(said), "err": 0, "merged": len(said)},
        "sha256": recording.sha256,
        "truncated": False,
        "stored": {"merged": len(said), "head": len(said), "pieces": recording.pieces, "sha256": recording.kept_sha256},
        "marks": [{"name": name, "merged": at, "out": at, "err": 0, "seconds": 0.1} for name, at in places],
        "facts": {"workdir": "/w", "machine": "x86_64", "exit-001": "0", "patch-test": "applied"},
        "strange": 0,
        "isolation": {
            "targets": 1, "rounds": 2, "gateSeconds": 0.1, "openedAtFirst": False, "samples": 1, "unknown": 0,
            "leaks": [], "leakCount": 0,
        },
        "startedAt": 1.0,
        "durationSeconds": 0.2,
    }  # fmt: skip
    with tempfile.TemporaryFile() as file:
        Printer(file.fileno(), 0).record(header, store)
        file.seek(0)
        lines = file.read().decode().removesuffix("\n").split("\n")
    return "".join(f"2026-01-01T00:00:00.000000000Z stdout F {line}\n" for line in lines)


def patch(path: str, size: int) -> str:
    """Return a patch of about so many bytes."""
    added = [f"+    total_{number} = {number}\n" for number in range(max(1, size // 24))]
    return PATCH.format(path=path, count=len(added) + 1, lines="".join(added)).removesuffix(" ")


def validation(name: str, word: str) -> dict[str, object]:
    """Return a TaskValidation of a usual size that its first run condemns."""
    tests = {"commands": ["true"], "parser": "parse_log_pytest", "failToPass": [TARGET]}
    task = {
        "id": name,
        "repo": "acorn/lantern",
        "baseCommit": "0123456789abcdef0123456789abcdef01234567",
        "image": "registry.test/acorn/lantern@sha256:" + "a" * 64,
        "workdir": "/lantern",
        "statement": "f is off by one. " * 60,
        "patch": patch("m.py", 2048),
        "testPatch": patch("tests/test_m.py", 2048),
        "tests": tests | {"passToPass": [f"tests/test_m.py::test_other[{number}]" for number in range(50)]},
    }
    return {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "TaskValidation",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {ROUND: word}},
        "spec": {"task": task, "runs": {"unpatched": 1, "patched": 1}},
    }


def job(name: str, word: str) -> dict[str, object]:
    """Return a plain Job of one pod."""
    container = {"name": "task", "image": "registry.test/acorn/lantern", "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": JOB_NAMESPACE, "labels": {ROUND: word}},
        "spec": {"backoffLimit": 0, "template": template},
    }


def done(stage: Stage, kind: Kind, word: str) -> int:
    """Return how many objects of a round are complete."""
    if kind is JOBS:
        return sum(row["Status"] == "Complete" for row in rows(stage, kind, JOB_NAMESPACE, f"{ROUND}={word}"))
    return sum(bool(row["Verdict"]) for row in rows(stage, kind, NAMESPACE, f"{ROUND}={word}"))


def wait_for(stage: Stage, kind: Kind, word: str, count: int) -> None:
    """Wait until so many objects of a round are complete: few looks, each costs the API server a list, close at the end."""
    started = time.monotonic()
    while (found := done(stage, kind, word)) < count:
        left = (time.monotonic() - started) * (count - found) / max(found, 1)
        time.sleep(min(5.0, max(0.1, left / 2)) if found else 1.0)


def timed(stage: Stage, kind: Kind, word: str, count: int) -> float:
    """Create so many objects, wait until they are complete, and return the seconds."""
    make, namespace = (job, JOB_NAMESPACE) if kind is JOBS else (validation, NAMESPACE)
    manifests = [make(f"{word}-{number:05}", word) for number in range(count)]
    started = time.monotonic()
    asyncio.run(create_all(stage, kind, manifests, namespace))
    wait_for(stage, kind, word, count)
    seconds = time.monotonic() - started
    if kind is not JOBS:
        check(stage, word)
    return seconds


def check(stage: Stage, word: str) -> None:
    """End the benchmark when an object of a round has another verdict than its one run gives."""
    reasons = Counter(str(row["Reason"]) for row in rows(stage, TASK_VALIDATIONS, NAMESPACE, f"{ROUND}={word}"))
    if set(reasons) != {"TargetTestsPassUnpatched"}:
        sys.exit(f"the verdicts are not those of the runs: {dict(reasons)}")


def compare(stage: Stage, running: OperatorProcess, *, pods: int, rounds: int) -> None:
    """Measure both ways in each round; the least of each counts, since others may use the machine."""
    best: dict[Kind, float] = {}
    for number in range(rounds):
        for kind, word in ((JOBS, f"j{number}"), (TASK_VALIDATIONS, f"v{number}")):
            before = Counter(processor_seconds(stage, running))
            own, server = running.api_requests(), stage.api_requests()
            seconds = timed(stage, kind, word, pods)
            best[kind] = min(seconds, best.get(kind, seconds))
            used = Counter(processor_seconds(stage, running)) - before
            print(f"round {number + 1}: {pods} {kind.plural:16} {seconds:6.1f} s  {pods / seconds:6.1f} pods/s")
            parts = ", ".join(f"{name} {1000 * spent / pods:.1f}" for name, spent in used.most_common())
            print(f"         ms of processor a pod: {1000 * used.total() / pods:.1f} ({parts})", flush=True)
    print(figure("time beside Jobs", best[TASK_VALIDATIONS] / best[JOBS], GOALS["ratio"]))
    print(figure("pods/s through TaskValidations", pods / best[TASK_VALIDATIONS], GOALS["pods/s"], at_least=True))
    print(f"pods/s through Jobs: {pods / best[JOBS]:.2f}")
    report_requests(running.api_requests() - own, stage.api_requests() - server, pods)


def processor_seconds(stage: Stage, running: OperatorProcess) -> dict[str, float]:
    """Return the processor time of each program so far."""
    return stage.processor_seconds() | {"operator": running.processor_seconds()}


def report_requests(own: Counter[tuple[str, str]], server: Counter[tuple[str, str]], runs: int) -> None:
    """Print the requests of one round of one-run objects: the operator's own, and all that the API server counted."""
    status = own["PATCH", "taskvalidations"]
    pods = own["POST", "pods"] + own["DELETE", "pods"]
    print(figure("writes of pods a run", pods / runs, GOALS["pod writes"]))
    print(figure("status writes an object", status / runs, GOALS["status"]))
    print(figure("Secrets an object", own["POST", "secrets"] / runs, GOALS["secrets"]))
    for title, counts in (("the operator", own), ("the API server's count, all clients", server)):
        most = [(key, count) for key, count in counts.most_common() if count >= runs / 10]
        print(f"requests an object, {title}: " + ", ".join(f"{verb} {what} {n / runs:.2f}" for (verb, what), n in most))


def many(stage: Stage, running: OperatorProcess, count: int) -> None:
    """Apply half of the objects at once, create the others, restart twice, and look at memory and errors."""
    half = count // 2
    first, second = ([validation(f"{word}-{number:05}", "many") for number in range(half)] for word in ("a", "b"))
    started = time.monotonic()
    stage.kubectl(
        "apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": first})
    )
    print(
        f"{half} objects by one kubectl apply: {time.monotonic() - started:.1f} s, memory {running.memory():.0f} MiB",
        flush=True,
    )
    asyncio.run(create_all(stage, TASK_VALIDATIONS, second, NAMESPACE))
    left = 2 * half - done(stage, TASK_VALIDATIONS, "many")
    print(
        f"{2 * half} objects after {time.monotonic() - started:.1f} s, {left} without a verdict, memory {running.memory():.0f} MiB"
    )
    highest = running.memory("VmHWM")
    running.stop()
    print(
        figure(f"s until ready after a restart with {left} objects under way", running.start(), GOALS["restart"]),
        flush=True,
    )
    restarted = time.monotonic()
    wait_for(stage, TASK_VALIDATIONS, "many", 2 * half)
    print(
        f"the {left} objects left took {time.monotonic() - restarted:.1f} s, {left / (time.monotonic() - restarted):.1f} pods/s"
    )
    print(figure(f"MiB of memory at most with {2 * half} objects", max(highest, running.memory("VmHWM")), GOALS["MiB"]))
    running.stop()
    print(figure(f"s until ready after a restart with {2 * half} finished objects", running.start(), GOALS["restart"]))
    print(f"memory then: {running.memory():.0f} MiB")


def main() -> int:
    """Print the figures; return 1 when one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--max-pods", type=int, default=200, help="the operator's setting")
    parser.add_argument("--log", help="keep the operator's log in this file")
    options = parser.parse_args()
    print(machine())
    with cluster("simulated") as stage:
        print(versions(stage), flush=True)
        (stage.directory / "simlogs" / "witness.log").write_text(witness_log())
        stage.kubectl("create", "namespace", JOB_NAMESPACE)
        with operator(stage, maxPods=options.max_pods) as running:
            compare(stage, running, pods=options.pods, rounds=options.rounds)
            print(
                f"operator's memory: {running.memory():.0f} MiB, at most {running.memory('VmHWM'):.0f} MiB", flush=True
            )
            if options.objects:
                many(stage, running, options.objects)
            errors, warnings = running.lines("ERROR"), running.lines("WARNING")
            print(figure("errors in the operator's log", len(errors), 0), f"\nwarnings: {len(warnings)}")
            for line in (*errors[:3], *warnings[:3]):
                print("   ", line[:300])
            if options.log:
                shutil.copy(running.log, options.log)
    print("missed: " + (", ".join(missed) or "nothing"))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
