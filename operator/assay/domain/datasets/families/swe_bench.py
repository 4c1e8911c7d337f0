"""SWE-bench: full, Lite, Verified, Multilingual; rows of version 5 carry image, script and parser themselves."""

from __future__ import annotations

from dataclasses import replace

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row, moment, names, patch, required, text
from assay.domain.datasets.families.swe_bench_runners import command_of, parser_of
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.datasets.scripts import evaluation_tests, files_for_runner

WITH_EXPECTED_FAILURES = {
    "parse_log_pytest": "swebench_pytest",
    "parse_log_pytest_options": "swebench_pytest_options",
    "parse_log_pytest_v2": "swebench_pytest_v2",
    "parse_log_matplotlib": "swebench_matplotlib",
}
"""SWE-bench's parsers that know a word more (XFAIL) than those of the same name in SWE-rebench."""
COMMON = (
    "instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement",
    "FAIL_TO_PASS", "PASS_TO_PASS", "created_at",
)  # fmt: skip
"""Columns that SWE-bench and all that follow it have."""
COLUMNS = (*COMMON, "version", "image", "eval_script", "log_parser", "eval_type", "difficulty", "language")


def common(row: Row) -> Draft:
    """Return what the columns say that all relatives of SWE-bench share."""
    base = required(row, "base_commit").lower()
    changed = patch(row, "test_patch")
    return Draft(
        id=required(row, "instance_id"),
        repo=required(row, "repo"),
        base_commit=base,
        statement=text(row, "problem_statement"),
        patch=patch(row, "patch"),
        test_patch=changed,
        fail_to_pass=names(row, "FAIL_TO_PASS", "fail_to_pass"),
        pass_to_pass=names(row, "PASS_TO_PASS", "pass_to_pass"),
        test_files=files_for_runner(changed),
        created=moment(row, "created_at"),
    )


def draft_of(row: Row) -> Draft:
    """Return the draft of a row of version 4 or 5."""
    said = common(row)
    if text(row, "eval_type") == "fail_only":
        raise RowRefusedError("eval_type", "is fail_only: no profile reads a log that shows failures alone")
    script = text(row, "eval_script")
    named = text(row, "log_parser")
    commands = (evaluation_tests(script, said.base_commit),) if script.strip() else ()
    return replace(
        said,
        image=text(row, "image") or images.swe_bench(said.id),
        usual_workdir="/testbed",
        language=text(row, "language").lower(),
        commands=commands or command_of(said.repo, text(row, "version"), said.test_files),
        parser=WITH_EXPECTED_FAILURES.get(named, named) or parser_of(said.repo),
        difficulty=text(row, "difficulty"),
        columns={"image": "image", "tests.commands": "eval_script", "tests.parser": "log_parser"},
    )


FAMILY = Family(
    name="swe-bench",
    title="SWE-bench (full, Lite, Verified, Multilingual)",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "test_patch", "FAIL_TO_PASS"}),
    never=frozenset({"install_config", "test_cmds", "test_cmd", "test_command", "image_name", "docker_image"}),
    marks=frozenset({"environment_setup_commit", "eval_script", "difficulty", "image_assets"}),
    columns=COLUMNS,
    profile="swebench-v5",
    draft_of=draft_of,
)
