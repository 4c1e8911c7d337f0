"""``assay gateway``: the episode gateway, to which agents and their frameworks talk (Open Reward Standard)."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.gateway.server import running, until_stopped
from assay.gateway.settings import Settings, load_settings
from assay.kube.client import Client


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gateway")(gateway)


def gateway(
    config: Annotated[Path | None, typer.Option(help="YAML file of settings; default: all defaults.")] = None,
) -> None:
    """Serve episodes to agents: tasks, sandboxes, tools, rewards.

    Example: assay gateway --config gateway.yaml
    """
    try:
        settings = load_settings(config)
        master = Path(settings.master_key_file).read_bytes().strip()
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    asyncio.run(_serve(settings, master))


async def _serve(settings: Settings, master: bytes) -> None:
    """Run until SIGTERM or SIGINT, or until the cluster can no longer be watched: then it is to be started again."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    client = await Client.connect()
    try:
        async with running(settings, client, master) as gateway:
            await until_stopped(gateway, stop)
    finally:
        await client.close()
