"""The chart's module gateway on a real node, with a directory of module files as its upstream, and pods that use it."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay.domain.goproxy.environment import go_environment
from assay.domain.keys import go_token, sha256_of
from conftest import ROOT, TestCluster
from goproxy.gotools import HERE, build, write_toolchain
from goproxy.stage import SUMDB, make_files

SYSTEM, RUNS = "goproxy-system", "goproxy-runs"
TASK = "github.com/dustin/go-humanize"
MASTER = b"a master key of the tests"
FIX = "v1.0.2-0.20240102030405-abcdefabcdef"

Manifest = dict[str, Any]


def _module(module: str, version: str, *, declared: str = "", requires: str = "", **fields: Any) -> tuple[Any, ...]:
    gomod = f"module {declared or module}\n\ngo 1.18\n{f'require {requires}' if requires else ''}\n"
    files = {"go.mod": gomod.encode(), "a.go": b"package lib\n\n// One is one.\nconst One = 1\n"}
    return (module, version), make_files(module, version, gomod=gomod, files=files, **fields)


WORLD = dict(
    (
        _module("example.com/lib", "v1.0.0"),
        _module("example.com/lib", "v1.1.0", requires="github.com/BurntSushi/toml v1.3.2"),
        _module("github.com/BurntSushi/toml", "v1.3.2"),
        _module(TASK, "v1.0.1"),
        _module(TASK, FIX),
        _module(f"{TASK}/v2", "v2.0.0"),
        _module("github.com/Dustin/Go-Humanize", "v1.0.1"),
        _module("gopkg.in/dustin/go-humanize.v1", "v1.0.1"),
        _module("www.github.com/dustin/go-humanize.git", "v1.0.1"),
        _module("github.com/someone/go-humanize", "v1.0.1"),
        _module("github.com/other/numbers", "v1.0.0", declared=TASK),
        _module("vanity.example.org/h", "v1.0.0", origin=f"https://{TASK}"),
        _module("example.com/carrier", "v1.0.0", names=[f"example.com/carrier@v1.0.0/third_party/{TASK}/a.go"]),
    )
)


def write_world(folder: Path, toolchains: Sequence[str] = ()) -> str:
    """Write the module files with their checksum database, toolchains too; return the database's key."""
    root = folder / "modules"
    for files in WORLD.values():
        for path, body in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(file.read_bytes() + body if path.endswith("/list") and file.exists() else body)
    program = build(HERE / "sumdb/main.go", folder / "build")
    chains = [write_toolchain(root, version) for version in toolchains]
    lines = "".join(f"{module} {version}\n" for module, version in (*WORLD, *chains))
    done = subprocess.run([program, SUMDB, root], input=lines, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _volume(root: Path) -> tuple[Manifest, Manifest]:
    """A ConfigMap with a directory's files, and the volume that lays them out again."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    keys = {f"file-{number}": path for number, path in enumerate(paths)}
    data = {key: base64.b64encode(path.read_bytes()).decode() for key, path in keys.items()}
    items = [{"key": key, "path": str(path.relative_to(root))} for key, path in keys.items()]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "modules"}, "binaryData": data}
    return config, {"configMap": {"name": "modules", "items": items}}


@dataclass(frozen=True)
class GoStage:
    """A cluster with the gateway at work; ``go_image`` has a Go toolchain, ``image`` is Assay's."""

    cluster: TestCluster
    image: str
    go_image: str
    gateway: str
    sumdb: str

    def pod(self, name: str, *, namespace: str = RUNS, image: str = "", **fields: Any) -> str:
        """Start a pod that waits; return its address. ``labels``, ``env`` and fields of its spec may be given."""
        labels, env = fields.pop("labels", {}), fields.pop("env", {})
        container = {
            "name": "task",
            "image": image or self.go_image,
            "command": fields.pop("command", ["sleep", "100000"]),
            "env": [{"name": key, "value": value} for key, value in env.items()],
        }
        spec = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, **fields}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | {"containers": [container]}}
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(made))
        self.cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready", f"pod/{name}", "--timeout=240s")
        return str(self.read("pod", name, namespace)["status"]["podIP"])

    def read(self, kind: str, name: str, namespace: str) -> Manifest:
        """An object as the API server has it."""
        found: Manifest = json.loads(self.cluster.kubectl("get", kind, name, "-n", namespace, "-o", "json").stdout)
        return found

    def run(self, pod: str, script: str, *, namespace: str = RUNS) -> tuple[int, str]:
        """Run a shell script in a pod; return its exit code and both streams."""
        shell = ("--", "sh", "-c", f"exec 2>&1\n{script}")
        done = self.cluster.kubectl("exec", "-n", namespace, pod, *shell, check=False)
        return done.returncode, done.stdout

    def sandbox(self, name: str, network: str = "goproxy") -> str:
        """Start an episode's sandbox as the operator does and wait until the gateway knows it; return its address."""
        spec = {"validation": "none", "network": "GoProxy"}
        made = {"apiVersion": "assay.dev/v1alpha1", "kind": "AgentEpisode", "metadata": {"name": name}, "spec": spec}
        self.cluster.kubectl("create", "-n", RUNS, "-f", "-", stdin=json.dumps(made))
        token = go_token(MASTER, self.read("agentepisode", name, RUNS)["metadata"]["uid"])
        env = go_environment(gateway=self.gateway, token=token, sumdb=self.sumdb)
        address = self.pod(name, labels={"assay.dev/network": network}, env=env)
        uid = self.read("pod", name, RUNS)["metadata"]["uid"]
        sandbox = {
            "pod": name,
            "podUID": uid,
            "podIPs": [address],
            "tokenSHA256": sha256_of(token),
            "goPolicy": {"owned": [TASK], "forkNames": ["go-humanize"]},
        }
        self.say(name, phase="Ready", sandbox=sandbox)
        return address

    def say(self, episode: str, **status: Any) -> None:
        """Write an episode's status, as the operator does."""
        patch = json.dumps({"status": status})
        words = ("patch", "agentepisode", episode, "-n", RUNS, "--subresource=status", "--type=merge", "-p", patch)
        self.cluster.kubectl(*words)

    def reached(self, pod: str, targets: Sequence[str], *, namespace: str = RUNS) -> Mapping[str, bool]:
        """Say which of ``tcp:address:port`` and ``udp:address:port`` answer a pod within two seconds."""
        words = " ".join(targets)
        code, said = self.run(pod, f"python3 -c '{_PROBE}' {words}", namespace=namespace)
        assert code == 0, said
        return {line.split()[0]: line.split()[1] == "open" for line in said.splitlines()}


_PROBE = """
import socket, sys
for target in sys.argv[1:]:
    kind, host, port = target.split(":")
    try:
        with socket.socket(type=socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as door:
            door.settimeout(2)
            door.connect((host, int(port)))
            if kind == "udp":
                door.send(b"?")
                door.recv(10)
            print(target, "open")
    except OSError:
        print(target, "shut")
"""

SERVER = """
import socket, threading
def accept(port):
    with socket.create_server(("", port)) as door:
        while True:
            door.accept()[0].close()
for port in (53, 8080):
    threading.Thread(target=accept, args=(port,)).start()
with socket.socket(type=socket.SOCK_DGRAM) as door:
    door.bind(("", 53))
    while True:
        door.sendto(b"!", door.recvfrom(10)[1])
"""
"""A bystander that answers where a name service or a gateway would."""

USAGE = """
import asyncio, json, sys
import aiohttp
from assay.domain.goproxy.usage import egress_of
from assay.kube.client import Client
from assay.kube.egress import gateway_url, usage_of_runs

async def main():
    client = await Client.connect()
    async with aiohttp.ClientSession() as session:
        found = await usage_of_runs(client, session, sys.argv[1], sys.argv[2:])
    told = {run: egress_of(usages).model_dump() for run, usages in found.by_run.items()}
    print(json.dumps({"gateway": await gateway_url(client, sys.argv[1]), "runs": told}))
    await client.close()

asyncio.run(main())
"""
"""Prints what the operator's code learns of the gateway from where the operator is."""


@contextmanager
def working_gateway(cluster: TestCluster, image: str, go_image: str, folder: Path) -> Iterator[GoStage]:
    """The gateway of the chart in namespaces of its own, two replicas, without an operator that would interfere."""
    sumdb = write_world(folder)
    config, volume = _volume(folder / "modules")
    values = {
        "image": {"reference": image},
        "runs": {"namespace": RUNS},
        "goproxy": {
            "enabled": True,
            "upstreamVolume": volume,
            "sumdb": sumdb,
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        },
    }
    only = ("--show-only", "templates/goproxy.yaml", "--show-only", "templates/runs.yaml")
    place = ("-n", SYSTEM, "--kube-version", "1.36.3")
    command = ("helm", "template", "assay", str(ROOT / "charts/assay"), *place, *only, "--values", "-")
    done = subprocess.run(
        command, input=json.dumps(values), env=cluster.environment, text=True, capture_output=True, check=True
    )
    for namespace in (SYSTEM, RUNS):
        cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "serviceaccount", "assay-operator", "-n", SYSTEM)
    cluster.kubectl("apply", "--server-side", "-n", SYSTEM, "-f", "-", stdin=yaml.safe_dump(config))
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=done.stdout)
    cluster.kubectl("rollout", "status", "deploy/assay-goproxy", "-n", SYSTEM, "--timeout=240s")
    service = json.loads(cluster.kubectl("get", "service", "assay-goproxy", "-n", SYSTEM, "-o", "json").stdout)
    gateway = f"http://{service['spec']['clusterIP']}:8080"
    try:
        yield GoStage(cluster=cluster, image=image, go_image=go_image, gateway=gateway, sumdb=sumdb)
    finally:
        cluster.kubectl("delete", "namespace", RUNS, SYSTEM, "--wait=false")
