"""``assay export``: valid tasks or all, bundled ones by their digest, and what cannot be written told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.cli.main import app
from assay.cli.stored import Reader
from assay.domain.datasets.digests import document_of
from assay.kube.client import TASK_VALIDATIONS, Kind
from assay.store.artifacts import Store
from builders import make_manifest


class Source(Reader):
    """Objects, and the store that their statuses name."""

    def __init__(self, store: Store, objects: list[dict[str, Any]]) -> None:
        self._store, self._objects = store, objects

    async def objects(self, kind: Kind = TASK_VALIDATIONS, selector: str = "") -> AsyncIterator[dict[str, Any]]:
        assert (kind, selector) == (TASK_VALIDATIONS, "")
        for raw in self._objects:
            yield raw

    async def artifact(self, artifact: api.Artifact) -> bytes:
        return self._store.get(artifact.sha256)

    async def document(self, digest: str) -> bytes:
        return self._store.get(digest)


def judged(store: Store, name: str, verdict: str, *, bundled: bool = False, target: str = "t::new") -> dict[str, Any]:
    """An object with a verdict and its report."""
    raw = make_manifest(name, task={"id": name})
    if bundled:
        task = BundledTask.model_validate(raw["spec"].pop("task"))
        digest = store.put(document_of(task)).sha256
        raw["spec"]["taskFrom"] = {"dataset": "acorn/tasks", "id": name, "digest": digest}
    report = store.put(json.dumps({"failToPass": [target], "passToPass": ["t::old"]}).encode())
    named = {"uri": report.uri, "sha256": report.sha256, "bytes": report.bytes}
    return raw | {"status": {"phase": "Complete", "verdict": verdict, "reason": "Because", "report": named}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}/store")


def export(monkeypatch: pytest.MonkeyPatch, source: Source, *options: str) -> Result:
    @contextlib.asynccontextmanager
    async def opened(_namespace: str, _service: str) -> AsyncIterator[Source]:
        yield source

    monkeypatch.setattr("assay.cli.export.reader", opened)
    return CliRunner().invoke(app, ["export", *options])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_valid_tasks_are_written_with_what_the_runs_have_shown(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [judged(store, f"a-{number}", "Valid", bundled=number % 2 == 0) for number in range(20)]
    objects += [judged(store, "dropped", "Invalid"), make_manifest("waiting")]
    out = tmp_path / "tasks.jsonl"
    said = export(monkeypatch, Source(store, objects), "--out", str(out))
    assert said.exit_code == 0, said.output
    written = rows(out)
    assert [row["instance_id"] for row in written] == [f"a-{number}" for number in range(20)]
    assert all((row["FAIL_TO_PASS"], row["PASS_TO_PASS"]) == (["t::new"], ["t::old"]) for row in written)


def test_all_tasks_with_a_verdict_are_written_with_their_reasons(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [judged(store, "good", "Valid"), judged(store, "bad", "Invalid"), make_manifest("waiting")]
    out = tmp_path / "tasks.jsonl"
    assert export(monkeypatch, Source(store, objects), "--all", "--out", str(out)).exit_code == 0
    assert [(row["instance_id"], row["verdict"]) for row in rows(out)] == [("good", "Valid"), ("bad", "Invalid")]


def test_a_task_that_the_form_cannot_say_is_left_out_and_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [judged(store, "good", "Valid"), judged(store, "odd", "Valid", target="t\udcff")]
    out = tmp_path / "tasks.parquet"
    said = export(monkeypatch, Source(store, objects), "--out", str(out))
    assert said.exit_code == 0
    assert "left out: odd: FAIL_TO_PASS" in said.output
    assert "1 tasks, 1 left out" in said.output


def test_nothing_to_write_writes_no_file(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "tasks.parquet"
    said = export(monkeypatch, Source(store, [judged(store, "bad", "Invalid")]), "--out", str(out))
    assert said.exit_code == 1
    assert not out.exists()


def test_another_ending_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(monkeypatch, Source(store, []), "--out", str(tmp_path / "tasks.csv")).exit_code == 2
