"""`assay parsers`: the table of log dialects."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from assay.domain.logs import DIALECTS
from assay.domain.logs.documentation import markdown, options_of, summary_of


class Format(StrEnum):
    """How the table is printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("parsers")(print_parsers)


def print_parsers(
    output_format: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.TABLE,
) -> None:
    """List the log dialects: name, family of grammar, language, options.

    Example: assay parsers --format json
    """
    match output_format:
        case Format.MARKDOWN:
            typer.echo(markdown(DIALECTS), nl=False)
        case Format.JSON:
            typer.echo(json.dumps(_rows(), ensure_ascii=False, indent=2))
        case Format.TABLE:
            for row in DIALECTS.values():
                typer.echo(f"{row.name:<34} {row.family:<14} {row.language:<11} {summary_of(row)}")


def _rows() -> list[dict[str, object]]:
    return [
        {
            "name": row.name,
            "family": row.family,
            "language": row.language,
            "aliasOf": row.alias_of,
            "options": options_of(row),
        }
        for row in DIALECTS.values()
    ]
