"""``assay regrade``: what other rules make of stored evidence, and the operator's word for it where it is to be written."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.cli.main import app
from assay.cli.stored import Reader
from assay.domain.datasets.digests import document_of
from assay.domain.documents import outcome_document
from assay.kube.client import TASK_VALIDATIONS, Kind
from assay.store.artifacts import Store
from builders import make_manifest, make_outcome

LOG = b"--- PASS: TestA (0.00s)\n"


class Source(Reader):
    """One object with its evidence, and an operator that answers a change of its rules, if it is ``awake``."""

    def __init__(self, store: Store, raw: dict[str, Any], *, awake: bool = True) -> None:
        self._store, self._raw, self._awake = store, raw, awake
        self.changes = list[Mapping[str, Any]]()

    async def objects(self, kind: Kind = TASK_VALIDATIONS, selector: str = "") -> AsyncIterator[dict[str, Any]]:
        assert (kind, selector) == (TASK_VALIDATIONS, "")
        yield self._raw

    async def validation(self, name: str) -> api.TaskValidation:
        assert name == self._raw["metadata"]["name"]
        return api.TaskValidation.model_validate(self._raw)

    async def artifact(self, artifact: api.Artifact) -> bytes:
        return self._store.get(artifact.sha256)

    async def document(self, digest: str) -> bytes:
        return self._store.get(digest)

    async def change(self, found: api.TaskValidation, spec: Mapping[str, Any]) -> api.TaskValidation:
        self.changes.append(spec)
        self._raw["metadata"]["generation"] = 2
        if self._awake:
            self._raw["status"] |= {"regrade": spec["regrade"], "reason": "ToldByTheOperator", "observedGeneration": 2}
        return await self.validation(found.metadata.name)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}/store")


def judged(store: Store) -> dict[str, Any]:
    """A task of a bundle, found Valid by a parser of pytest's logs, whose log is one of go test."""
    raw = make_manifest("lantern-7", f2p=["t"], runs=api.Runs(unpatched=1, patched=1))
    raw["metadata"] |= {"generation": 1, "resourceVersion": "5"}
    task = BundledTask.model_validate(raw["spec"].pop("task"))
    digest = store.put(document_of(task)).sha256
    raw["spec"]["taskFrom"] = {"dataset": "d", "id": task.id, "digest": digest}
    runs = []
    for name, words in (("unpatched-1", {"t": "FAILED"}), ("patched-1", {"t": "PASSED"})):
        outcome = replace(make_outcome(name, results=words), log=store.put(LOG))
        stored = store.put(outcome_document(outcome))
        named = [
            {"uri": said.uri, "sha256": said.sha256, "bytes": said.bytes} for said in (outcome.log, stored) if said
        ]
        runs.append({"name": name, "outcome": "Finished", "log": named[0], "results": named[1]})
    status = {"phase": "Complete", "verdict": "Valid", "reason": "TestsBehaveAsDeclared", "observedGeneration": 1}
    lists = {"failToPass": {"count": 1, "first": ["t"]}}
    return raw | {"status": status | {"runs": runs, "report": runs[0]["log"], "tests": lists}}


def regrade(monkeypatch: pytest.MonkeyPatch, source: Source, *words: str) -> Result:
    @contextlib.asynccontextmanager
    async def opened(_namespace: str, _service: str) -> AsyncIterator[Source]:
        yield source

    monkeypatch.setattr("assay.cli.regrade.reader", opened)
    monkeypatch.setattr("assay.cli.regrade.LOOK_SECONDS", 0.01)
    return CliRunner().invoke(app, ["regrade", "-o", "json", *words])


def test_a_task_of_a_bundle_is_judged_by_another_parser_and_nothing_is_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(store, judged(store))
    (said,) = json.loads(regrade(monkeypatch, source, "--parser", "parse_log_gotest").stdout)
    assert said["before"].startswith("Valid")
    assert said["after"].startswith("Invalid")
    assert (said["changed"], said["written"], source.changes) == (True, False, [])


def test_rules_that_change_nothing_are_not_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(store, judged(store))
    (said,) = json.loads(regrade(monkeypatch, source, "--profile", "swebench-v5", "--write").stdout)
    assert said["after"].startswith("Valid")
    assert (said["changed"], source.changes) == (False, [])


def test_what_is_written_is_the_operators_verdict(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(store, judged(store))
    (said,) = json.loads(regrade(monkeypatch, source, "--parser", "parse_log_gotest", "--write").stdout)
    assert source.changes == [{"regrade": {"profile": "", "parser": "parse_log_gotest"}}]
    assert (said["after"], said["written"]) == ("Valid ToldByTheOperator", True)


def test_an_operator_that_does_not_answer_is_told_and_exits_with_1(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(store, judged(store), awake=False)
    said = regrade(monkeypatch, source, "lantern-7", "--parser", "parse_log_gotest", "--write", "--wait", "1")
    assert (said.exit_code, "has not judged it again yet" in said.output) == (1, True)


@pytest.mark.parametrize("words", [("--profile", "lenient"), ("--parser", "no_such")])
def test_rules_that_there_are_not_are_refused(
    words: tuple[str, str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert regrade(monkeypatch, Source(store, judged(store)), *words).exit_code == 2
