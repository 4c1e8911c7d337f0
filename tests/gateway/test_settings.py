"""The gateway's settings: what of an episode they may fix for all tasks, and what is each task's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.gateway.settings import load_settings


@pytest.mark.parametrize(
    ("field", "said"),
    [("goPolicy: {owned: [x.dev/a]}", "each task has its own, in spec.goPolicy"), ("task: {}", "there are limits")],
)
def test_what_is_a_tasks_own_cannot_be_said_for_all(tmp_path: Path, field: str, said: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"episode: {{network: GoProxy, {field}}}\n")
    with pytest.raises(ValueError, match=rf"episode\.{field.partition(':')[0]}: {said}"):
        load_settings(file)
