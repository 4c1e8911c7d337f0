"""SWE-bench Pro: lists as Python literals; each task's script and parser are files of its harness, not of a row."""

from __future__ import annotations

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row, names, patch, required, text
from assay.domain.datasets.family import Draft, Family


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; commands and parser come from the user's recipe."""
    requirements = text(row, "requirements").strip()
    statement = text(row, "problem_statement")
    return Draft(
        id=required(row, "instance_id"),
        repo=required(row, "repo"),
        base_commit=required(row, "base_commit").lower(),
        language=text(row, "repo_language").lower(),
        image=images.swe_bench_pro(required(row, "dockerhub_tag")),
        usual_workdir="/app",
        statement=f"{statement}\n\nRequirements:\n{requirements}" if requirements else statement,
        interface=text(row, "interface"),
        patch=patch(row, "patch"),
        test_patch=patch(row, "test_patch"),
        fail_to_pass=names(row, "fail_to_pass", "FAIL_TO_PASS"),
        pass_to_pass=names(row, "pass_to_pass", "PASS_TO_PASS"),
        test_files=names(row, "selected_test_files_to_run"),
        columns={
            "image": "dockerhub_tag",
            "tests.failToPass": "fail_to_pass",
            "tests.passToPass": "pass_to_pass",
        },
    )


FAMILY = Family(
    name="swe-bench-pro",
    title="SWE-bench Pro",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "dockerhub_tag"}),
    columns=(
        "instance_id", "repo", "base_commit", "repo_language", "dockerhub_tag", "problem_statement", "requirements",
        "interface", "patch", "test_patch", "fail_to_pass", "FAIL_TO_PASS", "pass_to_pass", "PASS_TO_PASS",
        "selected_test_files_to_run",
    ),
    profile="pro",
    draft_of=draft_of,
)  # fmt: skip
