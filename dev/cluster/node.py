"""Process 1 of a cluster's namespaces: mounts, network, components, and nothing that outlives it.

Started by the supervisor under `unshare`. Every process, mount, bridge and packet-filter rule of the cluster is in
these namespaces, so killing this process takes all of it away. It ends by itself when a component ends, and says which.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from binaries import path_of
from components import Component, stages
from configs import CONTAINERD_SOCKET
from layout import Layout
from plan import API_SERVICE_ADDRESS, NODE_NAME, POD_CIDR, SERVICE_CIDR, Plan, Profile, read_plan
from probes import Api

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TICK = 0.05
# What the kubelet sets on its machine. It finds the values set already, so the machine's own stay as they are.
_TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


class Node:
    """The running components, watched."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._running: dict[int, str] = {}

    def run(self) -> None:
        """Start everything and watch it for ever."""
        planned = stages(self._plan)
        self._start(planned.foundation)
        if self._plan.profile is Profile.NODE:
            self._wait_until(lambda: _accepts(CONTAINERD_SOCKET))
            self._import_pause_image()
        api = Api(self._plan, address="127.0.0.1")
        self._wait_until(api.answers)
        self._start(planned.with_api)
        if self._plan.profile is Profile.SIMULATED:
            self._create_simulated_nodes()
        if planned.with_node:
            self._wait_until(lambda: api.get(f"/api/v1/nodes/{NODE_NAME}") is not None)
            # Two programs that make iptables chains at the same moment lose some: kube-proxy's are there first.
            self._wait_until(_kube_proxy_has_rules)
            self._start(planned.with_node)
        while True:
            self._bury(*os.wait())

    def _start(self, components: tuple[Component, ...]) -> None:
        for component in components:
            with (self._plan.layout.logs / f"{component.name}.log").open("ab") as log:
                process = subprocess.Popen(
                    component.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=_environment(component),
                    cwd="/",
                )
            self._running[process.pid] = component.name

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._tick()

    def _import_pause_image(self) -> None:
        image = self._plan.layout.config / "pause.tar"
        self._do("ctr", "--address", CONTAINERD_SOCKET, "-n", "k8s.io", "images", "import", str(image))

    def _create_simulated_nodes(self) -> None:
        layout = self._plan.layout
        self._do(
            str(path_of("kubectl")), f"--kubeconfig={layout.kubeconfig}", "create", "-f", f"{layout.config}/nodes.json"
        )

    def _do(self, *command: str) -> None:
        with (self._plan.layout.logs / "node.log").open("ab") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)

    def _tick(self) -> None:
        """Pass a moment of waiting; notice a death meanwhile."""
        process, status = os.waitpid(-1, os.WNOHANG)
        if process:
            self._bury(process, status)
        time.sleep(_TICK)

    def _bury(self, process: int, status: int) -> None:
        """Orphans are only reaped; the end of a component is the end of the cluster."""
        name = self._running.get(process)
        if name is None:
            return
        code = os.waitstatus_to_exitcode(status)
        self._plan.layout.exited.write_text(json.dumps({"component": name, "exit": code}))
        sys.exit(1)


def _kube_proxy_has_rules() -> bool:
    """Whether the packet filter knows the API server's Service."""
    command = ("iptables", "-w", "-t", "nat", "-S", "KUBE-SERVICES")
    return API_SERVICE_ADDRESS in subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _environment(component: Component) -> dict[str, str]:
    """No proxies and no credentials of the user's shell in the cluster."""
    return {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", **component.environment}


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def _mount_everything(plan: Plan) -> None:
    """Give the node its own view of the directories that node software takes for granted."""
    layout = plan.layout
    _run("mount", "--make-rshared", "/")
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for directory in ("/run/netns", "/run/lock"):
        Path(directory).mkdir()
    _mask_tunables(Path("/run/tunables"))
    if plan.profile is Profile.NODE:
        _bind(layout.data / "kubelet", "/var/lib/kubelet")
        _bind(layout.logs / "pods", "/var/log/pods")
        _run("mount", "-t", "tmpfs", "tmpfs", "/var/log/containers")


def _bind(source: Path, target: str) -> None:
    source.mkdir(parents=True)
    _run("mount", "--bind", str(source), target)


def _mask_tunables(directory: Path) -> None:
    for name, value in _TUNABLES.items():
        source = directory / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"{value}\n")
        _run("mount", "--bind", str(source), f"/proc/sys/{name}")


def _configure_network(plan: Plan) -> None:
    """An address on the link to the machine, a route for Service addresses, none to anywhere else."""
    commands = (
        "link set lo up",
        f"address add {plan.node_address}/30 dev eth0",
        "link set eth0 up",
        # Never used as it is: kube-proxy rewrites the destination. Without a route no packet gets so far.
        f"route add {SERVICE_CIDR} dev eth0 src {plan.node_address}",
    )
    subprocess.run(("ip", "-batch", "-"), input="\n".join(commands), text=True, check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    if plan.profile is Profile.NODE:
        masquerade = ("-s", POD_CIDR, "!", "-d", POD_CIDR, "-j", "MASQUERADE")
        _run("iptables", "-w", "-t", "nat", "-A", "POSTROUTING", *masquerade)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    """Say that the namespaces are there, wait for the link into them, and run the node."""
    layout = Layout(sys.argv[2], Path(sys.argv[1]))
    plan = read_plan(layout)
    if plan is None:
        sys.exit(f"no plan in {layout.root}")
    os.environ["PATH"] = _PATH
    sys.stdout.write("namespaces\n")
    sys.stdout.flush()
    if not sys.stdin.readline():
        sys.exit("the supervisor is gone")
    socket.sethostname(NODE_NAME)
    _mount_everything(plan)
    _configure_network(plan)
    Node(plan).run()


if __name__ == "__main__":
    main()
