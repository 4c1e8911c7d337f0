"""What is exported is imported again as the same task, in every form that has a way to say it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.datasets.exporting import ExportFile, unwritable
from assay.datasets.tables import table_at
from assay.domain.datasets import family_named, family_of, recipes_of, task_from_row
from assay.domain.datasets.digests import document_of
from assay.domain.datasets.exports import Form, Validated, row_of_validation
from assay.domain.datasets.family import Family
from assay.domain.datasets.rows import RowTask
from assay.domain.task import Refusal
from builders import make_manifest
from datasets_made import MADE

DIGEST = "registry.test/acorn/lantern@sha256:" + "d" * 64


def tasks_of(name: str) -> list[BundledTask]:
    """The tasks of a made set."""
    family = family_named(name)
    assert isinstance(family, Family)
    made = MADE[name]
    read = [task_from_row(row.values, family, recipes_of(made.recipes)) for row in made.rows]
    return [row.task for row in read if isinstance(row, RowTask)]


def validated(task: api.Task, **status: Any) -> Validated:
    """The task, found valid, with its own lists as what the runs have shown."""
    manifest = make_manifest() | {
        "status": {"verdict": "Valid", "reason": "TestsBehaveAsDeclared", "image": {"digest": DIGEST}, **status}
    }
    manifest["spec"]["provenance"] = {"dataset": "acorn/tasks", "revision": "r1", "row": 7, "rowDigest": "0" * 64}
    report = {
        "failToPass": list(task.tests.fail_to_pass),
        "passToPass": list(task.tests.pass_to_pass),
        "flaky": {"t::flaky": "patched 1/2 passed"},
        "unstable": ["t::at 12:00"],
        "excluded": {"t::old": "fails in every run"},
        "newTargets": None,
    }
    return Validated(found=api.TaskValidation.model_validate(manifest), task=task, report=report)


def exported(tasks: list[BundledTask], form: Form, path: Path) -> list[BundledTask]:
    """Export the tasks to a file; return those that were written."""
    written = []
    with ExportFile(path, form) as file:
        for task in tasks:
            row = row_of_validation(validated(task), form)
            if isinstance(row, Refusal):
                continue
            assert unwritable(row) == ""
            file.add(row)
            written.append(task)
    return written


def imported(path: Path) -> list[BundledTask]:
    """Read a file as an import does."""
    table = table_at(path)
    family = family_of(table.columns())
    assert isinstance(family, Family), family
    read = [task_from_row(row.values, family) for row in table.rows(frozenset(family.columns))]
    assert all(isinstance(row, RowTask) for row in read), [row for row in read if isinstance(row, Refusal)]
    return [row.task for row in read if isinstance(row, RowTask)]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@pytest.mark.parametrize("family", [*MADE])
def test_a_task_of_any_family_comes_back_byte_for_byte_in_our_own_form(
    family: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"tasks{suffix}"
    written = exported(tasks_of(family), Form.ASSAY, path)
    assert len(written) >= 20
    assert [document_of(task) for task in imported(path)] == [document_of(task) for task in written]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_tasks_of_swe_rebench_v2_come_back_byte_for_byte_in_its_form(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"tasks{suffix}"
    written = exported(tasks_of("swe-rebench-v2"), Form.SWE_REBENCH_V2, path)
    assert len(written) >= 20
    assert [document_of(task) for task in imported(path)] == [document_of(task) for task in written]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_tasks_of_swe_bench_come_back_with_their_patches_tests_and_parser(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"tasks{suffix}"
    written = exported(tasks_of("swe-bench"), Form.SWE_BENCH, path)
    assert len(written) >= 20
    back = imported(path)
    same = ("id", "repo", "base_commit", "image", "language", "statement", "patch", "test_patch", "workdir")
    for before, after in zip(written, back, strict=True):
        assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
        assert after.tests.fail_to_pass == before.tests.fail_to_pass
        assert after.tests.pass_to_pass == before.tests.pass_to_pass
        assert after.tests.parser == before.tests.parser


def test_the_second_export_in_swe_benchs_form_is_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    exported(tasks_of("swe-bench"), Form.SWE_BENCH, first)
    exported(imported(first), Form.SWE_BENCH, second)
    assert second.read_bytes() == first.read_bytes()


def test_a_row_tells_the_evidence_and_where_it_came_from() -> None:
    row = row_of_validation(validated(tasks_of("nemotron")[0]), Form.ASSAY)
    assert isinstance(row, dict)
    assert row["image_digest"] == DIGEST
    assert (row["verdict"], row["reason"], row["profile"]) == ("Valid", "TestsBehaveAsDeclared", "strict")
    assert row["flaky"] == [{"name": "t::flaky", "why": "patched 1/2 passed"}]
    assert row["excluded"] == [{"name": "t::old", "why": "fails in every run"}]
    assert (row["dataset"], row["dataset_revision"], row["dataset_row"]) == ("acorn/tasks", "r1", 7)


def test_lists_are_those_of_the_runs_not_the_declared_ones() -> None:
    said = validated(tasks_of("nemotron")[0])
    shown = Validated(found=said.found, task=said.task, report={"failToPass": ["shown"], "passToPass": []})
    for form, wanted in ((Form.ASSAY, ["shown"]), (Form.SWE_BENCH, json.dumps(["shown"]))):
        row = row_of_validation(shown, form)
        assert isinstance(row, dict)
        assert row["FAIL_TO_PASS"] == wanted


def test_a_task_that_works_elsewhere_has_no_row_of_swe_rebench_v2() -> None:
    refusal = row_of_validation(validated(tasks_of("swe-bench")[0]), Form.SWE_REBENCH_V2)
    assert isinstance(refusal, Refusal)
    assert refusal.field == "workdir"


@pytest.mark.parametrize("form", [Form.SWE_BENCH, Form.SWE_REBENCH_V2])
def test_a_patch_that_is_no_text_has_no_row_in_a_form_of_text(form: Form) -> None:
    task = tasks_of("swe-rebench-v2")[0].model_copy(update={"patch": None, "patch_base64": "/////w=="})
    refusal = row_of_validation(validated(task), form)
    assert isinstance(refusal, Refusal)
    assert refusal.field == "patch"


def test_a_patch_that_is_no_text_comes_back_in_our_own_form(tmp_path: Path) -> None:
    task = tasks_of("swe-rebench-v2")[0]
    odd = (
        (task.patch or "")
        .replace(" def f", " # \udcff\n def f")
        .replace("-1,2 +1,2", "-1,3 +1,3")
        .encode("utf-8", "surrogateescape")
    )
    task = task.model_copy(update={"patch": None, "patch_base64": base64.b64encode(odd).decode()})
    assert b"\xff" in odd
    path = tmp_path / "tasks.parquet"
    exported([task], Form.ASSAY, path)
    assert [document_of(said) for said in imported(path)] == [document_of(task)]


def test_a_name_that_is_no_text_is_written_as_json_lines_alone() -> None:
    said = validated(tasks_of("nemotron")[0])
    row = row_of_validation(Validated(found=said.found, task=said.task, report={"failToPass": ["t\udcff"]}), Form.ASSAY)
    assert isinstance(row, dict)
    assert unwritable(row) == "FAIL_TO_PASS"


def broken_export(path: Path) -> None:
    """Write many rows, then fail."""
    with ExportFile(path, Form.ASSAY) as file:
        for _ in range(1000):
            file.add({"instance_id": "a"})
        raise RuntimeError


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        broken_export(tmp_path / "tasks.jsonl")
    assert list(tmp_path.iterdir()) == []
