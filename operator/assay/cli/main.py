"""The ``assay`` command: one module a subcommand, registered here."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from assay import __version__
from assay.cli import (
    deny_list,
    diff,
    evaluate,
    explain,
    export,
    gateway,
    gc,
    goproxy,
    imports,
    logs,
    operator,
    parse_log,
    parsers,
    push,
    regrade,
    report,
    review,
    split,
    status,
    submit,
    verify,
)

PLUGIN = "kubectl-assay"
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Verdicts on coding tasks, by execution.")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Validate coding tasks and grade agents by execution on Kubernetes."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


for module in (
    operator,
    gateway,
    goproxy,
    imports,
    push,
    split,
    review,
    submit,
    status,
    explain,
    export,
    gc,
    logs,
    diff,
    verify,
    regrade,
    evaluate,
    report,
    parse_log,
    parsers,
    deny_list,
):
    module.register(app)


def main() -> None:
    """Run the command line, as ``assay`` or as the kubectl plugin that ``kubectl assay`` finds as ``kubectl-assay``."""
    app(prog_name="kubectl assay" if Path(sys.argv[0]).name == PLUGIN else None)
