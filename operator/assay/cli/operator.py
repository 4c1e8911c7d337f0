"""``assay operator``: run the controller."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import typer
from pydantic import ValidationError

from assay.controller.operator import run_operator
from assay.controller.settings import load_settings
from assay.store.artifacts import Store


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("operator")(operator)


def operator(config: Path | None = typer.Option(None, help="YAML file of settings.")) -> None:
    """Run the controller: watch TaskValidations, perform their runs, write their verdicts.

    Example: assay operator --config config.yaml
    """
    try:
        settings = load_settings(config)
    except (ValidationError, ValueError, OSError) as error:
        typer.echo(f"the settings cannot be used: {error}", err=True)
        raise typer.Exit(2) from error
    try:
        store = Store(settings.store)
    except (OSError, ValueError) as error:
        typer.echo(f"the artifact store {settings.store} cannot be used: {error}", err=True)
        raise typer.Exit(1) from error
    logging.basicConfig(
        level=settings.log_level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("kopf").setLevel(logging.WARNING)
    asyncio.run(run_operator(settings, store))
