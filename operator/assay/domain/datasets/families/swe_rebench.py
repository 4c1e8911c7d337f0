"""SWE-rebench (first version) and SWE-bench-extra: SWE-bench's columns with an ``install_config``."""

from __future__ import annotations

from dataclasses import replace

from assay.domain.datasets.coercions import Row, commands, struct, text
from assay.domain.datasets.families.swe_bench import COMMON, common
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.scripts import CONDA, quoted

LOCALE = "export LANG=C.UTF-8 LC_ALL=C.UTF-8"
"""The family's harness sets it for every command; no row says so."""


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; the test command gets the test patch's files, as the family's harness does."""
    said = common(row)
    config = struct(row, "install_config")
    tests = commands("install_config.test_cmd", config.get("test_cmd"))
    files = quoted(said.test_files)
    return replace(
        said,
        language="python",
        image=text(row, "docker_image", "image_name"),
        usual_workdir="/testbed",
        commands=("\n".join([CONDA, LOCALE, *tests[:-1], f"{tests[-1]} {files}".rstrip()]),) if tests else (),
        parser=text(config, "log_parser"),
        columns={
            "image": "docker_image",
            "tests.commands": "install_config.test_cmd",
            "tests.parser": "install_config.log_parser",
        },
    )


FAMILY = Family(
    name="swe-rebench",
    title="SWE-rebench, SWE-bench-extra",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "install_config", "FAIL_TO_PASS"}),
    never=frozenset({"language", "interface"}),
    columns=(*COMMON, "install_config", "docker_image", "image_name"),
    profile="swebench-v4",
    draft_of=draft_of,
)
