"""Shell text of the data sets -> commands of a task, where running it unchanged would lose what a run says.

Assay applies the test patch itself and reads the command's exit code, so a script that does both is cut down to its
tests, and a step that only prints a report keeps the exit code of the tests before it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from assay.domain.patches import paths_of

CONDA = "source /opt/miniconda3/bin/activate && conda activate testbed"
START_MARK = ">>>>> Start Test Output"
END_MARK = ">>>>> End Test Output"
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
NO_TESTS = (".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
PRINTS_LAST = re.compile(r"(?P<tests>.*\S)\s*&&\s*(?P<prints>cat\s+[^&|;<>()`$\n]+)", re.DOTALL)


def with_collectors(tests: Sequence[str], collectors: Sequence[str]) -> str:
    """Return one script that runs the tests, then the collectors, and ends with the exit code of the tests."""
    if not collectors:
        return "\n".join(tests)
    return "\n".join([*tests, "assay_code=$?", *collectors, "exit $assay_code"])


def collecting(command: str) -> str:
    """Return a command whose last step prints a report, so that it also does when the tests before it fail."""
    found = PRINTS_LAST.fullmatch(command.strip())
    return with_collectors([found["tests"]], [found["prints"]]) if found else command


def evaluation_tests(script: str, base_commit: str) -> str:
    """Return a SWE-bench evaluation script without what Assay does itself.

    The test patch is not applied again, test files are not put back, and the exit code is that of the tests.
    Without both marks, or with a step that cannot be told apart, the script is returned as it is.
    """
    lines = script.splitlines()
    starts = [place for place, line in enumerate(lines) if START_MARK in line]
    ends = [place for place, line in enumerate(lines) if END_MARK in line]
    if len(starts) != 1 or len(ends) != 1 or not starts[0] < ends[0]:
        return script
    before = _without_patching(lines[: starts[0]], base_commit)
    if before is None:
        return script
    return with_collectors([*before, *lines[starts[0] : ends[0]]], [lines[ends[0]]]) + "\n"


def _without_patching(lines: Sequence[str], base_commit: str) -> list[str] | None:
    """Return the lines that neither put test files back nor apply a patch; None when a here-document does not end."""
    kept: list[str] = []
    end = ""
    for line in lines:
        if end:
            end = "" if line.strip() == end else end
        elif line.lstrip().startswith("git apply"):
            here = HEREDOC.search(line)
            end = here[2] if here else ""
        elif not (base_commit and line.lstrip().startswith(f"git checkout {base_commit}")):
            kept.append(line)
    return None if end else kept


def files_for_runner(test_patch: bytes) -> tuple[str, ...]:
    """Return the files that a test patch touches and that can hold tests, as SWE-bench hands them to a runner."""
    paths = (path.decode("utf-8", "replace") for path in paths_of(test_patch))
    return tuple(path for path in paths if not path.endswith(NO_TESTS))


def quoted(paths: Sequence[str]) -> str:
    """Return paths as words of a shell command."""
    return " ".join(shlex.quote(path) for path in paths)
