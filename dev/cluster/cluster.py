"""A real Kubernetes on this machine, for development, tests and CI.

    python3 dev/cluster/cluster.py up && eval "$(python3 dev/cluster/cluster.py env)" && kubectl get nodes

A KUBECONFIG of the user's own always wins: then nothing is started and nothing is touched.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from binaries import bin_dir, path_of, set_up
from images import push
from layout import Layout, all_layouts, cache_dir, layout_of
from lifecycle import bring_up, describe, take_down
from plan import Profile, read_plan
from progress import Failure, say
from state import Phase, read_status, supervisor_of


def foreign_kubeconfig() -> str | None:
    """The user's own KUBECONFIG; None when there is none or when it is one of ours."""
    chosen = os.environ.get("KUBECONFIG", "")
    ours = (cache_dir() / "clusters").resolve()
    paths = [Path(path).resolve() for path in chosen.split(":") if path]
    return None if all(path.is_relative_to(ours) for path in paths) else chosen


def run_setup(_: argparse.Namespace) -> None:
    """Install packages and build programs."""
    set_up()
    say("everything is installed")


def run_up(options: argparse.Namespace) -> None:
    """Start a cluster and wait until it is ready."""
    if foreign := foreign_kubeconfig():
        say(f"KUBECONFIG is set: using the cluster of {foreign}, starting none")
        return
    bring_up(
        layout_of(options.name),
        profile=options.profile,
        enforce=options.enforce,
        parent=options.with_parent,
        foreground=options.foreground,
    )


def run_down(options: argparse.Namespace) -> None:
    """End a cluster, or all."""
    for layout in all_layouts() if options.all else [layout_of(options.name)]:
        take_down(layout)
        say(f"cluster {layout.name!r} is gone")


def run_env(options: argparse.Namespace) -> None:
    """Print what a shell needs to use the cluster."""
    path = f"export PATH={shlex.quote(str(bin_dir()))}:$PATH"
    if foreign := foreign_kubeconfig():
        registry = os.environ.get("ASSAY_REGISTRY")
        lines = [f"export KUBECONFIG={shlex.quote(foreign)}"]
        lines += [f"export ASSAY_REGISTRY={shlex.quote(registry)}"] if registry else []
    else:
        layout = _running(options.name)
        lines = [f"export KUBECONFIG={shlex.quote(str(layout.kubeconfig))}"]
        lines += [f"export {name}={value}" for name, value in _addresses(layout).items()]
    print("\n".join([*lines, *([path] if bin_dir().is_dir() else [])]))


def _addresses(layout: Layout) -> Mapping[str, str]:
    plan = read_plan(layout)
    assert plan is not None
    return {"ASSAY_REGISTRY": plan.registry, "ASSAY_HOST": plan.host_address}


def run_status(options: argparse.Namespace) -> None:
    """Print one line a cluster."""
    if foreign := foreign_kubeconfig():
        print(f"KUBECONFIG is set: {foreign}")
    for layout in [layout_of(options.name)] if options.name else all_layouts():
        print(f"{layout.name}: {_state_of(layout)}")


def _state_of(layout: Layout) -> str:
    status, supervisor = read_status(layout), supervisor_of(layout)
    if status is None or (supervisor is None and status.phase is not Phase.FAILED):
        return "not running"
    if status.phase is Phase.READY:
        return f"ready, {describe(layout)}, supervisor {supervisor}, kubeconfig {layout.kubeconfig}"
    return f"{status.phase}: {status.message}"


def run_logs(options: argparse.Namespace) -> None:
    """Print a component's log, or the names of those that there are."""
    logs = layout_of(options.name).logs
    if not options.component:
        print("\n".join(sorted(path.stem for path in logs.glob("*.log"))))
        return
    log = logs / f"{options.component}.log"
    if not log.exists():
        raise Failure(f"no log of {options.component!r} in {logs}")
    sys.stdout.write(log.read_text(errors="replace"))


def run_kubectl(options: argparse.Namespace) -> None:
    """Become kubectl, talking to the cluster."""
    environment = dict(os.environ)
    if not foreign_kubeconfig():
        environment["KUBECONFIG"] = str(_running(options.name).kubeconfig)
    kubectl = path_of("kubectl")
    os.execve(kubectl, [str(kubectl), *options.arguments], environment)


def run_bin(_: argparse.Namespace) -> None:
    """Print the directory of the programs."""
    print(bin_dir())


def run_load(options: argparse.Namespace) -> None:
    """Push an image archive and print the reference that the cluster pulls."""
    if foreign_kubeconfig():
        registry = os.environ.get("ASSAY_REGISTRY")
        if not registry:
            raise Failure("KUBECONFIG is set: set ASSAY_REGISTRY too, to a registry that its cluster can pull from")
    else:
        registry = _addresses(_running(options.name))["ASSAY_REGISTRY"]
    print(push(options.archive, options.image, registry))


def _running(name: str) -> Layout:
    layout = layout_of(name)
    status = read_status(layout)
    if supervisor_of(layout) is None or status is None or status.phase is not Phase.READY:
        raise Failure(f"cluster {name!r} is not running: start it with `up --name {name}`")
    return layout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cluster.py", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], None], *, named: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=(run.__doc__ or "").rstrip("."))
        added.set_defaults(run=run)
        if named:
            added.add_argument("--name", default="assay", help="the cluster's name (default: %(default)s)")
        return added

    command("setup", run_setup, named=False)
    up = command("up", run_up)
    up.add_argument("--profile", type=Profile, choices=list(Profile), default=Profile.NODE)
    up.add_argument(
        *("--no-policy", "--enforce=false"),
        dest="enforce",
        action="store_false",
        help="start without what enforces NetworkPolicies",
    )
    owner = up.add_mutually_exclusive_group()
    owner.add_argument("--foreground", action="store_true", help="stay, and end the cluster with this command")
    owner.add_argument("--with-parent", type=int, metavar="PID", help="end the cluster when this process ends")
    down = command("down", run_down)
    down.add_argument("--all", action="store_true", help="every cluster of this cache")
    command("env", run_env)
    command("status", run_status, named=False).add_argument("--name", help="one cluster only")
    command("logs", run_logs).add_argument("component", nargs="?", help="without it: the names of all")
    command("kubectl", run_kubectl).add_argument("arguments", nargs=argparse.REMAINDER)
    command("bin", run_bin, named=False)
    load = command("load", run_load)
    load.add_argument("archive", type=Path, help="an OCI or docker archive")
    load.add_argument("image", help="NAME:TAG")
    return parser


def main() -> int:
    """Run one command; a failure is a message, not a traceback."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    options = _parser().parse_args()
    try:
        options.run(options)
    except (Failure, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error}\n{error.stderr or ''}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
