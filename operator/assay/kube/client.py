"""The API server as a handful of verbs on raw JSON, over the official asynchronous client's transport.

The typed models of the client are not used: they cost several times the request itself.  A response that is not a
success is an ``ApiError`` with the server's reason; a broken connection is retried where repeating is harmless and is
an ``ApiError`` with status 0 otherwise.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import getproxies

import aiohttp
from kubernetes.aio import client as kubernetes_client
from kubernetes.aio import config as kubernetes_config
from prometheus_client import Counter

REQUESTS = Counter("assay_api_requests_total", "Requests to the API server.", ["verb", "resource", "code"])
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
RETRIED = frozenset({429, 500, 502, 503, 504})
TRIES = 5
SILENCE_SECONDS = 90.0
"""How long a watch may say nothing before its connection counts as broken: bookmarks come about once a minute."""
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
BYTES = "application/octet-stream"
FIELD_MANAGER = "assay"


class ApiError(Exception):
    """The API server refused a request, or could not be reached (status 0); nothing is known to have changed."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A resource type: where its objects live in the API."""

    prefix: str
    plural: str

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection or an object."""
        parts = [self.prefix]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/".join(parts)


PODS = Kind(prefix="/api/v1", plural="pods")
SECRETS = Kind(prefix="/api/v1", plural="secrets")
SERVICES = Kind(prefix="/api/v1", plural="services")
EVENTS = Kind(prefix="/api/v1", plural="events")
ENDPOINT_SLICES = Kind(prefix="/apis/discovery.k8s.io/v1", plural="endpointslices")
LEASES = Kind(prefix="/apis/coordination.k8s.io/v1", plural="leases")
NETWORK_POLICIES = Kind(prefix="/apis/networking.k8s.io/v1", plural="networkpolicies")
TASK_VALIDATIONS = Kind(prefix="/apis/assay.dev/v1alpha1", plural="taskvalidations")
AGENT_EPISODES = Kind(prefix="/apis/assay.dev/v1alpha1", plural="agentepisodes")


class Client:
    """Requests to one API server, at most ``connections`` at a time."""

    def __init__(self, configuration: kubernetes_client.Configuration) -> None:
        self._configuration = configuration
        self._api = kubernetes_client.ApiClient(configuration)
        self._host = str(configuration.host).rstrip("/")
        connector = aiohttp.TCPConnector(
            limit=configuration.connection_pool_maxsize, ssl=self._api.rest_client.ssl_context
        )
        # aiohttp's trust reads proxies and .netrc for each request: 8 % of the operator's time
        self._session = aiohttp.ClientSession(connector=connector, trust_env=bool(getproxies()))

    @classmethod
    async def connect(cls, *, connections: int = 64) -> Client:
        """Return a client for the kubeconfig of the environment, or else for the pod's own cluster.

        ``ApiError`` ``BadKubeconfig`` when there is none, or none that can be used.
        """
        configuration = kubernetes_client.Configuration()
        configuration.connection_pool_maxsize = connections
        if "KUBECONFIG" not in os.environ and (SERVICE_ACCOUNT / "token").exists():
            kubernetes_config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            try:
                await kubernetes_config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            except Exception as error:  # the library has no one error for all that can be wrong with the file
                place = os.environ.get("KUBECONFIG") or "~/.kube/config"
                why = f"the kubeconfig {place} cannot be used: {type(error).__name__}: {error}"
                raise ApiError(0, "BadKubeconfig", why) from error
        return cls(configuration)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await self._api.close()  # type: ignore[no-untyped-call]

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Return an object."""
        return _object(await self._request("GET", kind, kind.path(namespace, name)))

    async def pages(
        self, kind: Kind, namespace: str, *, selector: str = "", size: int = 100
    ) -> AsyncIterator[list[Any]]:
        """Yield a collection's objects, ``size`` at a time."""
        async for items, _ in self.versioned_pages(kind, namespace, selector=selector, size=size):
            yield items

    async def versioned_pages(
        self, kind: Kind, namespace: str, *, selector: str = "", size: int = 500
    ) -> AsyncIterator[tuple[list[Any], str]]:
        """Yield a collection's objects, ``size`` at a time, with the resourceVersion from which a watch goes on."""
        query = {"limit": str(size)} | ({"labelSelector": selector} if selector else {})
        while True:
            page = _object(await self._request("GET", kind, kind.path(namespace), query=query))
            metadata = page.get("metadata") or {}
            yield page.get("items") or [], str(metadata.get("resourceVersion", ""))
            token = metadata.get("continue")
            if not token:
                return
            query["continue"] = token

    async def watch(
        self, kind: Kind, namespace: str, *, version: str, seconds: int = 300
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yield what happens to a collection after ``version``: the event's type and the object.

        Ends after ``seconds`` or with the connection.  ``ApiError`` 410 when the version is too old, else as ever.
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        url = f"{self._host}{kind.path(namespace)}?{urlencode(query)}"
        headers = {"Accept": "application/json", "User-Agent": "assay"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=SILENCE_SECONDS)
        try:
            await self._api.update_params_for_auth(headers, [], ["BearerToken"], url, "GET", None)
            async with self._session.get(url, headers=headers, timeout=timeout) as response:
                REQUESTS.labels("WATCH", kind.plural, str(response.status)).inc()
                if response.status >= 400:
                    raise _error_of(response.status, await response.read())
                async for line in _lines(response.content):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise _error_of(int(event["object"].get("code", 500)), json.dumps(event["object"]).encode())
                    yield event["type"], event["object"]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, "Unreachable", f"{type(error).__name__}: {error}") from error

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object; an existing one of the name is an ``ApiError`` with status 409."""
        return _object(await self._request("POST", kind, kind.path(namespace), body=manifest))

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Merge into an object; a ``metadata.resourceVersion`` in the patch is a precondition (409 when it fails)."""
        path = kind.path(namespace, name)
        return _object(await self._request("PATCH", kind, path, body=patch, content_type=MERGE_PATCH))

    async def patch_status(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Merge into an object's status; a ``metadata.resourceVersion`` in the patch is a precondition."""
        path = kind.path(namespace, name, "status")
        return _object(await self._request("PATCH", kind, path, body=patch, content_type=MERGE_PATCH))

    async def replace(self, kind: Kind, namespace: str, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Replace an object, with its resourceVersion as the precondition."""
        return _object(await self._request("PUT", kind, kind.path(namespace, name), body=manifest))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str = "", grace: int | None = None) -> None:
        """Delete an object if it still is the one with ``uid``; a missing one is a success."""
        body: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            await self._request("DELETE", kind, kind.path(namespace, name), body=body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    async def log(self, namespace: str, pod: str, container: str) -> bytes:
        """Return the whole log of a container, as the kubelet has it now; asked for once."""
        path = PODS.path(namespace, pod, "log")
        return await self._request("GET", PODS, path, query={"container": container}, timeout=300, tries=1)

    async def service(self, namespace: str, name: str, *, port: str, path: str, put: bytes | None = None) -> bytes:
        """Return what a Service answers to a GET, or to a PUT of bytes, through the API server's proxy."""
        url = f"/api/v1/namespaces/{namespace}/services/{name}:{port}/proxy/{path}"
        if put is None:
            return await self._request("GET", SERVICES, url, timeout=300)
        return await self._request("PUT", SERVICES, url, body=put, content_type=BYTES, timeout=300)

    async def apply(self, kind: Kind, namespace: str, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Apply an object on the server's side as the field manager ``assay``; the same manifest changes nothing."""
        path, query = kind.path(namespace, name), {"fieldManager": FIELD_MANAGER, "force": "true"}
        return _object(await self._request("PATCH", kind, path, query=query, body=manifest, content_type=APPLY_PATCH))

    async def _request(  # noqa: PLR0913 - the parts of one request
        self,
        verb: str,
        kind: Kind,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 60,  # noqa: ASYNC109 - the transport's own limit, not a scope of ours
        tries: int = TRIES,
    ) -> bytes:
        url = self._host + path + (f"?{urlencode(query)}" if query else "")
        for attempt in range(1, tries + 1):
            try:
                response = await self._send(verb, url, body, content_type, timeout)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                REQUESTS.labels(verb, kind.plural, "0").inc()
                if attempt == tries or (verb == "POST" and not isinstance(error, aiohttp.ClientConnectorError)):
                    raise ApiError(0, "Unreachable", f"{type(error).__name__}: {error}") from error
                await asyncio.sleep(0.2 * 2**attempt)
                continue
            status, headers, content = response
            REQUESTS.labels(verb, kind.plural, str(status)).inc()
            if status < 400:
                return content
            if status not in RETRIED or attempt == tries or (status >= 500 and verb == "POST"):
                raise _error_of(status, content)
            await asyncio.sleep(_seconds(headers.get("Retry-After", "")) or 0.2 * 2**attempt)
        raise AssertionError("unreachable")

    async def _send(
        self,
        verb: str,
        url: str,
        body: Mapping[str, Any] | bytes | None,
        content_type: str,
        timeout: float,  # noqa: ASYNC109
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept": "application/json, */*", "User-Agent": "assay"}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"], url, verb, None)
        data = body if isinstance(body, bytes) else None
        if body is not None:
            headers["Content-Type"] = content_type
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body, separators=(",", ":")).encode("utf-8", "surrogatepass")
        async with self._session.request(
            verb, url, data=data, headers=headers, timeout=aiohttp.ClientTimeout(total=timeout)
        ) as response:
            return response.status, response.headers, await response.read()


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines of any length: an object may be larger than the reader's own limit for one."""
    parts: list[bytes] = []
    async for chunk in stream.iter_any():
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*parts, line])
            parts = []
        if rest:
            parts.append(rest)


def _object(content: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(content)
    return answer


def _error_of(status: int, content: bytes) -> ApiError:
    try:
        answer = json.loads(content)
        return ApiError(status, str(answer.get("reason", "")), str(answer.get("message", "")))
    except (ValueError, AttributeError):
        return ApiError(status, "", content[:500].decode("utf-8", "replace"))


def _seconds(text: str) -> float:
    return min(60.0, float(text)) if text.isdigit() else 0.0
