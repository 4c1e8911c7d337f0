"""The long-running programs of a cluster and their command lines, in the stages in which they start."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from binaries import path_of
from configs import CONTAINERD_SOCKET
from plan import API_PORT, KWOK_PORT, NODE_NAME, POD_CIDR, SERVICE_CIDR, Plan, Profile

# The controllers' own request limits would make Jobs crawl: 8 pods a second instead of 50.
_FAST = ("--kube-api-qps=2000", "--kube-api-burst=2000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One program; its name is also its log's name."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The components by what they need; all of a stage start together."""

    foundation: tuple[Component, ...]
    with_api: tuple[Component, ...]
    with_node: tuple[Component, ...] = ()


def stages(plan: Plan) -> Stages:
    """What starts at once, what starts when the API server answers, and what starts when the Node object is there."""
    control = (_controller_manager(plan), _scheduler(plan))
    if plan.profile is Profile.SIMULATED:
        return Stages(foundation=(_etcd(plan), _api_server(plan)), with_api=(*control, _kwok(plan)))
    return Stages(
        foundation=(_etcd(plan), _containerd(plan), _registry(plan), _api_server(plan)),
        with_api=(*control, _kubelet(plan), _kube_proxy(plan)),
        with_node=(_kube_router(plan),) if plan.enforce else (),
    )


def _etcd(plan: Plan) -> Component:
    url = "http://127.0.0.1:2379"
    return Component(
        name="etcd",
        command=(
            str(path_of("etcd")),
            *("--data-dir", f"{plan.layout.data}/etcd", "--unsafe-no-fsync", "--log-level", "warn"),
            *("--listen-client-urls", url, "--advertise-client-urls", url),
            *("--listen-peer-urls", "http://127.0.0.1:2380", "--quota-backend-bytes", str(8 << 30)),
        ),
    )


def _api_server(plan: Plan) -> Component:
    pki = plan.layout.pki
    return Component(
        name="kube-apiserver",
        command=(
            str(path_of("kube-apiserver")),
            "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={plan.node_address}",
            f"--secure-port={API_PORT}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--allow-privileged",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--client-ca-file={pki}/ca.crt",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            # Node names do not resolve here.
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            "--enable-aggregator-routing",
            f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
            f"--proxy-client-key-file={pki}/front-proxy-client.key",
            f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--profiling=false",
        ),
    )


def _controller_manager(plan: Plan) -> Component:
    pki = plan.layout.pki
    return Component(
        name="kube-controller-manager",
        command=(
            str(path_of("kube-controller-manager")),
            f"--kubeconfig={pki}/controller-manager.kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={pki}/sa.key",
            f"--root-ca-file={pki}/ca.crt",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
            *_node_addresses(plan),
            "--concurrent-job-syncs=20",
            *_FAST,
        ),
    )


def _node_addresses(plan: Plan) -> tuple[str, ...]:
    """The one real node has the whole range of pod addresses; simulated nodes get theirs from kwok."""
    if plan.profile is Profile.SIMULATED:
        return ()
    mask = POD_CIDR.partition("/")[2]
    return ("--allocate-node-cidrs", f"--cluster-cidr={POD_CIDR}", f"--node-cidr-mask-size={mask}")


def _scheduler(plan: Plan) -> Component:
    return Component(
        name="kube-scheduler",
        command=(
            str(path_of("kube-scheduler")),
            f"--kubeconfig={plan.layout.pki}/scheduler.kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            *_FAST,
        ),
    )


def _containerd(plan: Plan) -> Component:
    return Component(
        name="containerd",
        command=("containerd", "--config", f"{plan.layout.config}/containerd.toml", "--address", CONTAINERD_SOCKET),
    )


def _registry(plan: Plan) -> Component:
    return Component(
        name="registry",
        command=(str(path_of("registry")), "serve", f"{plan.layout.config}/registry.json"),
        environment={"OTEL_TRACES_EXPORTER": "none"},
    )


def _kubelet(plan: Plan) -> Component:
    return Component(
        name="kubelet",
        command=(
            str(path_of("kubelet")),
            f"--config={plan.layout.config}/kubelet.json",
            f"--kubeconfig={plan.layout.pki}/kubelet.kubeconfig",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={plan.node_address}",
        ),
    )


def _kube_proxy(plan: Plan) -> Component:
    return Component(
        name="kube-proxy",
        command=(
            str(path_of("kube-proxy")),
            f"--config={plan.layout.config}/kube-proxy.json",
            f"--hostname-override={NODE_NAME}",
        ),
    )


def _kube_router(plan: Plan) -> Component:
    """Only the firewall: it is what enforces NetworkPolicies. It ends at once where its Node object is not there yet."""
    return Component(
        name="kube-router",
        command=(
            str(path_of("kube-router")),
            f"--kubeconfig={plan.layout.pki}/kube-router.kubeconfig",
            f"--hostname-override={NODE_NAME}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            "--run-loadbalancer=false",
            "--health-port=0",
            "--metrics-port=0",
        ),
        environment={"NODE_NAME": NODE_NAME},
    )


def _kwok(plan: Plan) -> Component:
    layout = plan.layout
    return Component(
        name="kwok",
        command=(
            str(path_of("kwok")),
            f"--kubeconfig={layout.pki}/kwok.kubeconfig",
            f"--config={layout.config}/kwok.yaml",
            "--v=WARN",  # at INFO it writes some hundred bytes for each change of each pod
            "--manage-all-nodes",
            f"--node-ip={plan.node_address}",
            f"--node-port={KWOK_PORT}",
            f"--tls-cert-file={layout.pki}/kubelet-server.crt",
            f"--tls-private-key-file={layout.pki}/kubelet-server.key",
            f"--server-address=0.0.0.0:{KWOK_PORT}",
        ),
    )
