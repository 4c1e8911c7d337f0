"""``assay status --watch`` where nobody sees a terminal."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.testing import CliRunner

from assay.cli.main import app


def test_a_watch_that_is_written_to_a_file_tells_each_step_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(
        [
            Counter({("Running", "", ""): 2}),
            Counter({("Running", "", ""): 2}),
            Counter({("Running", "", ""): 1, ("Complete", "Valid", "Because"): 1}),
            Counter({("Complete", "Valid", "Because"): 2}),
        ]
    )

    async def counted(_namespace: str, _selector: str) -> Counter[tuple[str, str, str]]:
        return next(looks)

    monkeypatch.setattr("assay.cli.status._counted", counted)
    monkeypatch.setattr("assay.cli.status.EVERY_SECONDS", 0.0)
    said = CliRunner().invoke(app, ["status", "--watch"])
    assert said.exit_code == 0
    assert said.stderr.splitlines() == [f"{done} of 2 tasks have a verdict" for done in range(3)]
    assert "Because" in said.stdout
