"""Every cheat and failure of docs/cheats.md has tests, and they are there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from conftest import ROOT

PLACES = ("cluster", "chart", "gateway", "domain/test_submissions.py")


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """The tests that pytest finds, by file and name, and by file and the id of their case."""
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", *(f"tests/{place}" for place in PLACES))
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = set()
    for file, name, case in re.findall(r"^tests/(\S+?)::(\w+)(\[.*\])?$", said, re.MULTILINE):
        found |= {f"{file}::{name}", f"{file}{case}"}
    return found


@pytest.mark.parametrize(("heading", "count"), [("Cheats", 25), ("Failures", 18)])
def test_each_number_has_tests_and_each_test_is_there(collected: set[str], heading: str, count: int) -> None:
    section = (ROOT / "docs" / "cheats.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", section, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, count + 1))
    named = {number: re.findall(r"`([^`]+)`", tests) for number, tests in rows}
    assert [number for number, tests in named.items() if not tests] == []
    assert [test for tests in named.values() for test in tests if test not in collected] == []
