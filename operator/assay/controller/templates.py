"""The job templates: data files beside the package, or in a directory of the user's."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

CHECKOUT = Path(__file__).parents[3] / "job_templates"


def read_template(directory: str, name: str) -> bytes:
    """Return a template's bytes: from ``directory`` if given, else the package's own, else the checkout's."""
    if directory:
        return (Path(directory) / name).read_bytes()
    packaged = files("assay") / "job_templates" / name
    return packaged.read_bytes() if packaged.is_file() else (CHECKOUT / name).read_bytes()
