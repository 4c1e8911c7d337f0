"""`assay parse-log`: the results that a dialect finds in logs, for people and for other programs."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.domain.logs import ParseFailed, Results, UnknownDialectError, parse_log


class Format(StrEnum):
    """How results are printed."""

    JSON = "json"
    TABLE = "table"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("parse-log")(print_results)


def print_results(
    parser: Annotated[str, typer.Argument(help="Name of the dialect; `assay parsers` lists them.", metavar="PARSER")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Logs, read one after the other; standard input without any.", metavar="[FILE]..."),
    ] = None,
    stderr: Annotated[Path | None, typer.Option(help="A log of standard error, read after all others.")] = None,
    output_format: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.JSON,
) -> None:
    """Parse test logs and print test names with their statuses.

    Exits 1 when the dialect cannot read the log, 2 when it does not exist or a file cannot be read.
    """
    try:
        results = parse_log(parser, _text_of([*(files or ()), *([stderr] if stderr else ())]))
    except ParseFailed as failure:
        typer.echo(f"assay parse-log: {_shown(str(failure))}", err=True)
        raise typer.Exit(1) from failure
    except (UnknownDialectError, OSError) as failure:
        typer.echo(f"assay parse-log: {_shown(str(failure))}", err=True)
        raise typer.Exit(2) from failure
    sys.stdout.buffer.write(_json(results) if output_format is Format.JSON else _table(results))
    sys.stdout.buffer.flush()


def _text_of(files: list[Path]) -> str:
    parts = [file.read_bytes() for file in files] if files else [sys.stdin.buffer.read()]
    return b"".join(parts).decode("utf-8", "surrogateescape")


def _json(results: Results) -> bytes:
    """One object, names sorted; a byte that is no UTF-8 is written as the JSON escape of its surrogate."""
    text = json.dumps(dict(sorted(results.items())), ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _table(results: Results) -> bytes:
    width = max(map(len, results.values()), default=0)
    lines = (f"{_shown(status):<{width}}  {_shown(name)}\n" for name, status in sorted(results.items()))
    return "".join(lines).encode()


def _shown(text: str) -> str:
    """The text with every character that could disturb a terminal written as an escape."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )
