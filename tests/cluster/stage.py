"""An operator on a cluster, the objects it works on, and a machine outside that hears whoever gets out of a pod."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay.store.artifacts import Store
from conftest import ROOT, TestCluster

NAMESPACE = "assay-runs"
SYSTEM = "assay-system"
POLICIES = ROOT / "job_templates" / "networkpolicies.yaml"
PATIENCE = 300
"""Seconds that a verdict may take on a busy machine."""

Manifest = dict[str, Any]

RESULTS = "grep -q transfer ledger/book.py && echo PASSED t::transfer || echo FAILED t::transfer; echo PASSED t::other"
"""A test command for the image of our own examples: one target of the reference patch of ``valid``, one other test."""


class OperatorProcess:
    """``assay operator`` as a process of this machine, on a cluster; its Service leads there."""

    def __init__(self, cluster: TestCluster, folder: Path, image: str, **settings: Any) -> None:
        self._cluster = cluster
        self._environment = program_environment(cluster) | {"POD_NAME": "under-test"}
        self._settings = folder / "settings.yaml"
        self._log = folder / "operator.log"
        self.store = Store(f"file://{folder}/store")
        self.port = _free_port(cluster.host)
        self._process: subprocess.Popen[bytes] | None = None
        chosen = {
            "namespace": NAMESPACE,
            "leaseNamespace": SYSTEM,
            "witnessImage": image,
            "store": self.store.uri,
            "httpPort": self.port,
            "httpAddress": cluster.host,
            "cpuRequestFraction": 0.2,
        }
        self._settings.write_text(yaml.safe_dump(chosen | settings))

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            command = (sys.executable, "-m", "assay", "operator", "--config", str(self._settings))
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, cwd=ROOT)

    def end(self, kind: signal.Signals = signal.SIGKILL) -> int:
        """End it, by default at once and without a word; return its exit code."""
        assert self._process
        self._process.send_signal(kind)
        return self._process.wait(60)

    def is_ready(self) -> bool:
        """Whether it holds the lease and knows the cluster."""
        try:
            with urllib.request.urlopen(f"http://{self._cluster.host}:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def said(self) -> str:
        """The end of its log."""
        return self._log.read_text()[-6000:]


@dataclass(frozen=True)
class Stage:
    """A cluster with an operator at work in the namespace of the runs."""

    cluster: TestCluster
    operator: OperatorProcess

    def apply(self, manifest: Manifest, name: str | None = None) -> None:
        """Apply an object, under another name if one is given."""
        changed = manifest | {"metadata": manifest["metadata"] | ({"name": name} if name else {})}
        self.cluster.kubectl("apply", "--server-side", "-n", NAMESPACE, "-f", "-", stdin=yaml.safe_dump(changed))

    def read(self, name: str) -> Manifest:
        """The object as the API server has it."""
        said = self.cluster.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json").stdout
        found: Manifest = json.loads(said)
        return found

    def status(self, name: str) -> Manifest:
        """The object's status; empty when there is none yet."""
        status: Manifest = self.read(name).get("status", {})
        return status

    def finished(self, name: str, seconds: float = PATIENCE) -> Manifest:
        """Wait for the object's verdict; return its status."""
        self.complete([f"tv/{name}"], seconds)
        return self.status(name)

    def complete(self, objects: Iterable[str], seconds: float = PATIENCE) -> None:
        """Wait until objects, each as `kind/name`, are complete; fail with the operator's last words."""
        told = ("--for=condition=Complete", f"--timeout={seconds}s")
        waited = self.cluster.kubectl("wait", "-n", NAMESPACE, *told, *objects, check=False)
        assert waited.returncode == 0, waited.stderr + self.operator.said()

    def until(self, told: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait for something; fail with the operator's last words."""
        end = time.monotonic() + seconds
        while not told():
            assert time.monotonic() < end, self.operator.said()
            time.sleep(0.5)

    def selector(self, name: str) -> tuple[str, ...]:
        """Options of kubectl that select what belongs to an object."""
        return "-n", NAMESPACE, "-l", f"assay.dev/object={self.read(name)['metadata']['uid']}"

    def pods(self, name: str) -> list[Manifest]:
        """The pods of an object that are there now."""
        said = self.cluster.kubectl("get", "pods", *self.selector(name), "-o", "json").stdout
        items: list[Manifest] = json.loads(said)["items"]
        return items

    def running_pod(self, name: str, run: str) -> str:
        """Wait until the task of a run is at work; return its pod's name."""
        found: list[str] = []

        def at_work() -> bool:
            found[:] = [pod["metadata"]["name"] for pod in self.pods(name) if _at_work(pod, run)]
            return bool(found)

        self.until(at_work)
        return found[0]

    def log(self, name: str, run: str) -> bytes:
        """What ``assay logs`` prints of a run."""
        command = (sys.executable, "-m", "assay", "logs", name, run, "-n", NAMESPACE)
        done = subprocess.run(command, env=program_environment(self.cluster), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def report(self, status: Manifest) -> Manifest:
        """The whole verdict that a status refers to, proven by its hash."""
        content = self.operator.store.get(status["report"]["sha256"])
        assert hashlib.sha256(content).hexdigest() == status["report"]["sha256"]
        report: Manifest = json.loads(content)
        return report


def _at_work(pod: Manifest, run: str) -> bool:
    states = [container.get("state", {}) for container in pod["status"].get("containerStatuses", ())]
    return pod["metadata"]["labels"]["assay.dev/run"] == run and any("running" in state for state in states)


@contextmanager
def working_operator(cluster: TestCluster, folder: Path, image: str, **settings: Any) -> Iterator[Stage]:
    """The namespaces, Service and operator of a stage; the operator ends with it."""
    for namespace in (NAMESPACE, SYSTEM):
        cluster.make_namespace(namespace)
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", str(POLICIES))
    operator = OperatorProcess(cluster, folder, image, **settings)
    cluster.kubectl(
        "apply", "-n", SYSTEM, "-f", "-", stdin=yaml.safe_dump_all(_way_in(image, cluster.host, operator.port))
    )
    operator.start()
    cluster.kubectl("wait", "-n", SYSTEM, "--for=condition=Ready", "pod/assay-operator", "--timeout=120s")
    try:
        yield Stage(cluster=cluster, operator=operator)
    finally:
        operator.end(signal.SIGTERM)


def _way_in(image: str, host: str, port: int) -> tuple[Manifest, ...]:
    """A Service as the chart's, and a pod that passes its connections on: the API server lets it lead to pods alone."""
    name, labels = {"name": "assay-operator"}, {"app": "assay-operator"}
    command = ["python3", "-c", _PASS_ON, host, str(port)]
    container = {"name": "way-in", "image": image, "command": command, "readinessProbe": {"tcpSocket": {"port": port}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": name | {"labels": labels},
        "spec": {"containers": [container]},
    }
    spec = {"selector": labels, "ports": [{"name": "http", "port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": dict(name), "spec": spec}, pod


_PASS_ON = """
import asyncio, sys
host, port = sys.argv[1], int(sys.argv[2])

async def copy(source, target):
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    target.close()

async def serve(reader, writer):
    there, back = await asyncio.open_connection(host, port)
    await asyncio.gather(copy(reader, back), copy(there, writer))

async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", port)
    await server.serve_forever()

asyncio.run(main())
"""


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def program_environment(cluster: TestCluster) -> dict[str, str]:
    """Environment of the repository's programs on a cluster."""
    return cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}


def program(cluster: TestCluster, *command: str) -> str:
    """Run a Python program of the repository and return its output."""
    environment = program_environment(cluster)
    done = subprocess.run(
        (sys.executable, *command), cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def load_image(cluster: TestCluster) -> str:
    """Assay's image in the cluster's registry, by digest."""
    archive = program(cluster, "dev/image/build.py").strip().splitlines()[-1]
    return cluster.load(Path(archive), "assay:test")


def load_examples(cluster: TestCluster, folder: Path, names: tuple[str, ...]) -> dict[str, Manifest]:
    """Push the images of examples; return their manifests by name."""
    only = ("--only", ",".join(names))
    program(cluster, "examples/build.py", "push", "--registry", cluster.registry, *only)
    program(cluster, "examples/build.py", "manifests", "--registry", cluster.registry, "--out", str(folder), *only)
    return {path.stem: yaml.safe_load(path.read_text()) for path in folder.iterdir()}


def task_like(example: Manifest, *commands: str, runs: Mapping[str, int] | None = None, memory: str = "") -> Manifest:
    """A task on an example's tree and patches with other test commands and no declared tests."""
    made: Manifest = json.loads(json.dumps(example))
    made["spec"]["task"]["tests"] = {"commands": list(commands), "parser": "parse_log_pytest"}
    made["spec"]["runs"] = dict(runs or {"unpatched": 1, "patched": 1})
    if memory:
        made["spec"]["resources"]["memory"] = memory
    return made


class Outside:
    """A listener on this machine, outside of the cluster: the words of those who reached it."""

    def __init__(self, host: str) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                heard.append(self.rfile.readline().decode().strip())

        self._server = socketserver.ThreadingTCPServer((host, 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def knock(self, word: str, seconds: float) -> str:
        """A shell command that tries to say a word here, at once and again for some seconds; it prints each outcome."""
        host, port = self.address
        return f"python3 -c '{_KNOCK}' {host} {port} {word} {seconds}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


_KNOCK = """
import socket, sys, time
host, port, word, seconds = sys.argv[1:]
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    try:
        with socket.create_connection((host, int(port)), 1) as door:
            door.sendall(word.encode() + b"\\n")
        print("reached", flush=True)
        break
    except OSError as error:
        print("refused", type(error).__name__, flush=True)
        time.sleep(0.05)
"""


@contextmanager
def listening(cluster: TestCluster) -> Iterator[Outside]:
    """A listener that the cluster's pods would reach, were they not isolated."""
    outside = Outside(cluster.host)
    try:
        yield outside
    finally:
        outside.close()


def plain_pod(cluster: TestCluster, namespace: str, image: str, command: str) -> str:
    """Run a command in a pod of its own, without a witness, to its end; return the pod's output."""
    name = f"plain-{os.urandom(4).hex()}"
    container = {"name": "task", "image": image, "command": ["/bin/sh", "-c", command]}
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump(pod))
    phase = "jsonpath={.status.phase}=Succeeded"
    cluster.kubectl("wait", "-n", namespace, f"--for={phase}", f"pod/{name}", "--timeout=180s")
    return cluster.kubectl("logs", "-n", namespace, name).stdout
