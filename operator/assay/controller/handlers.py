"""kopf's part: three watches whose events become keys of the work queue, and the settings that keep kopf to that.

No handler changes an object, so kopf adds no finalizer and no annotation; nothing hangs when the operator is gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import kopf

from assay.api.v1alpha1 import GROUP, VERSION
from assay.controller.frame import NoDifferences, NoProgress
from assay.domain.manifests import LABEL_MANAGED, MANAGED_BY
from assay.kube.client import SERVICE_ACCOUNT

Seen = Callable[[str | None, Any], None]
"""Takes the event's type (None while listing) and the object's JSON."""


def registry_of(*, object_seen: Seen, pod_seen: Seen) -> kopf.OperatorRegistry:
    """Return the handlers: the watches of TaskValidations, AgentEpisodes and our pods."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(logger: Any, settings: kopf.OperatorSettings, **_: Any) -> kopf.ConnectionInfo | None:
        """Log in as ``assay.kube.client`` does: by the environment's kubeconfig, or else as the pod."""
        if "KUBECONFIG" not in os.environ and (SERVICE_ACCOUNT / "token").exists():
            return pod_login()
        return kopf.login_with_kubeconfig(logger=logger, settings=settings)

    @kopf.on.event(GROUP, VERSION, "taskvalidations", registry=registry)
    async def on_object(event: kopf.RawEvent, **_: Any) -> None:
        object_seen(event["type"], event["object"])

    @kopf.on.event(GROUP, VERSION, "agentepisodes", registry=registry)
    async def on_episode(event: kopf.RawEvent, **_: Any) -> None:
        object_seen(event["type"], event["object"])

    @kopf.on.event("", "v1", "pods", labels={LABEL_MANAGED: MANAGED_BY}, registry=registry)
    async def on_pod(event: kopf.RawEvent, **_: Any) -> None:
        pod_seen(event["type"], event["object"])

    return registry


def pod_login() -> kopf.ConnectionInfo:
    """Return the pod's own credentials, by the API server's address: kopf's takes its name, which needs DNS."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return kopf.ConnectionInfo(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        ca_path=str(SERVICE_ACCOUNT / "ca.crt"),
        scheme="Bearer",
        token=(SERVICE_ACCOUNT / "token").read_text().strip(),
    )


def frame_settings() -> kopf.OperatorSettings:
    """Return kopf's settings: no events, no memory of objects, no scanning, pages, server-side selection of pods."""
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = NoDifferences()
    settings.persistence.progress_storage = NoProgress()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.watching.chunk_size = 100
    settings.watching.server_timeout = 300
    settings.watching.label_selectors["pods"] = f"{LABEL_MANAGED}={MANAGED_BY}"
    settings.queueing.idle_timeout = 0.2
    settings.networking.request_timeout = 30
    return settings
