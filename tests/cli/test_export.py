"""``assay export``: valid tasks or all, bundled ones by their digest, and what cannot be written told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet as pq
from typer.testing import CliRunner, Result

from assay.api import v1alpha1 as api
from assay.api.bundles import BundledTask
from assay.cli.main import app
from assay.cli.stored import Reader
from assay.datasets.bundles import read_bundle
from assay.domain.datasets.digests import document_of, task_of_document
from assay.domain.reviews import Reviewer, rewritten
from assay.domain.screening import screened
from assay.kube.client import TASK_VALIDATIONS, Kind
from assay.store.artifacts import Store
from builders import make_manifest
from datasets_made import MADE, swe_bench_live_row


class Source(Reader):
    """Objects, and the store that their statuses name."""

    def __init__(self, store: Store, objects: list[dict[str, Any]]) -> None:
        self._store, self._objects = store, objects

    async def objects(self, kind: Kind = TASK_VALIDATIONS, selector: str = "") -> AsyncIterator[dict[str, Any]]:
        assert (kind, selector) == (TASK_VALIDATIONS, "")
        for raw in self._objects:
            yield raw

    async def validation(self, name: str) -> api.TaskValidation:
        (raw,) = [raw for raw in self._objects if raw["metadata"]["name"] == name]
        return api.TaskValidation.model_validate(raw)

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


def test_tasks_that_are_there_and_are_all_left_out_are_not_called_absent(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [judged(store, "odd", "Valid", target="t\udcff")]
    said = export(monkeypatch, Source(store, objects), "--out", str(tmp_path / "tasks.parquet"))
    assert said.exit_code == 1
    assert "all of the 1 tasks were left out; nothing was written" in said.output


def test_another_ending_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(monkeypatch, Source(store, []), "--out", str(tmp_path / "tasks.csv")).exit_code == 2


def through_the_cluster(store: Store, folder: Path) -> list[dict[str, Any]]:
    """The objects of an import's directory, found valid with their declared lists, the last target being flaky."""
    for document in read_bundle(folder / "bundle"):
        store.put(document.content)
    objects = []
    for raw in yaml.safe_load_all((folder / "manifests-00000.yaml").read_text()):
        task = task_of_document(store.get(raw["spec"]["taskFrom"]["digest"]))
        assert isinstance(task, BundledTask)
        *shown, flaky = [*task.tests.fail_to_pass, "t::flaky"]
        said = {"failToPass": shown[:1], "passToPass": task.tests.pass_to_pass, "flaky": {flaky: "patched 1/2"}}
        report = store.put(json.dumps(said).encode())
        named = {"uri": report.uri, "sha256": report.sha256, "bytes": report.bytes}
        status = {"phase": "Complete", "verdict": "Valid", "reason": "Because", "report": named}
        objects.append(raw | {"status": status})
    return objects


def import_(file: str, folder: str, recipes: Mapping[str, Any], family: str) -> Path:
    Path("recipes.yaml").write_text(yaml.safe_dump(dict(recipes)))
    words = ["import", file, "--family", family, "--recipes", "recipes.yaml", "--dataset", "made", "--out", folder]
    assert CliRunner().invoke(app, words).exit_code == 0
    return Path(folder)


def documents_of(folder: Path) -> list[bytes]:
    return [document.content for document in read_bundle(folder / "bundle")]


@pytest.mark.parametrize("family", [*MADE])
def test_rows_keep_their_own_columns_and_the_second_round_trip_changes_nothing(
    family: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = MADE[family]
    own = [dict(row.values) for row in made.rows if row.refused is None]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    objects = through_the_cluster(store, import_("rows.jsonl", "first", made.recipes, family))
    said = export(monkeypatch, Source(store, objects), "--out", "clean.jsonl", "--rows", "rows.jsonl")
    assert said.exit_code == 0, said.output
    clean = rows(Path("clean.jsonl"))
    assert len(clean) == len(own)
    verified = {"FAIL_TO_PASS", "PASS_TO_PASS", "fail_to_pass", "pass_to_pass"}
    for before, after in zip(own, clean, strict=True):
        assert {name: after[name] for name in before if name not in verified} == {
            name: value for name, value in before.items() if name not in verified
        }
        assert [said["name"] for said in after["assay_flaky"]] == ["t::flaky"]
    second = through_the_cluster(store, import_("clean.jsonl", "second", made.recipes, family))
    again = export(monkeypatch, Source(store, second), "--out", "again.jsonl", "--rows", "clean.jsonl")
    assert again.exit_code == 0, again.output
    import_("again.jsonl", "third", made.recipes, family)
    assert documents_of(Path("third")) == documents_of(Path("second"))


def test_rows_of_parquet_keep_their_types_and_their_order(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = [swe_bench_live_row(number) | {"stars": number, "created_at": "2024-05-01"} for number in (5, 1, 3)]
    pq.write_table(pa.Table.from_pylist(own), "rows.parquet")
    objects = through_the_cluster(store, import_("rows.parquet", "out", {}, "swe-bench-live"))
    said = export(
        monkeypatch,
        Source(store, [*objects[::-1], judged(store, "x", "Valid")]),
        "--out",
        "c.parquet",
        "--rows",
        "rows.parquet",
    )
    assert (said.exit_code, "left out: x: does not say which row" in said.output) == (0, True), said.output
    before, after = pq.read_table("rows.parquet"), pq.read_table("c.parquet")
    assert after.schema.names[: len(before.schema.names)] == before.schema.names
    assert after.select(["instance_id", "stars", "patch"]) == before.select(["instance_id", "stars", "patch"])
    other = export(monkeypatch, Source(store, objects), "--out", "d.jsonl", "--rows", "c.parquet", "--as", "swe-bench")
    assert other.exit_code == 2


def test_a_task_whose_row_is_in_none_of_the_files_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, number in (("rows.jsonl", 1), ("others.jsonl", 2)):
        Path(name).write_text(json.dumps(swe_bench_live_row(number)) + "\n")
    objects = through_the_cluster(store, import_("rows.jsonl", "out", {}, "swe-bench-live"))
    said = export(monkeypatch, Source(store, objects), "--out", "c.jsonl", "--rows", "others.jsonl")
    assert (said.exit_code, "none of the files has its row" in said.output) == (1, True)


def test_a_rewritten_statement_and_a_side_are_exported_and_come_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw = judged(store, "good", "Valid")
    review = rewritten(
        api.Task.model_validate(raw["spec"]["task"]), "f() must return 2.", Reviewer(name="ann", reason="", time="")
    )
    assert isinstance(review, api.StatementReview)
    raw["spec"] |= {"split": "eval", "statementReview": api.to_wire(review)}
    assert export(monkeypatch, Source(store, [raw]), "--out", "c.jsonl").exit_code == 0
    folder = import_("c.jsonl", "out", {}, "assay")
    (spec,) = [said["spec"] for said in yaml.safe_load_all((folder / "manifests-00000.yaml").read_text())]
    (document,) = documents_of(folder)
    assert json.loads(document)["statement"] == "f() must return 2."
    assert spec["split"] == "eval"
    back = api.StatementReview.model_validate(spec["statementReview"])
    assert (back.decision, back.reviewer) == ("Rewritten", "ann")
    assert screened(back, "f() must return 2.", required=True) is None
