"""A client of the real API server, and a namespace of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
from kubernetes.aio import client as kubernetes_client
from kubernetes.aio.config import load_kube_config

from assay.kube.client import Client
from conftest import TestCluster


@pytest.fixture
def namespace(api_cluster: TestCluster) -> Iterator[str]:
    """A new namespace."""
    name = f"kube-{uuid.uuid4().hex[:12]}"
    api_cluster.kubectl("create", "namespace", name)
    yield name
    api_cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def client(api_cluster: TestCluster) -> AsyncIterator[Client]:
    """A client of the cluster."""
    configuration = kubernetes_client.Configuration()
    await load_kube_config(config_file=str(api_cluster.kubeconfig), client_configuration=configuration)
    made = Client(configuration)
    yield made
    await made.close()
