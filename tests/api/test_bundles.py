"""A bundle on a real API server: pushed through the Service's proxy, loaded by the operator, refused when it differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.api.bundles import BundledTask
from assay.datasets.bundles import BundleWriter, Document
from assay.domain.datasets.digests import digest_of, document_of
from assay.store.artifacts import Store
from builders import make_manifest
from conftest import TestCluster
from operating import NAMESPACE, Site, operating, serve_operator

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

SYSTEM = "bundles-system"
LINES = 100_000
PATCH = f"diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,{LINES} @@\n" + "".join(
    f"+line {number} of a large file, made to be quite large\n" for number in range(LINES)
)


def accepted(site: Site, name: str) -> tuple[str, str]:
    """Status and reason of the condition Accepted."""
    conditions = {condition.type: condition for condition in site.status(name).conditions}
    return (conditions["Accepted"].status, conditions["Accepted"].reason) if "Accepted" in conditions else ("", "")


def apply(site: Site, name: str, digest: str) -> None:
    """Apply an object that refers to a task."""
    manifest = make_manifest(name, namespace=NAMESPACE)
    del manifest["spec"]["task"]
    manifest["spec"]["taskFrom"] = {"dataset": "acorn/tasks", "id": "acorn__lantern-7", "digest": digest}
    manifest["spec"]["provenance"] = {"dataset": "acorn/tasks", "revision": "r1"}
    site.apply(manifest)


@pytest.fixture(scope="module")
def site(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with operating(api_cluster, tmp_path_factory.mktemp("site"), httpAddress="0.0.0.0") as site:
        api_cluster.make_namespace(SYSTEM)
        serve_operator(api_cluster, SYSTEM, site.operator.port)
        yield site
    api_cluster.kubectl("delete", "namespace", SYSTEM)


def document_with(patch: str, **fields: Any) -> Document:
    task = BundledTask.model_validate(make_manifest()["spec"]["task"] | {"patch": patch} | fields)
    content = document_of(task)
    return Document(id=task.id, repo=task.repo, digest=digest_of(content), content=content)


def bundle_of(folder: Path, *documents: Document) -> Path:
    with BundleWriter(folder, dataset="acorn/tasks", revision="r1") as bundle:
        for document in documents:
            bundle.add(document)
    return folder


def test_a_task_with_five_megabytes_of_patch_is_waited_for_pushed_and_run(site: Site, tmp_path: Path) -> None:
    large = document_with(PATCH)
    assert len(large.content) > 5_000_000
    bundle = bundle_of(tmp_path / "bundle", large)
    apply(site, "large", large.digest)
    site.until(lambda: accepted(site, "large") == ("Unknown", "TaskUnavailable"))
    assert site.status("large").verdict is None

    said, service = [], ("--service", f"{SYSTEM}/assay-operator")

    def pushed() -> bool:
        said.append(site.assay("push", str(bundle), *service))
        return said[-1].returncode == 0

    site.until(pushed)  # the Service's endpoint takes a moment
    again = site.assay("push", str(bundle), *service)
    assert (again.returncode, "1 there already" in again.stderr) == (0, True), again.stderr
    site.until(lambda: accepted(site, "large") == ("True", "TaskAccepted"))
    uid = site.cluster.kubectl("get", "tv", "large", "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}").stdout
    owned = ("get", "secrets", "-n", NAMESPACE, "-l", f"assay.dev/object={uid}", "-o", "name")
    site.until(lambda: len(site.cluster.kubectl(*owned).stdout.split()) >= 5)
    came = site.status("large").provenance
    assert came is not None
    assert (came.dataset, came.family, came.revision, came.row_digest) == ("acorn/tasks", "", "r1", "")


def test_a_task_whose_bytes_differ_is_malformed_with_the_digests_field(site: Site) -> None:
    right, other = document_with("", statement="right"), document_with("", statement="other")
    for document in (right, other):
        Store(site.store).put(document.content)
    paths = [site.folder / "store" / said.digest[:2] / f"{said.digest}.zst" for said in (right, other)]
    paths[0].write_bytes(paths[1].read_bytes())
    apply(site, "changed", right.digest)
    site.until(lambda: site.status("changed").phase == "Complete")
    status = site.status("changed")
    assert (status.verdict, status.reason) == ("Invalid", "MalformedTask")
    assert status.message.startswith("spec.taskFrom.digest: ")
    assert accepted(site, "changed") == ("False", "MalformedTask")
