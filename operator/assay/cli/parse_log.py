"""`assay parse-log`: the results that a dialect finds in logs, for people and for other programs."""

import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from assay.domain.logs import (
    MAX_LOG_CHARS,
    ParseFailed,
    Results,
    UnknownDialectError,
    is_dialect,
    nearest_dialects,
    parse_log,
)


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
    """Parse test logs of at most 512 MiB together and print test names with their statuses.

    Exits 1 when the dialect cannot read the log or it is too large, 2 when the dialect does not exist or a file cannot be
    read.

    Example: assay parse-log parse_log_pytest run.log --format table
    """
    try:
        results = _results(parser, files or [], stderr)
    except ParseFailed as failure:
        typer.echo(f"assay parse-log: {_shown(str(failure))}", err=True)
        raise typer.Exit(1) from failure
    except (UnknownDialectError, OSError) as failure:
        typer.echo(f"assay parse-log: {_shown(str(failure))}", err=True)
        raise typer.Exit(2) from failure
    sys.stdout.buffer.write(_json(results) if output_format is Format.JSON else _table(results))
    sys.stdout.buffer.flush()


def _results(parser: str, files: list[Path], stderr: Path | None) -> Results:
    if not is_dialect(parser):
        raise UnknownDialectError(parser, nearest_dialects(parser))
    return parse_log(parser, _text_of(parser, files, stderr))


def _text_of(parser: str, files: list[Path], stderr: Path | None) -> str:
    """The logs, one behind the other; raises `ParseFailed` before it holds more than the limit."""
    parts: list[bytes] = []
    left = MAX_LOG_CHARS
    for stream in _streams(files, stderr):
        with stream:
            parts.append(stream.read(left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise ParseFailed(parser, f"the logs have more than {MAX_LOG_CHARS} bytes")
    return b"".join(parts).decode("utf-8", "surrogateescape")


def _streams(files: list[Path], stderr: Path | None) -> Iterable[BinaryIO]:
    yield from (file.open("rb") for file in files) if files else [sys.stdin.buffer]
    if stderr:
        yield stderr.open("rb")


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
