"""SWE-bench-Live: commands in three lists; a parser that is program text is refused, never run."""

from __future__ import annotations

from dataclasses import replace

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row, commands, found, text
from assay.domain.datasets.families.swe_bench import COMMON, common
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.scripts import with_collectors

PYTEST = "parse_log_pytest"
"""What the family's word ``pytest`` means."""


def draft_of(row: Row) -> Draft:
    """Return the draft of a row: rebuild, test and print steps share one shell, the exit code is that of the tests."""
    said = common(row)
    steps = {name: commands(name, row.get(name)) for name in ("rebuild_cmds", "test_cmds", "print_cmds")}
    column, _ = found(row, "log_parser", "parser")
    named = text(row, column)
    tests = with_collectors([*steps["rebuild_cmds"], *steps["test_cmds"]], steps["print_cmds"])
    return replace(
        said,
        language=text(row, "language").lower(),
        image=text(row, "docker_image", "image_name") or images.swe_bench_live(said.id),
        usual_workdir="/testbed",
        commands=(tests,) if steps["test_cmds"] else (),
        parser=PYTEST if named.strip() == "pytest" else named,
        columns={"image": "docker_image", "tests.commands": "test_cmds", "tests.parser": column},
    )


FAMILY = Family(
    name="swe-bench-live",
    title="SWE-bench-Live (base, MultiLang)",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "test_patch", "test_cmds"}),
    columns=(
        *COMMON, "language", "docker_image", "image_name", "rebuild_cmds", "test_cmds", "print_cmds", "log_parser", "parser",
    ),
    profile="live",
    draft_of=draft_of,
)  # fmt: skip
