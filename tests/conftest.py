"""Clusters for the tests that need one: real ones, started once a session, gone with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
CLUSTER = ROOT / "dev" / "cluster" / "cluster.py"

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
"""The same examples in every run, so that a change alone can break a check; ``make explore`` looks for new ones."""


def cache_dir() -> Path:
    """Where programs that tests install or build stay between runs."""
    named, home = os.environ.get("ASSAY_CACHE"), os.environ.get("XDG_CACHE_HOME")
    directory = Path(named) if named else (Path(home) if home else Path.home() / ".cache") / "assay"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the files under ``tests/golden`` anew instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose file does not name the mark of its stage: ``dev/test.py`` finds a stage's files by it."""
    texts = {path: path.read_text() for path in {item.path for item in items}}
    for item in items:
        for stage in ("api", "cluster", "machine", "runners"):
            if item.get_closest_marker(stage) and f"mark.{stage}" not in texts[item.path]:
                raise pytest.UsageError(f"{item.nodeid} is marked {stage}, and its file does not say mark.{stage}")


class Golden:
    """Files that hold what the code must make, byte for byte."""

    def __init__(self, folder: Path, *, update: bool) -> None:
        self._folder = folder
        self._update = update

    def check(self, name: str, made: str) -> None:
        """Compare what was made with the file of that name, or write it when asked to."""
        path = self._folder / name
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made)
        assert path.read_text() == made, f"{path} differs; look at it, then run pytest with --update-golden"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden files."""
    return Golden(ROOT / "tests" / "golden", update=request.config.getoption("--update-golden"))


@dataclass(frozen=True)
class TestCluster:
    """A running cluster and how to talk to it; ``host`` is the address of this machine as its pods see it."""

    __test__ = False

    name: str
    kubeconfig: Path
    registry: str
    host: str
    bin: Path

    @property
    def environment(self) -> dict[str, str]:
        """Environment of a client program."""
        return os.environ | {
            "KUBECONFIG": str(self.kubeconfig),
            "ASSAY_REGISTRY": self.registry,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
        }

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run kubectl and return what it said."""
        done = subprocess.run(
            ("kubectl", *args), input=stdin, env=self.environment, text=True, capture_output=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stdout}{done.stderr}")
        return done

    def make_namespace(self, name: str) -> None:
        """Make a namespace that may be there already: a worker's tests share its cluster in any order."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(namespace))

    def load(self, archive: Path, name: str) -> str:
        """Push an image archive to the cluster's registry; return the reference by digest."""
        return _cluster("load", "--name", self.name, str(archive), name).strip().splitlines()[-1]


def _cluster(*args: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    done = subprocess.run(
        (sys.executable, str(CLUSTER), *args), env=environment, text=True, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def start_cluster(name: str, *options: str) -> TestCluster:
    """Start a cluster that ends with this process, whatever happens to it."""
    _cluster("up", "--name", name, "--with-parent", str(os.getpid()), *options)
    said = dict(
        line.removeprefix("export ").split("=", 1)
        for line in _cluster("env", "--name", name).splitlines()
        if "=" in line
    )
    return TestCluster(
        name=name,
        kubeconfig=Path(said["KUBECONFIG"].strip("'")),
        registry=said.get("ASSAY_REGISTRY", ""),
        host=said.get("ASSAY_HOST", ""),
        bin=Path(_cluster("bin").strip()),
    )


def stop_cluster(cluster: TestCluster) -> None:
    """End a cluster."""
    _cluster("down", "--name", cluster.name)


def install_crds(cluster: TestCluster) -> None:
    """Bring Assay's resource types into a cluster."""
    cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd/taskvalidations.assay.dev", "--timeout=30s")


@pytest.fixture(scope="session")
def api_cluster() -> Iterator[TestCluster]:
    """A real API server, controller manager and scheduler with simulated nodes, and Assay's CRDs."""
    cluster = start_cluster(f"test-api-{os.getpid()}", "--profile", "simulated")
    install_crds(cluster)
    yield cluster
    stop_cluster(cluster)


@pytest.fixture(scope="session")
def cluster() -> Iterator[TestCluster]:
    """A real node: kubelet, containerd, enforced NetworkPolicies, registry, and Assay's CRDs."""
    cluster = start_cluster(f"test-node-{os.getpid()}", "--profile", "node")
    install_crds(cluster)
    yield cluster
    stop_cluster(cluster)
