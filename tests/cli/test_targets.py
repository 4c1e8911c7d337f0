"""The tasks that ``assay evaluate --dataset`` takes: of a bundle, of manifests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from assay.api.bundles import BundledTask
from assay.cli.evaluate import INLINE_BYTES, _entry
from assay.cli.main import app
from assay.cli.targets import AmbiguousTaskError, Target, targets_in, valid_targets, with_gold
from assay.datasets.bundles import BundleError, BundleWriter, Document, read_bundle
from assay.domain.datasets.digests import digest_of, document_of
from assay.domain.predictions import Prediction
from assay.kube.client import TASK_VALIDATIONS, Client, Kind
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
    assert targets_in(tmp_path) == {name: Target(id=name, reference=reference, gold=PATCH, digest=digest)}


def test_a_bundle_with_other_bytes_than_its_index_says_is_an_error(tmp_path: Path) -> None:
    bundle(tmp_path)
    next(tmp_path.glob("*.parquet")).write_bytes(b"no parquet")
    with pytest.raises(BundleError):
        targets_in(tmp_path)


def test_manifests_are_found_in_a_folder_and_other_files_are_none(tmp_path: Path) -> None:
    manifest = make_manifest("lantern")
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump_all([manifest, {"kind": "ConfigMap"}]))
    task = manifest["spec"]["task"]
    assert targets_in(tmp_path) == {task["id"]: Target(id=task["id"], reference={"task": task}, gold=PATCH)}


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
    assert asyncio.run(with_gold(found, document)) == {
        name: Target(id=name, reference=reference, gold=PATCH, digest=digest)
    }


@pytest.mark.parametrize(("size", "key"), [(INLINE_BYTES, "patch"), (INLINE_BYTES + 1, "digest")])
def test_a_patch_that_is_too_large_for_its_object_is_named_by_its_hash(size: int, key: str) -> None:
    target = Target(id="t", reference={"validation": "v"}, gold=None)
    entry = _entry(Prediction(id="t", patch="x" * size, model="m"), target, "run", "strict", "Binary", "n")
    assert key in entry.manifest["spec"]["submission"]
    assert len(entry.stored) == (size if key == "digest" else 0)


def test_another_task_of_the_same_id_makes_another_episode() -> None:
    prediction = Prediction(id="t", patch="x", model="m")
    targets = [Target(id="t", reference={"validation": name}, gold=None) for name in ("one", "one", "other")]
    names = [_entry(prediction, target, "run", "strict", "Binary", "n").name for target in targets]
    assert names[0] == names[1] != names[2]


def test_two_manifests_of_one_task_are_refused_with_both_their_names_unless_they_are_the_same(tmp_path: Path) -> None:
    one, same, other = (make_manifest(name) for name in ("one", "same", "other"))
    file = tmp_path / "tasks.yaml"
    file.write_text(yaml.safe_dump_all([one, same]))
    assert len(targets_in(file)) == 1
    other["spec"]["task"]["statement"] = "another"
    file.write_text(yaml.safe_dump_all([one, same, other]))
    with pytest.raises(AmbiguousTaskError, match=r"^one \(.*\) and other \(.*\) are both of task acorn__lantern-7: "):
        targets_in(file)


def test_a_manifest_without_a_task_is_refused_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump(make_manifest("empty") | {"spec": {}}))
    with pytest.raises(LookupError, match=r"document 0.*neither task nor taskFrom"):
        targets_in(tmp_path)


class Listed(Client):
    """A namespace of TaskValidations of one task, each with its verdict and its label ``batch``."""

    def __init__(self, **batches: tuple[str, str]) -> None:
        self._listed = {
            name: make_manifest(name) | {"status": {"verdict": verdict}, "batch": batch}
            for name, (verdict, batch) in batches.items()
        }

    async def pages(
        self, kind: Kind, _namespace: str, *, selector: str = "", size: int = 100
    ) -> AsyncIterator[list[Any]]:
        assert kind is TASK_VALIDATIONS
        yield [raw for raw in self._listed.values() if not selector or selector == f"batch={raw['batch']}"]


def test_two_valid_objects_of_one_task_are_refused_with_both_their_names_unless_a_selector_picks_one() -> None:
    client = Listed(early=("Valid", "a"), late=("Valid", "b"), wrong=("Invalid", "b"))
    with pytest.raises(AmbiguousTaskError, match=r"^early and late are both of task acorn__lantern-7: .*--selector"):
        asyncio.run(valid_targets(client, "n"))
    (found,) = asyncio.run(valid_targets(client, "n", "batch=b")).values()
    assert found.reference == {"validation": "late"}


def test_a_selector_has_no_say_over_files() -> None:
    said = CliRunner().invoke(app, ["evaluate", "gold", "--dataset", "tasks", "-l", "batch=b"])
    assert said.exit_code == 2
    assert "--selector" in said.stderr
    assert "--dataset" in said.stderr


@pytest.mark.parametrize(("option", "word"), [("--profile", "nonsense"), ("--reward", "Foo")])
def test_rules_that_there_are_not_are_refused_before_anything_is_asked(option: str, word: str) -> None:
    said = CliRunner().invoke(app, ["evaluate", "no-such-file.jsonl", option, word])
    assert said.exit_code == 2
    assert word in said.output
