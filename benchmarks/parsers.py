"""MB/s, time for a log of twice the size and memory of log dialects, each measured in a process of its own.

    python benchmarks/parsers.py [--mib 64] [--dialect NAME ...] [--all]

A log is made of the dialect's vectors, again and again, each time with other names: the last word of every expected name
gets a counter of 5,000 values and is drawn out to a length that is usual in real logs. Of dialects that read one report,
or whose logs are no vectors, it is one report with many tests. Time is processor time, the better of two. Memory is
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
MARK = "\ue000"
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


def measure(dialect: str, path: Path, twice_as_large: Path) -> dict[str, float]:
    """Seconds for the log and for one of twice its size, and the peak of memory, in this process."""
    before = resident("VmRSS")
    log = text_of(path)
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    first = timed(dialect, log)
    peak = resident("VmHWM") - before
    once = min(first, timed(dialect, log))
    log = text_of(twice_as_large)
    twice = min(timed(dialect, log), timed(dialect, log))
    return {"seconds": once, "ratio": twice / once, "memory": peak / path.stat().st_size}


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


def one_of_each_family() -> list[str]:
    families: dict[str, str] = {}
    for name, row in DIALECTS.items():
        known = families.get(row.family)
        if has_log(name) and (known is None or len(list(vectors_of(name))) > len(list(vectors_of(known)))):
            families[row.family] = name
    return list(families.values())


def has_log(dialect: str) -> bool:
    return dialect in REPORTS or any(vectors_of(dialect))


def report(dialects: list[str], mib: int) -> int:
    missed = 0
    for dialect in dialects:
        with tempfile.TemporaryDirectory() as directory:
            path, twice_as_large = Path(directory) / "log", Path(directory) / "twice"
            write_log(dialect, mib << 20, path)
            write_log(dialect, mib << 21, twice_as_large)
            run = subprocess.run(
                [sys.executable, __file__, "--dialect", dialect, "--measure", str(path), str(twice_as_large)],
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
    arguments.add_argument("--measure", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(measure(options.dialect[0], *options.measure)))
        return
    everything = [name for name, row in DIALECTS.items() if row.alias_of is None and has_log(name)]
    sys.exit(report(options.dialect or (everything if options.all else one_of_each_family()), options.mib))


if __name__ == "__main__":
    main()
