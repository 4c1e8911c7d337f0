"""Every ``assay`` command that README, handbook and the chart's notes show is one that the program takes."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from assay.cli.main import app
from conftest import ROOT

ASSAY = typer.main.get_command(app)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "charts/assay/templates/NOTES.txt")
TEMPLATE = re.compile(r"\{\{.*?\}\}")
END_OF_COMMAND = re.compile(r"\s(?:&&|\||#|;)|(?<=\S);\s")


def shown(text: str) -> list[str]:
    """The commands of a page's code blocks and indented lines, each without what follows it on its line."""
    joined = TEMPLATE.sub("x", text).replace("\\\n", " ")
    starts = re.finditer(r"(?:^ *|&& |; |\| )(assay [a-z][^\n]*)", joined, re.MULTILINE)
    return [END_OF_COMMAND.split(found[1])[0].strip() for found in starts]


COMMANDS = [
    pytest.param(command, id=f"{path.name}: {command}") for path in PAGES for command in shown(path.read_text())
]


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_is_shown_has_the_options_that_it_is_shown_with(command: str) -> None:
    found: Any = ASSAY
    words = shlex.split(command)[1:]
    while groups := getattr(found, "commands", None):
        assert words[0] in groups, f"{command}: no command {words[0]}"
        found, words = groups[words[0]], words[1:]
    options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert given <= options | {"--help"}, command
