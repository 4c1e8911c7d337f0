"""Sets whose rows name image, command and parser under any of the usual columns: SWE-Lego, OpenSWE, Nemotron and kin.

What such a set does beyond its columns is not published in a form that could be read, so a row says all or is refused.
"""

from __future__ import annotations

from dataclasses import replace

from assay.domain.datasets.coercions import Row, commands, found, text
from assay.domain.datasets.families.swe_bench import COMMON, common
from assay.domain.datasets.family import Draft, Family

IMAGES = ("image", "image_name", "docker_image")
COMMANDS = ("test_cmd", "test_cmds", "test_command", "test_commands")
PARSERS = ("log_parser", "parser")


def draft_of(row: Row) -> Draft:
    """Return the draft of a row that says everything itself."""
    image, _ = found(row, *IMAGES)
    column, value = found(row, *COMMANDS)
    parser, _ = found(row, *PARSERS)
    return replace(
        common(row),
        language=text(row, "language").lower(),
        image=text(row, image),
        workdir=text(row, "workdir"),
        interface=text(row, "interface"),
        commands=commands(column, value),
        parser=text(row, parser),
        columns={"image": image, "tests.commands": column, "tests.parser": parser},
    )


FAMILY = Family(
    name="named-columns",
    title="Any set with image, test command and parser in its rows",
    signature=frozenset({"instance_id", "repo", "base_commit", "patch"}),
    never=frozenset({"install_config"}),
    marks=frozenset(COMMANDS),
    columns=(*COMMON, "fail_to_pass", "pass_to_pass", "language", "interface", "workdir", *IMAGES, *COMMANDS, *PARSERS),
    profile="strict",
    draft_of=draft_of,
)
NEMOTRON = replace(FAMILY, name="nemotron", title="Nemotron's sets, where a row says everything itself", marked=False)
