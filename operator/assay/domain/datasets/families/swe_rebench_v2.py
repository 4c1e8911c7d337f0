"""SWE-rebench V2 (and its set of pull requests): many languages, image and commands in the row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row, commands, found, once, struct, text
from assay.domain.datasets.families.swe_bench import COMMON, common
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.datasets.scripts import collecting

LABELS = re.compile(r"(A|B[0-9]{1,2})(\|(A|B[0-9]{1,2}))*")
"""Labels of a row's quality: A is solvable, B1 to B11 are faults; several are joined by a bar."""


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; each item of ``test_cmd`` is a command, with reports printed in any case."""
    said = common(row)
    config = struct(row, "install_config")
    quality, difficulty, notes = _labels(row)
    return replace(
        said,
        language=text(row, "language").lower(),
        image=images.swe_rebench_v2(text(row, "image_name")),
        usual_workdir=f"/{said.repo.rpartition('/')[2]}",
        interface=text(row, "interface"),
        commands=tuple(map(collecting, commands("install_config.test_cmd", config.get("test_cmd")))),
        parser=_parser(config),
        quality=quality,
        difficulty=difficulty,
        notes=notes,
        columns={
            "image": "image_name",
            "tests.commands": "install_config.test_cmd",
            "tests.parser": "install_config.log_parser",
        },
    )


def _parser(config: Mapping[str, object]) -> str:
    """Return the parser's name; of a list of one its only item."""
    column, value = found(config, "log_parser", "log_parsers")
    listed = once(commands(f"install_config.{column}", value))
    if len(listed) > 1:
        raise RowRefusedError(f"install_config.{column}", f"names {len(listed)} parsers: {', '.join(listed)}")
    return listed[0] if listed else ""


def _labels(row: Row) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return quality labels, difficulty, and a note when a label is none that the family knows."""
    judged = struct(row, "meta").get("llm_metadata")
    if isinstance(judged, list):
        judged = judged[0] if judged else {}
    judged = struct({"meta.llm_metadata": judged}, "meta.llm_metadata")
    code = text(judged, "code").replace(" ", "")
    if code and not LABELS.fullmatch(code):
        return (), text(judged, "difficulty"), (f"the quality label {code[:40]!r} has no known form",)
    return tuple(code.split("|")) if code else (), text(judged, "difficulty"), ()


FAMILY = Family(
    name="swe-rebench-v2",
    title="SWE-rebench V2, SWE-rebench-V2-PRs",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch", "install_config", "image_name", "language"}),
    columns=(*COMMON, "language", "image_name", "interface", "install_config", "meta"),
    profile="rebench-v2",
    draft_of=draft_of,
)
