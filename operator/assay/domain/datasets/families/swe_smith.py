"""SWE-smith: the patch is the bug, its reverse the solution, the image holds the tree without the bug.

So the bug is the task's *test patch* (it makes the unpatched state) and its reverse the reference patch.
"""

from __future__ import annotations

from assay.domain.datasets.coercions import Row, names, patch, required, text
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.reversal import IrreversibleError, reversed_patch


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; commands and parser come from the user's recipe."""
    bug = patch(row, "patch")
    try:
        solution = reversed_patch(bug)
    except IrreversibleError as error:
        raise RowRefusedError("patch", f"cannot be reversed: {error}") from error
    return Draft(
        id=required(row, "instance_id"),
        repo=required(row, "repo"),
        image=text(row, "image_name"),
        usual_workdir="/testbed",
        statement=text(row, "problem_statement"),
        patch=solution,
        test_patch=bug,
        fail_to_pass=names(row, "FAIL_TO_PASS"),
        pass_to_pass=names(row, "PASS_TO_PASS"),
        columns={"image": "image_name", "testPatch": "patch"},
    )


FAMILY = Family(
    name="swe-smith",
    title="SWE-smith",
    signature=frozenset({"instance_id", "repo", "patch", "FAIL_TO_PASS", "image_name"}),
    never=frozenset({"base_commit", "test_patch"}),
    columns=("instance_id", "repo", "patch", "FAIL_TO_PASS", "PASS_TO_PASS", "image_name", "problem_statement"),
    profile="strict",
    draft_of=draft_of,
)
