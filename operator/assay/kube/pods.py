"""Make the pods and Secrets of an object, idempotently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.domain.manifests import Manifest
from assay.kube.client import PODS, SECRETS, ApiError, Client

EXISTS = "AlreadyExists"
"""The reason of a creation that changed nothing; 409 alone may also be a quota's conflict: try again."""


class ForeignObjectError(Exception):
    """An object of the name exists and belongs to somebody else; nothing was changed."""


async def ensure_secrets(client: Client, secrets: Sequence[Manifest]) -> None:
    """Create the Secrets that are not there yet; their names are derived from the owner and what they hold."""
    for secret in secrets:
        try:
            await client.create(SECRETS, secret["metadata"]["namespace"], secret)
        except ApiError as error:
            if error.reason != EXISTS:
                raise


async def ensure_pod(client: Client, pod: Manifest) -> Mapping[str, Any]:
    """Create a pod, or return the one of the name that an earlier pass made."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    try:
        return await client.create(PODS, namespace, pod)
    except ApiError as error:
        if error.reason != EXISTS:
            raise
    present = await client.get(PODS, namespace, name)
    wanted = pod["metadata"]["ownerReferences"][0]["uid"]
    owners = [owner["uid"] for owner in present["metadata"].get("ownerReferences") or ()]
    if wanted not in owners:
        raise ForeignObjectError(f"pods {namespace}/{name} exists and is not owned by {wanted}")
    return present
