"""Starting and ending clusters from a command: `up` waits for the supervisor's word, `down` for its end."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager

from binaries import set_up
from layout import SOURCE, Layout
from locks import exclusive
from plan import Profile, read_plan
from progress import Failure, say
from remains import has_remains, remove_remains
from state import Phase, Status, read_status, supervisor_of

_POLL = 0.05
_PATIENCE_TO_END = 60.0


def bring_up(
    layout: Layout, *, profile: Profile, enforce: bool, parent: int | None = None, foreground: bool = False
) -> None:
    """Return when the cluster is ready (in the foreground: when it is over); raise when it failed."""
    _require_root()
    set_up()
    with _turn(layout):
        if _runs_already(layout, profile=profile, enforce=enforce):
            supervisor = None
        else:
            supervisor = _start(layout, profile=profile, enforce=enforce, parent=os.getpid() if foreground else parent)
    if foreground:
        _stay(layout, supervisor)


def take_down(layout: Layout) -> None:
    """End the cluster and remove all that is left of it; nothing to do is no error."""
    if not has_remains(layout) and not layout.command_lock.exists():
        return
    _require_root()
    with _turn(layout):
        _end(layout)
        layout.command_lock.unlink(missing_ok=True)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise Failure("a local cluster needs root (namespaces, mounts); or set KUBECONFIG to a cluster of your own")


def _turn(layout: Layout) -> AbstractContextManager[None]:
    return exclusive(layout.command_lock, waiting=f"another command works on cluster {layout.name!r}; waiting")


def _runs_already(layout: Layout, *, profile: Profile, enforce: bool) -> bool:
    """Whether just this cluster is there and ready; another one of the same name is an error, remains are none."""
    status, plan = read_status(layout), read_plan(layout)
    if supervisor_of(layout) is None or status is None or plan is None or status.phase is not Phase.READY:
        return False
    if (plan.profile, plan.enforce) != (profile, enforce):
        raise Failure(f"cluster {layout.name!r} runs with other settings ({describe(layout)}); take it down first")
    return True


def describe(layout: Layout) -> str:
    """The settings of a cluster in words."""
    plan = read_plan(layout)
    if plan is None:
        return "no settings"
    return f"profile {plan.profile}, network policies {'enforced' if plan.enforce else 'not enforced'}"


def _start(layout: Layout, *, profile: Profile, enforce: bool, parent: int | None) -> subprocess.Popen[bytes]:
    _end(layout)
    layout.logs.mkdir(parents=True)
    supervisor = _spawn(layout, profile=profile, enforce=enforce, parent=parent)
    try:
        _wait_until_ready(layout, supervisor)
    except BaseException:
        supervisor.terminate()
        supervisor.wait()
        raise
    return supervisor


def _spawn(layout: Layout, *, profile: Profile, enforce: bool, parent: int | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SOURCE / "supervisor.py"), str(layout.clusters), layout.name]
    command += ["--profile", profile, "--starter", str(os.getpid())]
    command += ["--parent", str(parent)] if parent else []
    command += [] if enforce else ["--no-policy"]
    with (layout.logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )


def _wait_until_ready(layout: Layout, supervisor: subprocess.Popen[bytes]) -> None:
    """Say what is waited for until nothing is; show the log of what failed."""
    said = ""
    while True:
        over = supervisor.poll() is not None
        status = read_status(layout)
        if status is not None and status.phase is Phase.READY:
            say(f"cluster {layout.name!r} is ready")
            return
        if over:
            raise Failure(_story_of(layout, status))
        if status is not None and status.message != said:
            said = status.message
            say(f"waiting for {said}")
        time.sleep(_POLL)


def _story_of(layout: Layout, status: Status | None) -> str:
    """Why a cluster did not come up, with the last lines of the log that knows."""
    failed = status is not None and status.phase is Phase.FAILED
    message = status.message if status is not None and failed else "its supervisor died"
    component = (status.component if status is not None and failed else "") or "supervisor"
    log = layout.logs / f"{component}.log"
    lines = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
    told = [f"cluster {layout.name!r} failed: {message}", *(f"  {component}| {line}" for line in lines)]
    return "\n".join([*told, f"all logs: {layout.logs}"] if layout.logs.exists() else told)


def _end(layout: Layout) -> None:
    """End the supervisor, by force if it does not listen, and remove what it left."""
    supervisor = supervisor_of(layout)
    if supervisor:
        _end_process(supervisor)
    remove_remains(layout)


def _end_process(process: int) -> None:
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        for number, patience in ((signal.SIGTERM, _PATIENCE_TO_END), (signal.SIGKILL, 10)):
            signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], patience)[0]:
                return
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def _stay(layout: Layout, supervisor: subprocess.Popen[bytes] | None) -> None:
    """Stay with a cluster that is ours until it ends or we are told to; the supervisor ends with us in any case."""
    if supervisor is None:
        raise Failure(f"cluster {layout.name!r} runs already, and not in this foreground")
    say("in the foreground; Ctrl-C ends the cluster")
    try:
        code = supervisor.wait()
    except KeyboardInterrupt:
        say("ending the cluster")
        supervisor.terminate()
        supervisor.wait()
        return
    if code:
        raise Failure(_story_of(layout, read_status(layout)))
