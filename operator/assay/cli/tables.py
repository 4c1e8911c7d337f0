"""How commands print: aligned text for people, JSON or YAML for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml


class Output(StrEnum):
    """Form of what a command prints."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="What to print.")]


def aligned(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows under their heads, columns aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def printed(said: Mapping[str, Any] | Sequence[Any], output: Output) -> str:
    """Return data as JSON or YAML."""
    if output is Output.YAML:
        return yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
    return json.dumps(said, ensure_ascii=True, indent=2)


def streamed(said: Mapping[str, Any] | Sequence[Any], output: Output) -> str:
    """Return one of many documents: a line of JSON, or YAML behind ``---``, to be written as it is."""
    if output is Output.YAML:
        return f"---\n{printed(said, output)}"
    return json.dumps(said, ensure_ascii=True) + "\n"
