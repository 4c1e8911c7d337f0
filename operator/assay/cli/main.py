"""The ``assay`` command: one module a subcommand, and only that of the command at hand is imported.

All of them together cost 35 MiB and half a second, which an import of many rows and a shell's user would pay for nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer

from assay import __version__

PLUGIN = "kubectl-assay"
COMPLETION = "_ASSAY_COMPLETE"
MODULES = MappingProxyType(
    {
        "operator": "operator",
        "gateway": "gateway",
        "goproxy": "goproxy",
        "import": "imports",
        "push": "push",
        "split": "split",
        "review": "review",
        "submit": "submit",
        "status": "status",
        "explain": "explain",
        "export": "export",
        "gc": "gc",
        "logs": "logs",
        "diff": "diff",
        "verify": "verify",
        "regrade": "regrade",
        "evaluate": "evaluate",
        "compare": "evaluate",
        "report": "report",
        "parse-log": "parse_log",
        "parsers": "parsers",
        "deny-list": "deny_list",
    }
)
"""First word of a command -> its module, in the order of ``--help``."""


def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Validate coding tasks and grade agents by execution on Kubernetes."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def app_of(modules: Iterable[str]) -> typer.Typer:
    """Return the command line with the commands of these modules."""
    made = typer.Typer(
        no_args_is_help=True, pretty_exceptions_enable=False, help="Verdicts on coding tasks, by execution."
    )
    made.callback(invoke_without_command=True)(root)
    for module in dict.fromkeys(modules):
        importlib.import_module(f"assay.cli.{module}").register(made)
    return made


def app_for(words: list[str]) -> typer.Typer:
    """Return the command line that can take these words: of one command, or of all where none is named."""
    module = MODULES.get(words[0]) if words and COMPLETION not in os.environ else None
    return app_of([module] if module else MODULES.values())


def __getattr__(name: str) -> Any:
    """Return ``app``, the whole command line, made when it is asked for."""
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = app_of(MODULES.values())
    return globals()["app"]


def main() -> None:
    """Run the command line, as ``assay`` or as the kubectl plugin that ``kubectl assay`` finds as ``kubectl-assay``."""
    app_for(sys.argv[1:])(prog_name="kubectl assay" if Path(sys.argv[0]).name == PLUGIN else None)
