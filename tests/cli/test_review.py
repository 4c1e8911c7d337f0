"""``assay review``: what waits for a decision, in files with their bundle and on the cluster, and how it is written."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from assay.api import v1alpha1 as api
from assay.cli.main import app
from assay.domain.screening import screened, statement_digest
from builders import make_manifest
from datasets_made import swe_bench_live_row


def review(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["review", *map(str, words)])


def inline(folder: Path) -> Path:
    """A file of inline tasks, among other objects."""
    task = {
        "statement": "f() is wrong.",
        "patch": "diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+secret_name\n",
    }
    documents = [
        {"kind": "AgentEpisode", "metadata": {"name": "other"}, "spec": {}},
        make_manifest("lantern-7", task=task | {"id": "acorn__lantern-7"}),
        make_manifest("lantern-8", task=task | {"id": "acorn__lantern-8", "statement": "größe"}),
    ]
    path = folder / "tasks.yaml"
    path.write_text(yaml.safe_dump_all(documents, allow_unicode=True))
    return path


def reviews_in(path: Path) -> list[dict[str, Any] | None]:
    return [said["spec"].get("statementReview") for said in yaml.safe_load_all(path.read_text())]


def test_the_next_task_is_shown_with_statement_tests_and_both_patches(tmp_path: Path) -> None:
    said = review("next", "--in", inline(tmp_path))
    assert said.exit_code == 0, said.output
    for word in ("acorn__lantern-7", "f() is wrong.", "+secret_name", "+    assert f() == 2", "FAIL TO PASS (0)"):
        assert word in said.stdout
    data = json.loads(review("next", "--in", tmp_path / "tasks.yaml", "-o", "json").stdout)
    assert (data["name"], data["statement"]) == ("lantern-7", "f() is wrong.")


def test_decisions_are_written_one_after_the_other_until_none_waits(tmp_path: Path) -> None:
    path = inline(tmp_path)
    before = list(yaml.safe_load_all(path.read_text()))
    assert review("accept", "lantern-7", "--in", path, "--reviewer", "ann", "--reason", "clear").exit_code == 0
    assert json.loads(review("next", "--in", path, "-o", "json").stdout)["name"] == "lantern-8"
    assert review("reject", "acorn__lantern-8", "--in", path).exit_code == 0
    none, first, second = reviews_in(path)
    assert none is None
    assert first is not None
    assert second is not None
    assert (first["decision"], first["reviewer"], first["reason"]) == ("Accepted", "ann", "clear")
    assert (second["decision"], second["originalDigest"]) == ("Rejected", statement_digest("größe"))
    assert "every statement has its decision" in review("next", "--in", path).stdout
    after = list(yaml.safe_load_all(path.read_text()))
    for document in after:
        document["spec"].pop("statementReview", None)
    assert after == before


def test_a_rewrite_that_leaks_is_refused_with_the_names_and_written_once_they_are_allowed(tmp_path: Path) -> None:
    path, text = inline(tmp_path), tmp_path / "clearer.md"
    text.write_text("Use secret_name.")
    said = review("rewrite", "lantern-7", "--in", path, "--statement", text)
    assert (said.exit_code, "secret_name" in said.output) == (1, True)
    assert reviews_in(path) == [None, None, None]
    assert review("rewrite", "lantern-7", "--in", path, "--statement", text, "--allow", "secret_name").exit_code == 0
    written = api.StatementReview.model_validate(reviews_in(path)[1])
    assert (written.decision, written.statement) == ("Rewritten", "Use secret_name.")
    assert screened(written, "f() is wrong.", required=True) is None


def test_a_task_of_a_bundle_is_shown_and_reviewed_in_the_imports_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(swe_bench_live_row(number)) + "\n" for number in range(3)))
    assert CliRunner().invoke(app, ["import", "rows.jsonl", "-o", "out"]).exit_code == 0
    (name,) = {json.loads(review("next", "--in", "out", "-o", "json").stdout)["id"]}
    assert name == swe_bench_live_row(0)["instance_id"]
    assert swe_bench_live_row(0)["patch"].splitlines()[-1] in review("next", "--in", "out").stdout.replace("\r", "")
    assert review("accept", name, "--in", "out").exit_code == 0
    assert json.loads(review("next", "--in", "out", "-o", "json").stdout)["id"] == swe_bench_live_row(1)["instance_id"]


@pytest.mark.parametrize("content", ["a: [", "kind: TaskValidation\nmetadata: {name: x}\nspec: {}\n"])
def test_files_that_hold_no_task_are_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "tasks.yaml").write_text(content)
    said = review("accept", "x", "--in", tmp_path / "tasks.yaml")
    assert (said.exit_code, said.output.startswith("assay review: ")) == (1, True)


class Source:
    """A cluster with one object."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw, self.changes = raw, list[Mapping[str, Any]]()

    async def objects(self) -> AsyncIterator[dict[str, Any]]:
        yield self.raw

    async def validation(self, name: str) -> api.TaskValidation:
        assert name == self.raw["metadata"]["name"]
        return api.TaskValidation.model_validate(self.raw)

    async def task(self, found: api.TaskValidation) -> api.Task:
        assert found.spec.task is not None
        return found.spec.task

    async def change(self, _found: api.TaskValidation, spec: Mapping[str, Any]) -> None:
        self.changes.append(spec)
        self.raw["spec"] |= spec


def test_on_the_cluster_the_object_gets_the_review_and_an_earlier_one_is_gone_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Source(make_manifest("lantern-7", task={"statement": "f() is wrong."}))

    @contextlib.asynccontextmanager
    async def opened(_namespace: str, _service: str) -> AsyncIterator[Source]:
        yield source

    monkeypatch.setattr("assay.cli.review.reader", opened)
    (tmp_path / "s.md").write_text("f() must return 2.")
    assert "lantern-7" in review("next").stdout
    assert review("rewrite", "lantern-7", "--statement", tmp_path / "s.md").exit_code == 0
    assert "every statement" in review("next").stdout
    assert review("accept", "lantern-7").exit_code == 0
    last = source.changes[-1]["statementReview"]
    assert (last["decision"], last["statement"], last["rewrittenDigest"]) == ("Accepted", "", "")
