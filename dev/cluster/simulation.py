"""Simulated nodes: kwok's configuration from `kwok/*.yaml`, the node objects, and the logs of the pods upon them."""

import json

from layout import SOURCE
from plan import SIMULATED_NODES, Plan

_LOG_LINE = "2026-01-01T00:00:00.000000000Z stdout F simulated {container}\n"
_CONTAINERS = ("witness", "task", "other")


def write_simulation(plan: Plan) -> None:
    """Write kwok's one configuration file, the nodes to create, and a line of log for each kind of container.

    Whoever needs other logs replaces the files in the cluster's `simlogs/` at any time.
    """
    layout = plan.layout
    documents = [path.read_text() for path in sorted((SOURCE / "kwok").glob("*.yaml"))]
    configuration = "---\n".join(documents).replace("SIMULATED_LOGS", str(layout.simulated_logs))
    (layout.config / "kwok.yaml").write_text(configuration)
    (layout.config / "nodes.json").write_text(json.dumps(_nodes()))
    layout.simulated_logs.mkdir(exist_ok=True)
    for container in _CONTAINERS:
        (layout.simulated_logs / f"{container}.log").write_text(_LOG_LINE.format(container=container))


def _nodes() -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": [_node(f"simulated-{n}") for n in range(SIMULATED_NODES)]}


def _node(name: str) -> dict[str, object]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
