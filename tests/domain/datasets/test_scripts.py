"""Scripts of the data sets: what Assay does itself is left out, and reports are printed whatever the tests say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.domain.datasets.scripts import collecting, evaluation_tests, files_for_runner, with_collectors
from datasets_made import added_test, commit, eval_script


def sh(script: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(("bash", "-c", script), cwd=folder, text=True, capture_output=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("code", [0, 3])
def test_a_report_is_printed_and_the_exit_code_is_that_of_the_tests(tmp_path: Path, code: int) -> None:
    command = collecting(f"(echo FAILED a; exit {code}) > out.txt && cat out.txt")
    assert sh(command, tmp_path) == (code, "FAILED a\n")


@pytest.mark.parametrize("command", ["make && make test", "cd a && cat b | head", "pytest && cat $(ls)", "pytest -rA"])
def test_a_chain_that_does_not_end_with_a_report_stays_as_it_is(command: str) -> None:
    assert collecting(command) == command


def test_steps_share_one_shell(tmp_path: Path) -> None:
    script = with_collectors(["export WORD=seen", "echo $WORD > out.txt", "false"], ["cat out.txt"])
    assert sh(script, tmp_path) == (1, "seen\n")


def test_a_script_of_version_5_keeps_its_tests_alone() -> None:
    script = eval_script(commit(1), added_test(1))
    kept = evaluation_tests(script, commit(1))
    assert "git apply" not in kept
    assert "git checkout" not in kept
    assert "diff --git" not in kept
    assert kept.count(">>>>>") == 2
    assert "conda" in kept
    assert kept.index("pytest -rA tests") < kept.index("exit $assay_code")


@pytest.mark.parametrize("script", ["pytest -rA", ": '>>>>> Start Test Output'\npytest", "git apply - <<'E'\nx"])
def test_a_script_that_cannot_be_told_apart_stays_whole(script: str) -> None:
    assert evaluation_tests(script, commit(1)) == script


def test_files_that_hold_no_tests_are_not_handed_to_the_runner() -> None:
    assert files_for_runner(added_test(7).encode()) == ("tests/test_7.py",)
