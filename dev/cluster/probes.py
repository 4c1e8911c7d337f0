"""What is not ready yet, asked of the cluster itself; nothing here waits."""

import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator
from typing import Any

from plan import API_PORT, API_SERVICE_ADDRESS, REGISTRY_PORT, SIMULATED_NODES, Plan, Profile

_TIMEOUT = 2.0


class Api:
    """The API server, read as the administrator over one connection."""

    def __init__(self, plan: Plan, *, address: str | None = None) -> None:
        self._address = address or plan.node_address
        pki = plan.layout.pki
        self._tls = ssl.create_default_context(cafile=f"{pki}/ca.crt")
        self._tls.load_cert_chain(f"{pki}/admin.crt", f"{pki}/admin.key")

    def get(self, path: str) -> bytes | None:
        """The answer's body; None unless the answer is 200."""
        connection = http.client.HTTPSConnection(self._address, API_PORT, context=self._tls, timeout=_TIMEOUT)
        return _body_of(connection, path)

    def answers(self) -> bool:
        """Whether the server says that it is ready."""
        return self.get("/readyz") is not None

    def get_json(self, path: str) -> dict[str, Any]:
        """The object at this path; an empty one when there is none."""
        body = self.get(path)
        return json.loads(body) if body else {}


def first_unready(plan: Plan, api: Api, node_process: int) -> str | None:
    """The first thing that the cluster still lacks, in words; None when it is ready."""
    return next(_unready(plan, api, node_process), None)


def _unready(plan: Plan, api: Api, node_process: int) -> Iterator[str]:
    if not api.answers():
        yield "the API server to answer"
    wanted = SIMULATED_NODES if plan.profile is Profile.SIMULATED else 1
    if _ready_nodes(api) < wanted:
        yield f"{wanted} Ready node{'s' if wanted > 1 else ''}"
    if not api.get("/api/v1/namespaces/default/serviceaccounts/default"):
        yield "the default service account"
    if plan.profile is Profile.SIMULATED:
        return
    if not _registry_answers(plan):
        yield "the image registry to answer"
    if API_SERVICE_ADDRESS not in _rules(node_process, "nat", "KUBE-SERVICES"):
        yield "kube-proxy's rules"
    if plan.enforce and not _rules(node_process, "filter", "KUBE-ROUTER-FORWARD"):
        yield "kube-router's rules"


def _ready_nodes(api: Api) -> int:
    nodes = api.get_json("/api/v1/nodes").get("items", [])
    return sum(any(map(_is_ready, node["status"].get("conditions", []))) for node in nodes)


def _is_ready(condition: dict[str, Any]) -> bool:
    return (condition["type"], condition["status"]) == ("Ready", "True")


def _registry_answers(plan: Plan) -> bool:
    connection = http.client.HTTPConnection(plan.node_address, REGISTRY_PORT, timeout=_TIMEOUT)
    return _body_of(connection, "/v2/") is not None


def _body_of(connection: http.client.HTTPConnection, path: str) -> bytes | None:
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return body if answer.status == http.HTTPStatus.OK else None


def _rules(node_process: int, table: str, chain: str) -> str:
    """One chain of the node's packet filter."""
    command = ("nsenter", f"--net=/proc/{node_process}/ns/net", "iptables", "-w", "-t", table, "-S", chain)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
