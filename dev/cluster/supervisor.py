"""The owner of one cluster: makes it, watches it, and takes it away when it is told to or when its parent dies.

One process per cluster, outside of the cluster's namespaces. Whatever ends it, the kernel ends the node with it; what
then remains (cgroups, the directory) the next `up` or `down` removes.
"""

import argparse
import ctypes
import json
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import cgroups
from binaries import path_of
from configs import PAUSE_IMAGE, write_configs
from layout import SOURCE, Layout
from locks import claim, hold
from pause_image import write_pause_image
from pki import make_pki
from plan import SLOTS, Plan, Profile, slot_name
from probes import Api, first_unready
from progress import Failure
from remains import delete_link, remove_remains
from simulation import write_simulation
from state import Phase, Status

_PR_SET_PDEATHSIG = 1
_PATIENCE_TO_START = 240.0
_NAMESPACES = ("--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "--kill-child=SIGKILL")


class Ended(Exception):  # noqa: N818 - not an error: how a supervisor's work is over
    """The cluster is to go: nobody needs it any more."""


class Supervisor:
    """One cluster's life, from its plan to its end."""

    def __init__(self, layout: Layout, *, profile: Profile, enforce: bool, parent: int | None, starter: int) -> None:
        self._layout = layout
        self._slot, self._claim = _claim_slot()
        self._plan = Plan(
            name=layout.name, clusters=str(layout.clusters), profile=profile, enforce=enforce, slot=self._slot
        )
        self._parent = _watch(parent) if parent else None
        self._starter = _watch(starter)
        self._namespaces: subprocess.Popen[str] | None = None
        self._node: int | None = None
        self._wakeup = _signals_as_bytes()

    def live(self) -> None:
        """Make the cluster, tell when it is ready, and return when it is over."""
        self._prepare()
        node_process = self._launch()
        self._wait_until_ready(node_process)
        Status(phase=Phase.READY).write(self._layout)
        while True:
            self._watch_for(1.0)

    def end(self) -> None:
        """Kill every process of the cluster and wait until the last one is gone."""
        if self._node is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._node, signal.SIGKILL)
            select.select([self._node], [], [], 30)
        if self._namespaces is not None:
            self._namespaces.kill()
            self._namespaces.wait()
            delete_link(self._plan)

    def _prepare(self) -> None:
        layout = self._layout
        for directory in (layout.config, layout.logs, layout.data, layout.simulated_logs):
            directory.mkdir(parents=True, exist_ok=True)
        self._plan.write()
        self._say("certificates and configuration")
        make_pki(self._plan)
        if self._plan.profile is Profile.NODE:
            write_configs(self._plan)
            target = layout.config / "pause.tar"
            write_pause_image(path_of("pause"), PAUSE_IMAGE, target, machine=platform.machine())
            cgroups.make(self._plan.cgroup)
        else:
            write_simulation(self._plan)

    def _launch(self) -> int:
        """Start the node in namespaces of its own, then push the link into them; the node's process id."""
        with (self._layout.logs / "node.log").open("ab") as log:
            self._namespaces = subprocess.Popen(
                ("unshare", *_NAMESPACES, sys.executable, str(SOURCE / "node.py"), *self._arguments()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
            )
        assert self._namespaces.stdin is not None
        assert self._namespaces.stdout is not None
        if not self._namespaces.stdout.readline():
            raise Failure(f"no namespaces for the cluster: {_tail(self._layout.logs / 'node.log')}")
        outer = self._namespaces.pid
        inner = int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])
        self._node = os.pidfd_open(inner)
        self._make_link(outer)
        self._namespaces.stdin.write("link\n")
        self._namespaces.stdin.flush()
        return inner

    def _arguments(self) -> tuple[str, str]:
        return str(self._layout.clusters), self._layout.name

    def _make_link(self, process: int) -> None:
        link = self._plan.link
        delete_link(self._plan)  # one that a killed supervisor left
        commands = (
            f"link add {link} type veth peer name eth0 netns {process}",
            f"address add {self._plan.host_address}/30 dev {link}",
            f"link set {link} up",
        )
        done = subprocess.run(
            ("ip", "-batch", "-"), input="\n".join(commands), text=True, capture_output=True, check=False
        )
        if done.returncode:
            raise Failure(f"cannot make the link {link}: {done.stderr.strip()}")

    def _wait_until_ready(self, node_process: int) -> None:
        api = Api(self._plan)
        deadline = time.monotonic() + _PATIENCE_TO_START
        while (awaited := first_unready(self._plan, api, node_process)) is not None:
            self._say(awaited)
            if time.monotonic() > deadline:
                raise Failure(f"not ready after {_PATIENCE_TO_START:.0f} s, still waiting for {awaited}")
            self._watch_for(0.1, starting=True)

    def _say(self, awaited: str) -> None:
        Status(phase=Phase.STARTING, message=awaited).write(self._layout)

    def _watch_for(self, seconds: float, *, starting: bool = False) -> None:
        """Watch for so long; raise when the cluster is over, well or badly."""
        watched = [self._wakeup, self._node, self._parent, self._starter if starting else None]
        readable, _, _ = select.select([each for each in watched if each is not None], [], [], seconds)
        if self._wakeup in readable:
            raise Ended("told to end")
        if self._node in readable:
            raise self._failure_of_node()
        if readable:
            raise Ended("the process that this cluster was for is gone")
        if not self._layout.alive.exists():
            raise Ended("its directory is gone")

    def _failure_of_node(self) -> "ComponentFailure":
        try:
            exited = json.loads(self._layout.exited.read_text())
        except FileNotFoundError:
            return ComponentFailure("node", "the node's first process ended")
        name, code = exited["component"], exited["exit"]
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return ComponentFailure(name, f"{name} {how}")


class ComponentFailure(Failure):
    """A component ended that should run for as long as its cluster."""

    def __init__(self, component: str, message: str) -> None:
        super().__init__(message)
        self.component = component


def _claim_slot() -> tuple[int, socket.socket]:
    for slot in range(SLOTS):
        claimed = claim(slot_name(slot))
        if claimed is not None:
            return slot, claimed
    raise Failure(f"all {SLOTS} address slots of this machine are taken")


def _watch(process: int) -> int:
    """A descriptor that becomes readable when the process ends."""
    try:
        return os.pidfd_open(process)
    except ProcessLookupError as error:
        raise Ended(f"process {process} is gone already") from error


def _signals_as_bytes() -> int:
    """A descriptor that becomes readable when this process is told to end."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.detach())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return reading.detach()


def _die_with_parent() -> None:
    """In the child: the kernel kills it when this process ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def main() -> None:
    """Own the cluster named on the command line until it is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("clusters", type=Path)
    parser.add_argument("name")
    parser.add_argument("--profile", type=Profile, required=True)
    parser.add_argument("--no-policy", action="store_true")
    parser.add_argument("--parent", type=int)
    parser.add_argument("--starter", type=int, required=True)
    options = parser.parse_args()
    layout = Layout(options.name, options.clusters)
    if hold(layout.alive) is None:
        sys.exit(f"cluster {layout.name!r} has a supervisor already")
    sys.exit(_own(layout, options))


def _own(layout: Layout, options: argparse.Namespace) -> int:
    supervisor = None
    failure: Status | None = None
    try:
        supervisor = Supervisor(
            layout,
            profile=options.profile,
            enforce=not options.no_policy,
            parent=options.parent,
            starter=options.starter,
        )
        supervisor.live()
    except Ended as ended:
        sys.stderr.write(f"ended: {ended}\n")
    except (Failure, OSError, subprocess.SubprocessError) as error:
        component = error.component if isinstance(error, ComponentFailure) else ""
        failure = Status(phase=Phase.FAILED, message=str(error), component=component)
    if supervisor is not None:
        supervisor.end()
    if failure is not None:
        failure.write(layout)
    remove_remains(layout, keep_logs=failure is not None)
    return 1 if failure else 0


if __name__ == "__main__":
    main()
