"""Import of a large parquet file on a terminal: rows a second and the most memory that the process holds.

    PYTHONPATH=operator:tests python benchmarks/importing.py --rows 50000 --megabytes 2000

The file is made on the fly, in a temporary directory that is removed with everything that the import writes.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

LIMIT_MIB = 300
GROUP = 1000


def rows_of(first: int, count: int, chars: int) -> list[dict[str, object]]:
    """Rows as SWE-rebench V2 publishes them; the patch is text that parquet does not compress away."""
    noise = random.Random(first)
    rows = []
    for number in range(first, first + count):
        lines = [f"+{noise.getrandbits(240):060x}" for _ in range(max(1, chars // 62))]
        head = f"diff --git a/f{number} b/f{number}\nnew file mode 100644\n--- /dev/null\n+++ b/f{number}\n"
        rows.append(
            {
                "instance_id": f"acorn__lantern-{number}",
                "repo": f"acorn/lantern-{number % 700}",
                "base_commit": f"{number:040x}",
                "created_at": 1_600_000_000_000 + number,
                "patch": f"{head}@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(lines) + "\n",
                "test_patch": head.replace(f"f{number}", f"t{number}") + "@@ -0,0 +1 @@\n+test\n",
                "problem_statement": f"Wrong number {number}\n" * 20,
                "interface": "",
                "FAIL_TO_PASS": [f"Test{place}" for place in range(3)],
                "PASS_TO_PASS": [f"TestOld{place}/case {number}" for place in range(60)],
                "install_config": {"test_cmd": ["go test -v ./..."], "log_parser": "parse_log_gotest"},
                "image_name": f"docker.io/swerebenchv2/acorn-lantern:{number}-0000000",
                "language": "go",
                "meta": {"llm_metadata": {"code": "A" if number % 2 else "B1", "difficulty": "easy"}},
                "not_read": "x" * 2000,
            }
        )
    return rows


def make(path: Path, rows: int, chars: int) -> None:
    writer = None
    for first in range(0, rows, GROUP):
        table = pa.Table.from_pylist(rows_of(first, min(GROUP, rows - first), chars))
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    assert writer
    writer.close()


def on_a_terminal(command: tuple[str, ...]) -> tuple[str, int, Any]:
    """Run a command whose errors go to a terminal, where it shows its progress; return those, its status and its use."""
    ours, theirs = pty.openpty()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 2)])
    os.close(theirs)
    said = b""
    try:
        while read := os.read(ours, 65536):
            said = said[-200_000:] + read
    except OSError:  # what Linux says when the last writer of a terminal is gone
        pass
    _, status, usage = os.wait4(child, 0)
    os.close(ours)
    return said.decode("utf-8", "replace"), status, usage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--megabytes", type=int, default=2_000)
    parser.add_argument("--make", type=Path, help="only write the file here")
    options = parser.parse_args()
    if options.make:
        make(options.make, options.rows, options.megabytes * 1_000_000 // options.rows)
        return
    with tempfile.TemporaryDirectory(prefix="assay-importing-") as folder:
        path = Path(folder) / "rows.parquet"
        # In a process of its own: the kernel counts a parent's memory among that of the child that it starts.
        sizes = ("--rows", str(options.rows), "--megabytes", str(options.megabytes))
        subprocess.run((sys.executable, __file__, *sizes, "--make", str(path)), check=True)
        size = path.stat().st_size
        started = time.monotonic()
        command = (sys.executable, "-m", "assay", "import", str(path), "--out", f"{folder}/out")
        said, status, usage = on_a_terminal(command)
        seconds, processor = time.monotonic() - started, usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss / 1024
        print(said[-300:].strip().splitlines()[-1])
        if status:
            raise SystemExit("the import failed")
        if f"/{options.rows}" not in said:
            raise SystemExit("no progress was shown")
        print(
            f"{options.rows} rows, {size / 1e6:.0f} MB of parquet: {seconds:.0f} s, of these {processor:.0f} s of processor,"
            f" {options.rows / processor:.0f} rows a second of it"
        )
        print(f"peak memory {peak:.0f} MiB (limit {LIMIT_MIB}), with a progress bar")
        if peak > LIMIT_MIB:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
