"""Run the tests in stages, quick ones first, and say how long each took; the first failure ends it.

python dev/test.py              # all stages
python dev/test.py unit api     # some of them
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
IN_TURN = ("--dist", "loadfile", "--no-loadscope-reorder")
STAGES = {
    "unit": ("not api and not cluster and not machine and not runners", ("-n", "3", "--dist", "loadfile")),
    "runners": ("runners", ("-n", "2", *IN_TURN)),
    "api": ("api", ("-n", "2", *IN_TURN)),
    "machine": ("machine", ()),
    "cluster": ("cluster", ("-n", "2", *IN_TURN)),
}
LONGEST = (
    "chart/test_go_episode.py",
    "cluster/test_predictions.py",
    "cluster/test_verdicts.py",
    "dev/test_demo.py",
    "cluster/test_faults.py",
    "chart/test_episodes.py",
    "chart/test_release.py",
)
"""What takes longest, in order: it comes first, so that no worker waits for another at the end."""


def main() -> int:
    """Run the stages that were asked for."""
    wanted = sys.argv[1:] or list(STAGES)
    unknown = set(wanted) - set(STAGES)
    if unknown:
        sys.exit(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    started = time.monotonic()
    for name in wanted:
        marks, options = STAGES[name]
        print(f"[assay] tests: {name}", flush=True)
        began = time.monotonic()
        command = (sys.executable, "-m", "pytest", "-q", "-m", marks, "--durations=5", *options, *_files(marks))
        code = subprocess.run(command, env=_environment(), check=False).returncode
        print(f"[assay] tests: {name} took {time.monotonic() - began:.0f} s, exit code {code}", flush=True)
        if code:
            return code
    print(f"[assay] all stages passed in {time.monotonic() - started:.0f} s", flush=True)
    return 0


def _files(marks: str) -> Iterator[str]:
    """The files that name a stage's mark: importing all others takes each worker seconds.  None, for all: all files."""
    if marks.isidentifier():
        first = {TESTS / name: place for place, name in enumerate(LONGEST)}
        named = [path for path in sorted(TESTS.rglob("test_*.py")) if f"mark.{marks}" in path.read_text()]
        yield from map(str, sorted(named, key=lambda path: first.get(path, len(first))))


def _environment() -> Mapping[str, str]:
    """Let Python keep what it compiles, tests' modules and those of each program that they start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    sys.exit(main())
