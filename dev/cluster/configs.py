"""The configuration files of the components: kubelet, containerd, CNI, registry.

Each odd setting answers something that was seen; the comment beside it says what.
"""

import json
from pathlib import Path

from plan import DNS_SERVICE_ADDRESS, POD_CIDR, Plan

PAUSE_IMAGE = "assay.local/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
_CNI_BINARIES = "/usr/lib/cni"


def write_configs(plan: Plan) -> None:
    """Write all configuration files of a cluster with a real node."""
    config = plan.layout.config
    _write_json(config / "kubelet.json", kubelet(plan))
    _write_json(config / "cni" / "10-assay.conflist", network())
    _write_json(config / "registry.json", registry(plan))
    _write_json(config / "kube-proxy.json", kube_proxy(plan))
    # There is no resolver to be had from inside of the node.
    (config / "resolv.conf").write_text("")
    (config / "containerd.toml").write_text(containerd(plan))
    hosts = config / "certs.d" / plan.registry
    hosts.mkdir(parents=True)
    (hosts / "hosts.toml").write_text(_plain_http(plan.registry))


def kubelet(plan: Plan) -> dict[str, object]:
    """The kubelet's settings: many pods, little ceremony, nothing of a run's log rotated away."""
    pki = plan.layout.pki
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/kubelet-server.crt",
        "tlsPrivateKeyFile": f"{pki}/kubelet-server.key",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        # A root per cluster: kubelets that share one delete each other's pods as orphans.
        "cgroupRoot": f"/{plan.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [DNS_SERVICE_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{plan.layout.config}/resolv.conf",
        "maxPods": 250,
        "containerLogMaxSize": "1Gi",
        "containerLogMaxFiles": 3,
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
        # An image known by two names is otherwise refused under one of them.
        "imagePullCredentialsVerificationPolicy": "NeverVerify",
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "nodeStatusUpdateFrequency": "10s",
        "nodeStatusReportFrequency": "1m",
        "enableControllerAttachDetach": False,
    }


def network() -> dict[str, object]:
    """One bridge for all pods. The node masquerades for them once, so no plugin has to for each pod."""
    return {
        "cniVersion": "1.0.0",
        "name": "assay",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": "/run/cni-addresses",
                    "ranges": [[{"subnet": POD_CIDR}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def containerd(plan: Plan) -> str:
    """The runtime's settings."""
    layout = plan.layout
    return f"""\
version = 2
root = "{layout.data}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp"]

[grpc]
address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
# Without CAP_SYS_RESOURCE runc cannot lower the score and dies ("can't get final child's PID from pipe: EOF").
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{_snapshotter(layout.root)}"
discard_unpacked_layers = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{_CNI_BINARIES}"
conf_dir = "{layout.config}/cni"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{layout.config}/certs.d"
"""


def registry(plan: Plan) -> dict[str, object]:
    """The image registry's settings (its YAML accepts JSON)."""
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": f"{plan.layout.data}/registry", "maxthreads": 100},
            "delete": {"enabled": True},
        },
        "http": {"addr": plan.registry},
    }


def kube_proxy(plan: Plan) -> dict[str, object]:
    """The Service proxy's settings; the connection-tracking sysctls are read-only outside of the first namespace."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": POD_CIDR,
        "clientConnection": {"kubeconfig": f"{plan.layout.pki}/kube-proxy.kubeconfig"},
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "iptables": {"minSyncPeriod": "0s", "syncPeriod": "3s"},
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
    }


def _plain_http(host: str) -> str:
    """Without the section, containerd 1.6 asks by HTTPS whatever the first line says."""
    return f'server = "http://{host}"\n\n[host."http://{host}"]\ncapabilities = ["pull", "resolve"]\n'


def _snapshotter(root: Path) -> str:
    """Overlayfs, unless the state lies on an overlay itself (a container), which cannot carry another."""
    longest, found = "", ""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4]
        if root.is_relative_to(point) and len(point) >= len(longest):
            longest, found = point, after.split()[0]
    return "native" if found == "overlay" else "overlayfs"


def _write_json(path: Path, content: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
