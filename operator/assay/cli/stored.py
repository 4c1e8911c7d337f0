"""What commands read of the cluster: objects, and the artifacts that their status names, checked by hash."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

import typer

from assay.api import v1alpha1 as api
from assay.domain.datasets.digests import task_of_document
from assay.domain.task import Refusal
from assay.kube.client import TASK_VALIDATIONS, ApiError, Client, Kind
from assay.store.artifacts import Store

Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the objects.")]
Service = Annotated[str, typer.Option("--service", help="Namespace and name of the operator's Service.")]
DEFAULT_NAMESPACE = "assay-runs"
DEFAULT_SERVICE = "assay-system/assay-operator"


class StoredError(Exception):
    """An artifact is not what status says."""


class Reader:
    """Reads objects of one namespace and their artifacts, through the API server alone."""

    def __init__(self, client: Client, namespace: str, service: str) -> None:
        self._client = client
        self._namespace = namespace
        self._service = service

    async def objects(self, kind: Kind = TASK_VALIDATIONS, selector: str = "") -> AsyncIterator[dict[str, Any]]:
        """Iterate over all objects of a kind."""
        async for page in self._client.pages(kind, self._namespace, selector=selector):
            for raw in page:
                yield raw

    async def validation(self, name: str) -> api.TaskValidation:
        """Return one TaskValidation."""
        return api.TaskValidation.model_validate(await self._client.get(TASK_VALIDATIONS, self._namespace, name))

    async def change(self, found: api.TaskValidation, spec: Mapping[str, Any]) -> api.TaskValidation:
        """Merge into the spec of an object that is still as it was found, and return it as it is then."""
        patch = {"metadata": {"resourceVersion": found.metadata.resource_version}, "spec": spec}
        raw = await self._client.patch(TASK_VALIDATIONS, self._namespace, found.metadata.name, patch)
        return api.TaskValidation.model_validate(raw)

    async def task(self, found: api.TaskValidation) -> api.Task:
        """Return an object's task, inline or of a bundle.  ``LookupError`` when it has none that can be read."""
        if found.spec.task_from is None:
            if found.spec.task is None:
                raise LookupError(f"{found.metadata.name}: has neither task nor taskFrom")
            return found.spec.task
        task = task_of_document(await self.document(found.spec.task_from.digest))
        if isinstance(task, Refusal):
            raise LookupError(f"{found.metadata.name}: {task}")  # noqa: TRY004 - of the store
        return task

    async def artifact(self, artifact: api.Artifact) -> bytes:
        """Return an artifact's bytes; ``StoredError`` when they are others than status says."""
        namespace, _, name = self._service.partition("/")
        content = await self._client.service(namespace, name, port="http", path=f"artifacts/{artifact.sha256}")
        digest = hashlib.sha256(content).hexdigest()
        if digest != artifact.sha256 or len(content) != artifact.bytes:
            raise StoredError(
                f"status says SHA-256 {artifact.sha256} and {artifact.bytes} bytes,"
                f" the store gave {digest} and {len(content)} bytes"
            )
        return content

    async def document(self, digest: str) -> bytes:
        """Return a bundled task's document; ``StoredError`` when the store gives other bytes than its hash says."""
        namespace, _, name = self._service.partition("/")
        content = await self._client.service(namespace, name, port="http", path=f"artifacts/{digest}")
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoredError(f"the store gave other bytes than the task's document {digest}")
        return content

    async def put(self, content: bytes, store: str = "") -> None:
        """Bring bytes into the artifact store: that of a URI, or the operator's."""
        if store:
            await asyncio.to_thread(Store(store).put, content)
            return
        namespace, _, name = self._service.partition("/")
        path = f"artifacts/{hashlib.sha256(content).hexdigest()}"
        await self._client.service(namespace, name, port="http", path=path, put=content)

    async def results(self, run: api.RunStatus) -> dict[str, str]:
        """Return a run's tests and their status words; empty for a run without results."""
        if run.results is None:
            return {}
        said: dict[str, Any] = json.loads(await self.artifact(run.results))
        return dict(said.get("results") or {})


@contextlib.asynccontextmanager
async def reader(namespace: str, service: str) -> AsyncIterator[Reader]:
    """Open a reader for the cluster of the environment."""
    client = await Client.connect()
    try:
        yield Reader(client, namespace, service)
    finally:
        await client.close()


@contextlib.contextmanager
def told(command: str) -> Any:
    """Turn what can go wrong outside into one line and exit status 1."""
    try:
        yield
    except (ApiError, StoredError, LookupError, OSError) as error:
        typer.echo(f"assay {command}: {error}", err=True)
        raise typer.Exit(1) from error


def run_named(status: api.TaskValidationStatus, name: str) -> api.RunStatus:
    """Return a run of a status; ``LookupError`` names those that there are."""
    for run in status.runs:
        if run.name == name:
            return run
    known = ", ".join(run.name for run in status.runs) or "none"
    raise LookupError(f"no run {name!r}; there are: {known}")
