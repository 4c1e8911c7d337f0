"""Which reports are printed after a failed command, and which commands are left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.collectors import collector_of

FOUND = {
    "./run.sh > /tmp/o.txt && cat /tmp/o.txt": "cat /tmp/o.txt\n",
    "npm test -- --reporter=json && cat a.json 'b c.json'": "cat a.json 'b c.json'\n",
    "cd sub && pytest && cat r.xml": "cd sub || exit\ncat r.xml\n",
    "export X=1; make check 2>&1 | tee log && cat r.xml && echo done": "export X=1 || exit\ncat r.xml\n",
}
LEFT_ALONE = (
    "pytest -rA",
    "cat log",
    "cat a && pytest",
    "pytest; cat r.xml",
    "if true; then pytest && cat r.xml; fi",
    "(pytest && cat r.xml)",
    "pytest && cat r.xml | grep x",
    "pytest && cat $(ls)",
    "pytest && cat <<EOF\na\nEOF",
    "pytest # && cat r.xml",
    "pytest && cat 'r.xml",
    "pytest && && cat r.xml",
    "",
)


@pytest.mark.parametrize(("command", "script"), FOUND.items())
def test_collectors_behind_a_failure_are_found_with_their_place(command: str, script: str) -> None:
    assert collector_of(command) == script


@pytest.mark.parametrize("command", LEFT_ALONE)
def test_what_is_no_plain_list_is_left_alone(command: str) -> None:
    assert not collector_of(command)


def test_the_script_prints_what_the_failure_kept_back(tmp_path: Path) -> None:
    command = "mkdir sub && cd sub && echo x > 'o 1' && false && cat 'o 1'"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False).stdout == b""
    done = subprocess.run(["sh", "-c", collector_of(command)], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"x\n"


@given(st.text(max_size=80))
def test_no_command_is_an_error(command: str) -> None:
    assert isinstance(collector_of(command), str)
