"""The tasks that ``assay evaluate --dataset`` takes: of a bundle, of manifests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from assay.api.bundles import BundledTask
from assay.cli.evaluate import INLINE_BYTES, _entry
from assay.cli.targets import Target, targets_in, with_gold
from assay.datasets.bundles import BundleError, BundleWriter, Document, read_bundle
from assay.domain.datasets.digests import digest_of, document_of
from assay.domain.predictions import Prediction
from builders import PATCH, make_manifest


def bundle(folder: Path) -> str:
    """Write a bundle of one task; return its document's hash."""
    task = make_manifest("lantern")["spec"]["task"]
    content = document_of(BundledTask.model_validate(task))
    digest = digest_of(content)
    with BundleWriter(folder, dataset="lanterns", revision="1") as writer:
        writer.add(Document(id=task["id"], repo=task["repo"], digest=digest, content=content))
    return digest


def test_a_bundles_tasks_are_referred_to_by_hash_and_their_gold_is_at_hand(tmp_path: Path) -> None:
    digest = bundle(tmp_path)
    name = make_manifest("lantern")["spec"]["task"]["id"]
    reference = {"taskFrom": {"dataset": "lanterns", "id": name, "digest": digest}}
    assert targets_in(tmp_path) == {name: Target(reference=reference, gold=PATCH, digest=digest)}


def test_a_bundle_with_other_bytes_than_its_index_says_is_an_error(tmp_path: Path) -> None:
    bundle(tmp_path)
    next(tmp_path.glob("*.parquet")).write_bytes(b"no parquet")
    with pytest.raises(BundleError):
        targets_in(tmp_path)


def test_manifests_are_found_in_a_folder_and_other_files_are_none(tmp_path: Path) -> None:
    manifest = make_manifest("lantern")
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump_all([manifest, {"kind": "ConfigMap"}]))
    task = manifest["spec"]["task"]
    assert targets_in(tmp_path) == {task["id"]: Target(reference={"task": task}, gold=PATCH)}


def test_the_reference_patch_of_a_task_that_its_object_names_by_hash_is_read_from_its_document(tmp_path: Path) -> None:
    digest = bundle(tmp_path / "bundle")
    name = make_manifest("lantern")["spec"]["task"]["id"]
    reference = {"taskFrom": {"dataset": "lanterns", "id": name, "digest": digest}}
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump(make_manifest("lantern") | {"spec": reference}))
    contents = {document.digest: document.content for document in read_bundle(tmp_path / "bundle")}

    async def document(wanted: str) -> bytes:
        return contents[wanted]

    found = targets_in(tmp_path / "tasks.yaml")
    assert found[name].gold is None
    assert asyncio.run(with_gold(found, document)) == {name: Target(reference=reference, gold=PATCH, digest=digest)}


@pytest.mark.parametrize(("size", "key"), [(INLINE_BYTES, "patch"), (INLINE_BYTES + 1, "digest")])
def test_a_patch_that_is_too_large_for_its_object_is_named_by_its_hash(size: int, key: str) -> None:
    target = Target(reference={"validation": "v"}, gold=None)
    entry = _entry(Prediction(id="t", patch="x" * size, model="m"), target, "run", "strict", "Binary", "n")
    assert key in entry.manifest["spec"]["submission"]
    assert len(entry.stored) == (size if key == "digest" else 0)
