"""MB/s, time for a doubled log and memory of log dialects, each measured in a process of its own.

    python benchmarks/parsers.py [--mib 64] [--dialect NAME ...] [--all]

A log is made of the dialect's vectors, again and again, each time with other names: the last word of every expected name
gets a counter of 5,000 values and is drawn out to a length that is usual in real logs. Time is processor time, the better of two. Memory is
the highest resident size during parsing, the decoded log included, over the log's size in UTF-8. Without --all or
--dialect the largest dialect of each family stands for it. Exits 1 when a figure misses its goal: 20 MB/s, 2.2 times the
time for twice the log, memory 3 times the log.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assay.domain.logs import DIALECTS, ParseFailed, parse_log

VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "log-parsers"
NAMES = 5_000
WORD = re.compile(r"[A-Za-z]{3,}")


def write_log(dialect: str, size: int, path: Path) -> None:
    """Write a log of about `size` bytes of the dialect's grammar."""
    seeds = [seed for seed in map(template_of, vectors_of(dialect)) if gives_results(dialect, seed)]
    if not seeds:
        sys.exit(f"{dialect}: no vector gives results under other names")
    written = counter = 0
    with path.open("wb") as file:
        while written < size:
            number, template = counter % NAMES, seeds[counter % len(seeds)]
            written += file.write(with_number(template, number).encode("utf-8", "surrogateescape"))
            counter += 1


def vectors_of(dialect: str) -> Iterator[dict]:
    for path in sorted(VECTORS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            vector = json.loads(line)
            if vector["parser"] == dialect and vector["expected"]:
                yield vector


def template_of(vector: dict) -> str:
    """The log with a mark behind each word that ends an expected name."""
    words = {found[-1] for found in map(WORD.findall, vector["expected"]) if found}
    ends = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    log = vector["log"] if vector["log"].endswith("\n") else vector["log"] + "\n"
    return re.sub(rf"\b({ends})\b", "\\g<1>\ue000", log) if words else log


def with_number(template: str, number: int) -> str:
    return template.replace("\ue000", f"_{number:05d}_with_a_name_of_usual_length")


def gives_results(dialect: str, template: str) -> bool:
    try:
        return bool(parse_log(dialect, with_number(template, 7)))
    except ParseFailed:
        return False


def measure(dialect: str, path: Path) -> dict[str, float]:
    """Seconds for the log and for its double, and the peak of memory, in this process."""
    before = resident("VmRSS")
    log = path.read_text("utf-8", "surrogateescape")
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    first = timed(dialect, log)
    peak = resident("VmHWM") - before
    once = min(first, timed(dialect, log))
    log += log
    twice = min(timed(dialect, log), timed(dialect, log))
    return {"seconds": once, "ratio": twice / once, "memory": peak / path.stat().st_size}


def resident(figure: str) -> int:
    """Bytes of this process that are or were in memory."""
    found = re.search(rf"{figure}:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(found[1]) * 1024 if found else 0


def timed(dialect: str, log: str) -> float:
    start = time.process_time()
    results = parse_log(dialect, log)
    elapsed = time.process_time() - start
    if not results:
        sys.exit(f"{dialect}: the benchmark's log gives no results")
    return elapsed


def one_of_each_family() -> list[str]:
    families: dict[str, str] = {}
    for name, row in DIALECTS.items():
        vectors = list(vectors_of(name))
        known = families.get(row.family)
        if vectors and (known is None or len(vectors) > len(list(vectors_of(known)))):
            families[row.family] = name
    return list(families.values())


def report(dialects: list[str], mib: int) -> int:
    missed = 0
    for dialect in dialects:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "log"
            write_log(dialect, mib << 20, path)
            run = subprocess.run(
                [sys.executable, __file__, "--dialect", dialect, "--measure", str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            size = path.stat().st_size
        if run.returncode:
            print(f"{dialect:<32} {run.stderr.strip()[-300:]}", flush=True)
            missed += 1
            continue
        figures = json.loads(run.stdout)
        speed = size / 1e6 / figures["seconds"]
        misses = speed < 20 or figures["ratio"] > 2.2 or figures["memory"] > 3
        missed += misses
        print(
            f"{DIALECTS[dialect].family:<15} {dialect:<32} {speed:7.1f} MB/s  double x{figures['ratio']:.2f}"
            f"  memory x{figures['memory']:.2f}{'  MISSED' if misses else ''}",
            flush=True,
        )
    return int(missed > 0)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64)
    arguments.add_argument("--dialect", action="append")
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(measure(options.dialect[0], options.measure)))
        return
    everything = [name for name, row in DIALECTS.items() if row.alias_of is None and any(vectors_of(name))]
    sys.exit(report(options.dialect or (everything if options.all else one_of_each_family()), options.mib))


if __name__ == "__main__":
    main()
