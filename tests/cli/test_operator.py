"""``assay operator`` says in one line why it cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli.main import app


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        ("store: file:///proc/no-such-place/store", 1, "the artifact store file:///proc/no-such-place/store cannot be"),
        ("store: nowhere://evidence", 1, "the artifact store nowhere://evidence cannot be used"),
        ("maxPods: -1", 2, "the settings cannot be used"),
    ],
)
def test_what_keeps_the_operator_from_starting_is_told_in_a_line(
    tmp_path: Path, said: str, code: int, told: str
) -> None:
    config = tmp_path / "operator.yaml"
    config.write_text(f"{said}\n")
    done = CliRunner().invoke(app, ["operator", "--config", str(config)])
    assert done.exit_code == code
    assert told in done.stderr
    assert "Traceback" not in done.stderr
