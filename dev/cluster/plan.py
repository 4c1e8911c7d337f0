"""What a cluster was asked to be, as one value: written once by `up`, read by the supervisor and by the node."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import Path

from layout import Layout

SLOTS = 4096
SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_SERVICE_ADDRESS = "10.96.0.10"
POD_CIDR = "10.244.0.0/16"
API_PORT = 6443
REGISTRY_PORT = 5000
KWOK_PORT = 10247
NODE_NAME = "assay-node"
SIMULATED_NODES = 10
# The range for benchmarks of network devices (RFC 2544): no real network uses it.
_FIRST_ADDRESS = IPv4Address("198.18.0.0")


class Profile(StrEnum):
    """What kind of nodes a cluster has."""

    NODE = "node"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings of one cluster. The slot decides its addresses: four a cluster."""

    name: str
    clusters: str
    profile: Profile
    enforce: bool
    slot: int

    @property
    def layout(self) -> Layout:
        """The cluster's files."""
        return Layout(self.name, Path(self.clusters))

    @property
    def host_address(self) -> str:
        """The machine, as the node sees it."""
        return str(_FIRST_ADDRESS + 4 * self.slot + 1)

    @property
    def node_address(self) -> str:
        """The node, as the machine and its own pods see it."""
        return str(_FIRST_ADDRESS + 4 * self.slot + 2)

    @property
    def registry(self) -> str:
        """The image registry: one name for pushing from the machine and for pulling in the cluster."""
        return f"{self.node_address}:{REGISTRY_PORT}"

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{self.node_address}:{API_PORT}"

    @property
    def link(self) -> str:
        """The machine's end of the veth pair."""
        return f"assay{self.slot}"

    @property
    def slot_name(self) -> str:
        """What is claimed on the machine for as long as the slot is in use."""
        return slot_name(self.slot)

    @property
    def cgroup(self) -> str:
        """The cgroup of all pods, in each hierarchy."""
        return self.layout.identity

    def write(self) -> None:
        """Keep the plan in the cluster's directory."""
        content = asdict(self) | {"profile": str(self.profile)}
        self.layout.plan.write_text(json.dumps(content, indent=2))


def slot_name(slot: int) -> str:
    """The name by which a slot is claimed on the whole machine."""
    return f"assay-cluster-slot-{slot}"


def read_plan(layout: Layout) -> Plan | None:
    """The plan of the cluster; None when it has none."""
    try:
        content = json.loads(layout.plan.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return Plan(**(content | {"profile": Profile(content["profile"])}))
