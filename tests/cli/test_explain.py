"""``assay explain`` of what decides nothing, and is to be known."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from typer.testing import CliRunner

from assay.api import v1alpha1 as api
from assay.cli.main import app
from assay.cli.stored import Reader
from builders import make_manifest


class Source(Reader):
    """One object without evidence, whose image does not have the base commit."""

    def __init__(self) -> None:
        condition = {"type": "BaseCommitFound", "status": "False", "reason": "NotInImage", "message": "it is not there"}
        conditions = [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]
        status = {"verdict": "Valid", "conditions": conditions}
        self._found = api.TaskValidation.model_validate(make_manifest("lantern") | {"status": status})

    async def validation(self, name: str) -> api.TaskValidation:
        assert name == "lantern"
        return self._found


def test_a_base_commit_that_the_image_lacks_is_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def opened(_namespace: str, _service: str) -> AsyncIterator[Reader]:
        yield Source()

    monkeypatch.setattr("assay.cli.explain.reader", opened)
    said = CliRunner().invoke(app, ["explain", "lantern"])
    assert "remark: it is not there" in said.stdout.splitlines(), said.output
