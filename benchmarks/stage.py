"""What the benchmarks of the operator stand on: a cluster and an operator of their own, and how both are read.

Both end with the benchmark's process, however it ends.
"""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import load_kube_config

from assay.kube.client import Client, Kind

ROOT = Path(__file__).parents[1]
CLUSTER = (sys.executable, str(ROOT / "dev" / "cluster" / "cluster.py"))
NAMESPACE = "assay-runs"
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? ([-+.\deE]+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
AT_ONCE = 24
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@dataclass(frozen=True)
class Stage:
    """A running cluster; ``environment`` is that of its clients."""

    name: str
    environment: Mapping[str, str]
    directory: Path
    login: Configuration

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it printed; a failure ends the benchmark."""
        return output("kubectl", *arguments, env=self.environment, stdin=stdin)

    def load(self, archive: str, name: str) -> str:
        """Push an image archive into the cluster's registry; return its reference by digest."""
        return output(*CLUSTER, "load", "--name", self.name, archive, name).strip().splitlines()[-1]

    def processor_seconds(self) -> dict[str, float]:
        """Return the processor time of each of the cluster's programs."""
        found: dict[str, float] = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                command = (place / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if str(self.directory) in " ".join(command[1:]) and not command[0].startswith("python"):
                    found[Path(command[0]).name] = processor_seconds(place)
            except OSError:  # it has ended
                continue
        return found

    def watches(self, resource: str) -> int:
        """Return how many clients watch a resource."""
        found = samples(self.kubectl("get", "--raw", "/metrics"))
        open_now = (value for name, labels, value in found if name == "apiserver_longrunning_requests"
                    and (labels["verb"], labels["resource"]) == ("WATCH", resource))  # fmt: skip
        return int(sum(open_now))

    def api_requests(self) -> Counter[tuple[str, str]]:
        """Return the API server's count of requests since its start by verb and resource, subresource included."""
        counts: Counter[tuple[str, str]] = Counter()
        for name, labels, value in samples(self.kubectl("get", "--raw", "/metrics")):
            if name == "apiserver_request_total":
                resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
                counts[labels["verb"], resource] += int(value)
        return counts


def processor_seconds(process: Path) -> float:
    """Return the processor time that a process of /proc has used."""
    fields = (process / "stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def output(*command: str, env: Mapping[str, str] | None = None, stdin: str | None = None) -> str:
    """Run a program of the repository or of the cluster and return its standard output."""
    done = subprocess.run(command, env=env, input=stdin, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:6])} ended with {done.returncode}")
    return done.stdout


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of each sample of a metrics page."""
    for name, labels, value in SAMPLE.findall(text):
        yield name, dict(LABEL.findall(labels)), float(value)


@contextmanager
def cluster(profile: str) -> Iterator[Stage]:
    """Start a cluster with Assay's resource types and the runs' namespace; end it afterwards."""
    name = f"bench-{profile}-{os.getpid()}"
    clean = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    output(*CLUSTER, "up", "--name", name, "--profile", profile, "--with-parent", str(os.getpid()), env=clean)
    try:
        said = output(*CLUSTER, "env", "--name", name, env=clean)
        pairs = dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines() if "=" in line)
        paths = {"PATH": f"{output(*CLUSTER, 'bin').strip()}:{clean['PATH']}"}
        environment = clean | {key: value.strip("'") for key, value in pairs.items()} | paths
        kubeconfig = environment["KUBECONFIG"]
        stage = Stage(name=name, environment=environment, directory=Path(kubeconfig).parent, login=login_of(kubeconfig))
        stage.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        stage.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        stage.kubectl("create", "namespace", NAMESPACE)
        while stage.watches("taskvalidations") == 0:  # the garbage collector asks for each owner until it watches them
            time.sleep(1)
        yield stage
    finally:
        output(*CLUSTER, "down", "--name", name, env=clean)


class OperatorProcess:
    """``assay operator`` as a process of this machine, its log and its figures."""

    def __init__(self, stage: Stage, folder: Path, **settings: object) -> None:
        """Prepare one; ``settings`` are those of its configuration file."""
        self._environment = {**stage.environment, "PYTHONPATH": str(ROOT / "operator"), "POD_NAME": "benchmark"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        defaults = {"namespace": NAMESPACE, "leaseNamespace": "default", "store": f"file://{folder}/store"}
        places = {"httpPort": self.port, "httpAddress": "127.0.0.1"}
        self._settings = folder / "operator.yaml"
        self._settings.write_text(yaml.safe_dump(defaults | places | settings))
        self.log = folder / "operator.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; return the seconds until it was ready."""
        started = time.monotonic()
        with self.log.open("ab") as log:
            command = (sys.executable, "-m", "assay", "operator", "--config", str(self._settings))
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, cwd=ROOT)
        while not self._ready():
            if self._process.poll() is not None:
                sys.exit(f"the operator ended with {self._process.returncode}:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)
        return time.monotonic() - started

    def stop(self) -> None:
        """End it as Kubernetes would."""
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)
            self._process = None

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process, "the operator does not run"
        return self._process.pid

    def memory(self, figure: str = "VmRSS") -> float:
        """Return MiB of memory: resident now, or at most so far (``VmHWM``)."""
        found = re.search(rf"{figure}:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text("ascii"))
        return int(found[1]) / 1024 if found else 0.0

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        return processor_seconds(Path(f"/proc/{self.pid}"))

    def watches(self, resource: str) -> int:
        """Return how many clients watch a resource."""
        found = samples(self.kubectl("get", "--raw", "/metrics"))
        open_now = (value for name, labels, value in found if name == "apiserver_longrunning_requests"
                    and (labels["verb"], labels["resource"]) == ("WATCH", resource))  # fmt: skip
        return int(sum(open_now))

    def api_requests(self) -> Counter[tuple[str, str]]:
        """Return its own count of requests to the API server by verb and resource."""
        counts: Counter[tuple[str, str]] = Counter()
        for name, labels, value in samples(self._page("metrics")):
            if name == "assay_api_requests_total":
                counts[labels["verb"], labels["resource"]] += int(value)
        return counts

    def lines(self, level: str) -> list[str]:
        """Return what it logged at a level."""
        return [line for line in self.log.read_text("utf-8", "replace").splitlines() if f" {level} " in line]

    def _ready(self) -> bool:
        try:
            return bool(self._page("readyz"))
        except (urllib.error.URLError, OSError):
            return False

    def _page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=30) as answer:
            return str(answer.read(), "utf-8")


@contextmanager
def operator(stage: Stage, **settings: object) -> Iterator[OperatorProcess]:
    """Run an operator of this checkout until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        process = OperatorProcess(stage, Path(folder), **settings)
        try:
            process.start()
            yield process
        finally:
            process.stop()


async def create_all(stage: Stage, kind: Kind, manifests: Sequence[Mapping[str, object]], namespace: str) -> None:
    """Create objects, some at a time."""
    waiting = iter(manifests)

    async def work() -> None:
        for manifest in waiting:
            await client.create(kind, namespace, manifest)

    client = Client(stage.login)
    try:
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    finally:
        await client.close()


def login_of(kubeconfig: str) -> Configuration:
    """Return how the cluster's administrator logs in."""
    login = Configuration()
    asyncio.run(load_kube_config(config_file=kubeconfig, client_configuration=login))
    login.connection_pool_maxsize = AT_ONCE
    return login


def rows(stage: Stage, kind: Kind, namespace: str, selector: str) -> list[dict[str, object]]:
    """Return what ``kubectl get`` would show of a selector's objects, a row each: cheap for both sides."""
    login = stage.login
    context = ssl.create_default_context(cafile=login.ssl_ca_cert)
    context.load_cert_chain(login.cert_file, login.key_file)
    query = urllib.parse.urlencode({"labelSelector": selector, "includeObject": "None", "resourceVersion": "0"})
    request = urllib.request.Request(f"{login.host}{kind.path(namespace)}?{query}", headers={"Accept": TABLE})
    with urllib.request.urlopen(request, context=context, timeout=60) as answer:
        table = json.load(answer)
    names = [column["name"] for column in table["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in table.get("rows") or ()]


def machine() -> str:
    """Return the machine on one line: processors, memory, versions, and how busy it was before."""
    processors = set(re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()))
    memory = int(re.findall(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[0]) / (1 << 20)
    python = sys.version.split()[0]
    load = os.getloadavg()[0]
    return (
        f"machine: {os.cpu_count()} x {', '.join(processors) or os.uname().machine}, {memory:.0f} GiB, "
        f"Linux {os.uname().release}, Python {python}, load before {load:.1f}"
    )


def versions(stage: Stage) -> str:
    """Return the version of the cluster."""
    server = json.loads(stage.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    return f"cluster: Kubernetes {server}, {output('git', 'rev-parse', '--short', 'HEAD').strip()} of Assay"
