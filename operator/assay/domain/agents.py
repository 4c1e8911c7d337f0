"""An episode's own agent -> its pod and the Secret with its key: it reaches the gateway, and this one episode there."""

from __future__ import annotations

import base64
import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.manifests import (
    ANNOTATION_ATTEMPT,
    ANNOTATION_EPOCH,
    LABEL_MANAGED,
    LABEL_OBJECT,
    LABEL_RUN,
    MANAGED_BY,
    Manifest,
    Owner,
    owner_reference,
)
from assay.domain.plan import pod_name

AGENT_RUN = "agent"
KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """Where an agent finds its task: the gateway's URL, and the names that the gateway knows the task by."""

    url: str
    environment: str
    split: str
    task: str


def agent_of(  # noqa: PLR0913 - each argument is one source of the manifest
    agent: api.Agent,
    *,
    owner: Owner,
    place: AgentPlace,
    deadline: int,
    template: Mapping[str, Any],
    pull_secrets: tuple[str, ...] = (),
) -> Manifest:
    """Return the pod of an episode's agent, which lives for at most ``deadline`` seconds."""
    pod: Manifest = copy.deepcopy(dict(template))
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = pod_name(uid=owner.uid, epoch=owner.epoch, run=AGENT_RUN, attempt=1)
    metadata["namespace"] = owner.namespace
    metadata["labels"][LABEL_OBJECT] = owner.uid
    metadata["labels"][LABEL_RUN] = AGENT_RUN
    metadata["annotations"] = {ANNOTATION_ATTEMPT: "1", ANNOTATION_EPOCH: owner.epoch}
    metadata["ownerReferences"] = [owner_reference(owner)]
    spec["activeDeadlineSeconds"] = deadline
    if pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    container = spec["containers"][0]
    container["image"] = agent.image
    if agent.command:
        container["command"] = list(agent.command)
    container["env"] = [*_environment(place, owner), *({"name": one.name, "value": one.value} for one in agent.env)]
    amounts = {
        "cpu": agent.resources.cpu,
        "memory": agent.resources.memory,
        "ephemeral-storage": agent.resources.ephemeral_storage,
    }
    container["resources"] = {"limits": amounts, "requests": {"cpu": "50m", "memory": agent.resources.memory}}
    return pod


def agent_secret_of(owner: Owner, key: str) -> Manifest:
    """Return the Secret that holds an agent's key."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": _secret_name(owner),
            "namespace": owner.namespace,
            "labels": {LABEL_MANAGED: MANAGED_BY, LABEL_OBJECT: owner.uid},
            "ownerReferences": [owner_reference(owner)],
        },
        "immutable": True,
        "type": "Opaque",
        "data": {KEY: base64.b64encode(key.encode()).decode()},
    }


def _environment(place: AgentPlace, owner: Owner) -> list[Manifest]:
    """The names that Assay documents, and those that the two public clients read by themselves."""
    plain = {
        "ASSAY_URL": place.url,
        "ASSAY_ENVIRONMENT": place.environment,
        "ASSAY_SPLIT": place.split,
        "ASSAY_TASK": place.task,
        "OPENREWARD_SESSION_URL": place.url,
        "OPENREWARD_API_URL": place.url,
        "OPENREWARD_DISABLE_UPDATE_CHECK": "1",
    }
    secret = {"valueFrom": {"secretKeyRef": {"name": _secret_name(owner), "key": KEY}}}
    keys = ("ASSAY_API_KEY", "ORS_API_KEY", "OPENREWARD_API_KEY")
    return [
        *({"name": name, "value": value} for name, value in plain.items()),
        *({"name": name, **secret} for name in keys),
    ]


def _secret_name(owner: Owner) -> str:
    return f"assay-agent-{hashlib.sha256(f'{owner.uid}/{owner.epoch}'.encode()).hexdigest()[:24]}"
