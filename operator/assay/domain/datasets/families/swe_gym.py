"""SWE-Gym: SWE-bench's columns with lists; commands and parsers are tables of its harness, not of a row."""

from __future__ import annotations

from dataclasses import replace

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row
from assay.domain.datasets.families.swe_bench import COMMON, common
from assay.domain.datasets.family import Draft, Family


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; commands and parser come from the user's recipe."""
    said = common(row)
    return replace(said, language="python", image=images.swe_gym(said.id), usual_workdir="/testbed")


FAMILY = Family(
    name="swe-gym",
    title="SWE-Gym",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "test_patch", "FAIL_TO_PASS", "version"}),
    marked=False,
    columns=COMMON,
    profile="swebench-v4",
    draft_of=draft_of,
)
