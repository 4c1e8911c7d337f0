"""Run the tests in stages, quick ones first, and say how long each took; the first failure ends it.

python dev/test.py              # all stages
python dev/test.py unit api     # some of them
"""

import subprocess
import sys
import time

STAGES = {
    "unit": ("not api and not cluster and not machine and not runners", ("-n", "3", "--dist", "loadfile")),
    "runners": ("runners", ("-n", "2", "--dist", "loadfile")),
    "api": ("api", ("-n", "2", "--dist", "loadfile")),
    "machine": ("machine", ()),
    "cluster": ("cluster", ("-n", "2", "--dist", "loadfile")),
}


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
        code = subprocess.run(
            (sys.executable, "-m", "pytest", "-q", "-m", marks, "--durations=5", *options), check=False
        ).returncode
        print(f"[assay] tests: {name} took {time.monotonic() - began:.0f} s, exit code {code}", flush=True)
        if code:
            return code
    print(f"[assay] all stages passed in {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
