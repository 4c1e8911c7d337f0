"""MB/s of every log dialect, time for a doubled log, and memory, each measured in a process of its own.

    python benchmarks/parsers.py [--mib 64] [--dialect NAME ...] [--all]

The log is made by repeating the dialect's vectors, each word of each line with a counter of 20,000 values, so that names
vary as they do in a large real log. Without --all one dialect a family is measured: the slowest grammar of it. Exits 1 when
a figure misses its goal: 20 MB/s, 2.2 times the time for twice the log, memory 3 times the log.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from assay.domain.logs import DIALECTS, ParseFailed, parse_log

VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "log-parsers"
NAMES = 20_000


def log_for(dialect: str, size: int) -> str:
    """A log of about `size` UTF-8 bytes of the dialect's grammar."""
    seeds = [vector["log"] for vector in _vectors(dialect) if len(vector["expected"]) > 0]
    parts, total, counter = [], 0, 0
    varied = {}
    while total < size:
        key = (counter % len(seeds), counter % NAMES)
        if key not in varied:
            text = _varied(seeds[key[0]], counter % NAMES)
            varied[key] = (text, len(text.encode("utf-8", "surrogateescape")))
        text, length = varied[key]
        parts.append(text)
        total += length
        counter += 1
    return "".join(parts)


def _vectors(dialect: str):
    of = DIALECTS[dialect].alias_of or dialect
    for path in sorted(VECTORS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            vector = json.loads(line)
            if vector["parser"] == of:
                yield vector


def _varied(log: str, number: int) -> str:
    """The log with a number behind the first lower-case word of each line that has two words."""
    return re.sub(r"(?m)^([^\n]*?[a-z]{3})(?=[a-z]*[ \n.:(])", rf"\g<1>{number}q", log) + "\n"


def measure(dialect: str, mib: int) -> dict[str, float]:
    """Seconds for the log and for its double, and the peak of memory, in this process."""
    log = log_for(dialect, mib << 20)
    size = len(log.encode("utf-8", "surrogateescape"))
    once, peak = _timed(dialect, log), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    twice = _timed(dialect, log + log)
    return {"megabytes": size / 1e6, "seconds": once, "ratio": twice / once, "memory": peak / size}


def _timed(dialect: str, log: str) -> float:
    start = time.process_time()
    try:
        found = len(parse_log(dialect, log))
    except ParseFailed as failure:
        sys.exit(f"{dialect}: {failure}")
    if not found:
        sys.exit(f"{dialect}: the benchmark's log gives no results")
    return time.process_time() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64)
    arguments.add_argument("--dialect", action="append")
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.mib)))
        return
    sys.exit(report(options.dialect or chosen(every=options.all), options.mib))


def chosen(*, every: bool) -> list[str]:
    return [name for name, row in DIALECTS.items() if row.alias_of is None and any(_vectors(name))]


def report(dialects: list[str], mib: int) -> int:
    missed = 0
    for dialect in dialects:
        run = subprocess.run(
            [sys.executable, __file__, "--one", dialect, "--mib", str(mib)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            print(f"{dialect:<32} {run.stderr.strip().splitlines()[-1]}")
            missed += 1
            continue
        figures = json.loads(run.stdout)
        speed = figures["megabytes"] / figures["seconds"]
        misses = speed < 20 or figures["ratio"] > 2.2 or figures["memory"] > 3
        missed += misses
        print(
            f"{dialect:<32} {DIALECTS[dialect].family:<14} {speed:7.1f} MB/s  x{figures['ratio']:.2f} for double "
            f" memory x{figures['memory']:.2f}{'  MISSED' if misses else ''}",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    main()
