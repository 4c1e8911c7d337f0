"""MB/s, time for a log of twice the size and memory of each family of log dialects, measured in a process of its own.

    python benchmarks/parsers.py [--mib 64] [--family NAME ...] [--dialect NAME ...]

A family's log has an equal part for each of its dialects, made of the dialect's vectors, again and again, each time with
other names: the last word of every expected name gets a counter of 5,000 values and is drawn out to a length that is usual
in real logs. Of dialects that read one report, or whose logs are no vectors, it is one report with many tests. MB/s are
those of all parts together; the slowest dialect is named beside them. Growth and memory are those of the dialect with the
most vectors, on a log of the whole size and one of twice that: memory is the highest resident size during parsing, the
decoded log included, over the log's size in UTF-8. With --dialect a dialect stands for its family alone.

Time is processor time. What else works on the machine only ever adds to it, so the least of several runs is taken: of two,
and of up to five as long as the speed is missed. For growth the log is read twice in a row beside the log of twice the
size, so that both last as long and a slow second hits both alike; as long as that goal is missed, for a minute. A shared
machine can be slow for minutes: families that missed a goal are measured again after the others, up to three times. Exits 1
when one never met all: 20 MB/s, 2.2 times the time for twice the log, memory 3 times the log.
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
MARK = "\ue000"
GOAL_SPEED = 20
GOAL_GROWTH = 2.2
GOAL_MEMORY = 3
MOST_RUNS = 5
PASSES_AGAIN = 3
PATIENCE = 60
JEST = """{"ancestorTitles":["pot","lid"],"fullName":"pot lid shuts","status":"passed","title":"shuts\ue000","duration":3,"failureMessages":[]},
{"ancestorTitles":["pot"],"fullName":"pot leaks","status":"failed","title":"leaks\ue000","failureMessages":["Error: it leaks"]}"""
JUNIT = """
<testcase classname="pot.Lid" name="shuts\ue000" time="0.012"/>
<testcase classname="pot.Lid" name="leaks\ue000" time="0.2"><failure message="it leaks">at pot.Lid</failure></testcase>"""
SUITES = ('<?xml version="1.0"?>\n<testsuites><testsuite name="pot">', JUNIT, "</testsuite></testsuites>\n")
REPORTS = {
    "parse_log_doctest": (
        '<doctest binary="pot">\n<TestSuite>\n',
        """<TestCase name="pot\ue000" filename="pot.cpp" line="3">
<SubCase name="fills" filename="pot.cpp" line="5"/>
<SubCase name="leaks" filename="pot.cpp" line="9">
<Expression success="false" type="CHECK" filename="pot.cpp" line="11">
<Original>level == 1</Original>
<Expanded>0 == 1</Expanded>
</Expression>
</SubCase>
</TestCase>
""",
        "</TestSuite>\n</doctest>\n",
    ),
    "parse_log_karma": (
        "INFO [launcher]: Starting browser Chrome\n",
        "  pot\ue000\n    ✔ pours\n    ✖ leaks\n  pot",
        "\nSUMMARY:\n",
    ),
    "junit": SUITES,
    "parse_logs_r_junit": SUITES,
    "parse_test_report": SUITES,
    "gotest-json": (
        "",
        """{"Time":"2026-01-02T03:04:05.6Z","Action":"run","Package":"example.org/pot","Test":"TestLid\ue000"}
{"Time":"2026-01-02T03:04:05.6Z","Action":"output","Package":"example.org/pot","Test":"TestLid\ue000","Output":"=== RUN\\n"}
{"Time":"2026-01-02T03:04:05.6Z","Action":"pass","Package":"example.org/pot","Test":"TestLid\ue000","Elapsed":0.1}
""",
        "",
    ),
    "tap": ("TAP version 14\n", "# Subtest: lid\ue000\n    ok 1 - shuts\n    not ok 2 - leaks\nok 3 - lid\ue000\n", ""),
    "jest-json": (
        '{"testResults":[\n',
        f'{{"name":"pot.test.js","status":"failed","assertionResults":[\n{JEST}]}},\n',
        "{}]}\n",
    ),
    "mocha-json": (
        '{"failures":[],"passes":[\n',
        '{"title":"shuts","fullTitle":"pot lid shuts\ue000","file":"pot.js","duration":3,"currentRetry":0,"err":{}},\n',
        "{}]}\n",
    ),
    "trx": (
        '<TestRun xmlns="urn:pot"><Results>\n',
        '<UnitTestResult testName="Pot.Shuts\ue000(n: 1)" outcome="Passed" duration="00:00:00.01" testId="4f2a"/>\n',
        "</Results></TestRun>\n",
    ),
    "nextest-json": (
        "",
        """{"type":"test","event":"started","name":"pot::lid::shuts\ue000"}
{"type":"test","event":"ok","name":"pot::lid::shuts\ue000","exec_time":0.003}
""",
        "",
    ),
}
"""Dialect -> the beginning of a report, the tests that are repeated, and its end; the mark stands where names differ."""


def write_log(dialect: str, size: int, path: Path) -> None:
    """Write a log of about `size` bytes of the dialect's grammar."""
    head, *seeds, tail = REPORTS.get(dialect) or ("", *usable(dialect), "")
    if not seeds:
        sys.exit(f"{dialect}: no vector gives results under other names")
    written = counter = 0
    with path.open("wb") as file:
        file.write(head.encode())
        while written < size:
            number, template = counter % NAMES, seeds[counter % len(seeds)]
            written += file.write(with_number(template, number).encode("utf-8", "surrogateescape"))
            counter += 1
        file.write(tail.encode())


def usable(dialect: str) -> list[str]:
    """The vectors as templates, of which each gives results under other names, too."""
    return [seed for seed in map(template_of, vectors_of(dialect)) if gives_results(dialect, seed)]


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
    return re.sub(rf"\b({ends})\b", rf"\g<1>{MARK}", log) if words else log


def with_number(template: str, number: int) -> str:
    return template.replace(MARK, f"_{number:05d}_with_a_name_of_usual_length")


def gives_results(dialect: str, template: str) -> bool:
    try:
        return bool(parse_log(dialect, with_number(template, 7)))
    except ParseFailed:
        return False


def measure(parts: dict[str, Path], path: Path, twice_as_large: Path) -> dict[str, float | str]:
    """Figures of a family in this process: its dialects' parts, and two logs of the first of these dialects."""
    largest = next(iter(parts))
    before = resident("VmRSS")
    log = text_of(path)
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    timed(largest, log)
    memory = (resident("VmHWM") - before) / path.stat().st_size
    growth = growth_of(largest, log, text_of(twice_as_large))
    del log
    speeds = speeds_of(parts)
    slowest = min(speeds, key=lambda dialect: speeds[dialect])
    return {
        "speed": len(speeds) / sum(1 / speed for speed in speeds.values()),
        "growth": growth,
        "memory": memory,
        "largest": largest,
        "slowest": slowest,
        "slowest_speed": speeds[slowest],
    }


def growth_of(dialect: str, log: str, twice_log: str) -> float:
    """The time for a log of twice the size over that for the log."""
    pair = twice = float("inf")
    start, runs = time.process_time(), 0
    while runs < 2 or (twice > GOAL_GROWTH * pair / 2 and time.process_time() - start < PATIENCE):
        pair = min(pair, timed(dialect, log) + timed(dialect, log))
        twice = min(twice, timed(dialect, twice_log))
        runs += 1
    return twice / (pair / 2)


def speeds_of(parts: dict[str, Path]) -> dict[str, float]:
    """MB/s of each dialect on its part."""
    logs = {dialect: (text_of(path), path.stat().st_size / 1e6) for dialect, path in parts.items()}
    speeds = dict.fromkeys(parts, 0.0)
    for run in range(MOST_RUNS):
        for dialect, (log, size) in logs.items():
            if run < 2 or speeds[dialect] < GOAL_SPEED:
                speeds[dialect] = max(speeds[dialect], size / timed(dialect, log))
    return speeds


def text_of(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape")


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


def families() -> dict[str, list[str]]:
    """Family -> its dialects that a log can be made for, the one with the most vectors first."""
    members: dict[str, list[str]] = {}
    for name, row in DIALECTS.items():
        if row.alias_of is None and (name in REPORTS or any(vectors_of(name))):
            members.setdefault(row.family, []).append(name)
    return {family: sorted(names, key=lambda name: -len(list(vectors_of(name)))) for family, names in members.items()}


def report(family: str, dialects: list[str], mib: int) -> bool:
    """Print a family's figures; whether all goals are met."""
    with tempfile.TemporaryDirectory() as directory:
        parts = {dialect: Path(directory) / dialect for dialect in dialects}
        for dialect, path in parts.items():
            write_log(dialect, (mib << 20) // len(dialects), path)
        path, twice_as_large = Path(directory) / "once", Path(directory) / "twice"
        write_log(dialects[0], mib << 20, path)
        write_log(dialects[0], mib << 21, twice_as_large)
        logs = json.dumps([{name: str(part) for name, part in parts.items()}, str(path), str(twice_as_large)])
        run = subprocess.run((sys.executable, __file__, "--measure", logs), capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"{family:<15} {run.stderr.strip()[-300:]}", flush=True)
        return False
    figures = json.loads(run.stdout)
    is_met = figures["speed"] >= GOAL_SPEED and figures["growth"] <= GOAL_GROWTH and figures["memory"] <= GOAL_MEMORY
    print(
        f"{family:<15} {figures['speed']:6.1f} MB/s  twice x{figures['growth']:.2f}  memory x{figures['memory']:.2f}"
        f"  {figures['largest']}; slowest of {len(dialects)}: {figures['slowest']} {figures['slowest_speed']:.1f} MB/s"
        f"{'' if is_met else '  MISSED'}",
        flush=True,
    )
    return is_met


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mib", type=int, default=64)
    arguments.add_argument("--family", action="append")
    arguments.add_argument("--dialect", action="append")
    arguments.add_argument("--measure", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        parts, path, twice_as_large = json.loads(options.measure)
        print(json.dumps(measure({name: Path(part) for name, part in parts.items()}, Path(path), Path(twice_as_large))))
        return
    measured = [(DIALECTS[name].family, [name]) for name in options.dialect or ()]
    everything = families()
    measured += [(family, everything[family]) for family in options.family or (() if measured else everything)]
    for again in range(1 + PASSES_AGAIN):
        if again and measured:
            print("again:", flush=True)
        measured = [(family, dialects) for family, dialects in measured if not report(family, dialects, options.mib)]
    sys.exit(bool(measured))


if __name__ == "__main__":
    main()
