"""The local cluster leaves the machine as it found it, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CLUSTER = Path(__file__).resolve().parents[2] / "dev" / "cluster" / "cluster.py"
PATIENCE = 180

pytestmark = [
    pytest.mark.machine,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root"),
]


def command(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run one command of cluster.py; its output is in the assertion when it fails."""
    variables = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"} | (environment or {})
    done = subprocess.run(
        (sys.executable, str(CLUSTER), *arguments), text=True, capture_output=True, env=variables, check=False
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """Start one command of cluster.py without waiting for it."""
    variables = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return subprocess.Popen((sys.executable, str(CLUSTER), *arguments), env=variables)


def eventually(condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@dataclass(frozen=True)
class Machine:
    """What a cluster could leave on the machine and that no other cluster touches."""

    mounts: str
    network_namespaces: tuple[str, ...]
    rules: str

    @classmethod
    def now(cls) -> "Machine":
        names = Path("/run/netns")
        rules = [subprocess.run((program,), text=True, capture_output=True, check=True).stdout for program in SAVERS]
        return cls(
            mounts="\n".join(sorted(line.split(" ", 3)[3] for line in mountinfo())),
            network_namespaces=tuple(sorted(path.name for path in names.iterdir())) if names.is_dir() else (),
            rules="\n".join(line for text in rules for line in text.splitlines() if not line.startswith(("#", ":"))),
        )


SAVERS = ("iptables-save", "ip6tables-save")


def mountinfo() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


@dataclass(frozen=True)
class Cluster:
    """One running cluster, with all that has to go with it."""

    name: str
    root: Path
    processes: frozenset[tuple[int, str]]
    link: str
    cgroups: tuple[Path, ...]

    @classmethod
    def running(cls, name: str) -> "Cluster":
        root = Path(command("env", "--name", name).stdout.split("KUBECONFIG=")[1].splitlines()[0]).parent
        plan = json.loads((root / "plan.json").read_text())
        cluster = cls(
            name=name,
            root=root,
            processes=processes_below(int((root / "supervisor.lock").read_text())),
            link=f"assay{plan['slot']}",
            cgroups=tuple(Path("/sys/fs/cgroup").glob(f"**/assay-{name}-*")),
        )
        assert len(cluster.processes) > 8
        assert Path("/sys/class/net", cluster.link).exists()
        assert cluster.cgroups
        return cluster

    def remains(self) -> dict[str, object]:
        """Everything of it that is still there."""
        found = {
            "processes": [pid for pid, started in self.processes if is_alive(pid, started)],
            "link": Path("/sys/class/net", self.link).exists(),
            "cgroups": [path for path in self.cgroups if path.exists()],
            "files": self.root.exists(),
        }
        return {what: left for what, left in found.items() if left}


def processes_below(supervisor: int) -> frozenset[tuple[int, str]]:
    """The supervisor and every process of its cluster: those of its children's process namespace and of pods."""
    parents = {int(path.name): parent_of(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = {supervisor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return frozenset((pid, start_of(pid)) for pid in found)


def parent_of(pid: int) -> int:
    return int(fields_of(pid)[1] or 0)


def start_of(pid: int) -> str:
    return fields_of(pid)[19]


def is_alive(pid: int, started: str) -> bool:
    """Whether just this process lives; one that is dead and waits for its parent to notice does not."""
    fields = fields_of(pid)
    return fields[19] == started and fields[0] != "Z"


def fields_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, empty ones for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return [""] * 50


@pytest.fixture(scope="module")
def machine() -> Machine:
    command("setup")
    return Machine.now()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Names of clusters that this test alone uses; whatever still runs afterwards is ended."""
    given: list[str] = []

    def give(suffix: str) -> str:
        given.append(f"test-{os.getpid()}-{suffix}")
        return given[-1]

    yield give
    for each in given:
        command("down", "--name", each)


def test_a_cluster_that_is_taken_down_leaves_nothing(machine: Machine, name: Callable[[str], str]) -> None:
    ours = name("down")
    command("up", "--name", ours)
    cluster = Cluster.running(ours)
    assert Machine.now() == machine, "the machine changes while a cluster runs"

    command("up", "--name", ours)
    assert Cluster.running(ours).link == cluster.link

    command("down", "--name", ours)
    assert cluster.remains() == {}
    assert Machine.now() == machine


def test_two_clusters_live_side_by_side_and_end_with_their_owners(machine: Machine, name: Callable[[str], str]) -> None:
    first, second = name("parent"), name("foreground")
    parent = subprocess.Popen(("sleep", "600"))
    starting = start("up", "--name", first, "--with-parent", str(parent.pid))
    foreground = start("up", "--name", second, "--foreground")
    assert starting.wait() == 0
    assert eventually(lambda: "ready" in command("status", "--name", second).stdout)
    bound, stayed = Cluster.running(first), Cluster.running(second)
    assert bound.link != stayed.link

    parent.kill()
    parent.wait()
    assert eventually(lambda: bound.remains() == {}, 20), bound.remains()
    assert command("kubectl", "--name", second, "get", "--raw", "/readyz").stdout == "ok"

    foreground.send_signal(signal.SIGINT)
    assert foreground.wait() == 0
    assert stayed.remains() == {}
    assert Machine.now() == machine


def test_a_killed_foreground_command_takes_its_cluster_along(machine: Machine, name: Callable[[str], str]) -> None:
    ours = name("killed")
    foreground = start("up", "--name", ours, "--foreground")
    assert eventually(lambda: "ready" in command("status", "--name", ours).stdout)
    cluster = Cluster.running(ours)

    foreground.kill()
    foreground.wait()
    assert eventually(lambda: cluster.remains() == {}, 20), cluster.remains()
    assert Machine.now() == machine


def test_what_a_killed_supervisor_leaves_does_not_disturb_the_next_start(
    machine: Machine, name: Callable[[str], str]
) -> None:
    ours = name("stale")
    command("up", "--name", ours)
    cluster = Cluster.running(ours)
    os.kill(int((cluster.root / "supervisor.lock").read_text()), signal.SIGKILL)
    assert eventually(lambda: "processes" not in cluster.remains(), 20)
    assert "not running" in command("status", "--name", ours).stdout

    command("up", "--name", ours)
    assert command("kubectl", "--name", ours, "get", "--raw", "/readyz").stdout == "ok"
    command("down", "--name", ours)
    assert cluster.remains() == {}
    assert Machine.now() == machine


def test_the_death_of_a_component_is_told_and_ends_the_cluster(machine: Machine, name: Callable[[str], str]) -> None:
    ours = name("crash")
    command("up", "--name", ours, "--profile", "simulated")
    cluster_root = Path(command("env", "--name", ours).stdout.split("KUBECONFIG=")[1].splitlines()[0]).parent
    victims = processes_below(int((cluster_root / "supervisor.lock").read_text()))
    etcd = next(pid for pid, _ in victims if Path(f"/proc/{pid}/comm").read_text() == "etcd\n")
    os.kill(etcd, signal.SIGKILL)

    assert eventually(lambda: "failed" in command("status", "--name", ours).stdout, 20)
    assert "etcd was killed by SIGKILL" in command("status", "--name", ours).stdout
    assert command("logs", "--name", ours, "kube-apiserver").stdout
    assert Machine.now() == machine


def test_a_kubeconfig_of_the_user_wins(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("mine")
    environment = {"KUBECONFIG": str(config), "ASSAY_CACHE": str(tmp_path / "cache")}
    command("up", environment=environment)
    printed = command("env", environment=environment).stdout

    assert f"export KUBECONFIG={config}\n" in printed
    assert config.read_text() == "mine"
    assert not (tmp_path / "cache").exists()
