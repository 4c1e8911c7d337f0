"""Bundles hold each document once, under the hash of its bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from assay.api.bundles import BundledTask
from assay.datasets import bundles
from assay.datasets.bundles import BundleError, BundleWriter, Document, read_bundle, read_index
from assay.domain.datasets import FAMILIES, RowTask, task_from_row
from assay.domain.datasets.digests import digest_of, document_of, task_of_document
from assay.domain.task import Refusal
from datasets_made import MADE


def documents() -> list[Document]:
    made = [task_from_row(row.values, FAMILIES["swe-bench-live"]) for row in MADE["swe-bench-live"].rows]
    contents = [(said.task, document_of(said.task)) for said in made if isinstance(said, RowTask)]
    return [
        Document(id=task.id, repo=task.repo, digest=digest_of(content), content=content) for task, content in contents
    ]


def write(folder: Path, *added: Document) -> None:
    with BundleWriter(folder, dataset="acorn/tasks", revision="r1") as bundle:
        for document in added:
            bundle.add(document)


def test_a_bundle_gives_back_what_was_put_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "GROUP_BYTES", 2_000)
    monkeypatch.setattr(bundles, "FILE_BYTES", 8_000)
    said = documents()
    write(tmp_path, *said, *said)
    assert list(read_bundle(tmp_path)) == said
    index = read_index(tmp_path)
    assert (index["dataset"], index["revision"], index["tasks"]) == ("acorn/tasks", "r1", len(said))
    assert len(index["files"]) > 1
    for file in index["files"]:
        assert bundles.file_digest(tmp_path / file["name"]) == file["sha256"]


def test_a_document_is_the_task_again() -> None:
    for document in documents():
        task = task_of_document(document.content)
        assert isinstance(task, BundledTask)
        assert document_of(task) == document.content


def test_a_document_that_is_no_task_is_refused_with_its_field() -> None:
    refusal = task_of_document(b'{"id": "a", "image": "b", "tests": {"commands": [], "parser": "p"}}')
    assert isinstance(refusal, Refusal)
    assert refusal.field == "tests.commands"
    assert isinstance(task_of_document(b"\x28\xb5"), Refusal)


def test_other_bytes_than_those_of_the_hash_are_an_error(tmp_path: Path) -> None:
    said = documents()[0]
    write(tmp_path, said)
    changed = {"digest": said.digest, "id": said.id, "repo": said.repo, "document": said.content + b" "}
    parquet.write_table(pa.Table.from_pylist([changed], schema=bundles.SCHEMA), tmp_path / "tasks-00000.parquet")
    with pytest.raises(BundleError, match="other bytes"):
        list(read_bundle(tmp_path))


def test_a_bundle_that_was_not_finished_is_none(tmp_path: Path) -> None:
    bundle = BundleWriter(tmp_path, dataset="a", revision="")
    bundle.add(documents()[0])
    with pytest.raises(BundleError):
        list(read_bundle(tmp_path))


def test_writing_again_leaves_nothing_of_the_bundle_before(tmp_path: Path) -> None:
    write(tmp_path, *documents())
    write(tmp_path, documents()[0])
    assert list(read_bundle(tmp_path)) == documents()[:1]
