"""``assay status --watch`` where nobody sees a terminal, and for programs."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import yaml
from typer.testing import CliRunner

from assay.cli.main import app

LOOKS = [
    Counter({("Running", "", ""): 2}),
    Counter({("Running", "", ""): 2}),
    Counter({("Running", "", ""): 1, ("Complete", "Valid", "Because"): 1}),
    Counter({("Complete", "Valid", "Because"): 2}),
]


@pytest.fixture(autouse=True)
def _batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks that come to their verdicts one after the other."""
    looks = iter(LOOKS)

    async def counted(_namespace: str, _selector: str) -> Counter[tuple[str, str, str]]:
        return next(looks)

    monkeypatch.setattr("assay.cli.status._counted", counted)
    monkeypatch.setattr("assay.cli.status.EVERY_SECONDS", 0.0)


def test_a_watch_that_is_written_to_a_file_tells_each_step_on_standard_error() -> None:
    said = CliRunner().invoke(app, ["status", "--watch"])
    assert said.exit_code == 0
    assert said.stderr.splitlines() == [f"{done} of 2 tasks have a verdict" for done in range(3)]
    assert "Because" in said.stdout


def test_a_watch_for_programs_is_a_line_of_json_for_each_change() -> None:
    said = CliRunner().invoke(app, ["status", "--watch", "-o", "json"])
    assert (said.exit_code, said.stderr) == (0, "")
    documents = [json.loads(line) for line in said.stdout.splitlines()]
    running, valid = (
        {"phase": phase, "verdict": verdict, "reason": reason}
        for phase, verdict, reason in (("Running", "", ""), ("Complete", "Valid", "Because"))
    )
    assert documents == [
        [running | {"tasks": 2}],
        [running | {"tasks": 1}, valid | {"tasks": 1}],
        [valid | {"tasks": 2}],
    ]


def test_a_watch_in_yaml_is_a_stream_of_documents() -> None:
    said = CliRunner().invoke(app, ["status", "--watch", "-o", "yaml"])
    assert [len(rows) for rows in yaml.safe_load_all(said.stdout)] == [1, 2, 1]
