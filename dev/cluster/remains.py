"""What no namespace takes away with it, removed: the link, the cgroups, the directory.

Right after a cluster's end and for what a killed supervisor left; doing it twice does no harm.
"""

import shutil
import subprocess
import time
from contextlib import nullcontext
from pathlib import Path

import cgroups
from layout import Layout
from locks import claim
from plan import Plan, read_plan
from progress import Failure


def has_remains(layout: Layout) -> bool:
    """Whether anything of the cluster is there, alive or not."""
    return layout.root.exists() or cgroups.exist(layout.identity)


def remove_remains(layout: Layout, *, keep_logs: bool = False) -> None:
    """Remove everything of a cluster whose processes are dead or dying."""
    left = cgroups.remove(layout.identity)
    if left:
        raise Failure(f"processes of cluster {layout.name!r} are still there: see {left[0]}/**/cgroup.procs")
    plan = read_plan(layout)
    if plan is not None:
        _remove_link(plan)
    if keep_logs:
        _remove_files(layout.data)
    else:
        _remove_files(layout.root)


def _remove_link(plan: Plan) -> None:
    """Remove the link of a dead supervisor, unless a living one has taken the slot, and with it the name, since then."""
    with claim(plan.slot_name) or nullcontext() as slot:
        if slot is not None:
            delete_link(plan)


def delete_link(plan: Plan) -> None:
    """Delete the veth pair: by itself it vanishes with the node's network namespace, but only some time after it."""
    if Path(f"/sys/class/net/{plan.link}").exists():
        subprocess.run(("ip", "link", "delete", plan.link), capture_output=True, check=False)


def _remove_files(root: Path) -> None:
    deadline = time.monotonic() + 5
    while root.exists():
        shutil.rmtree(root, ignore_errors=time.monotonic() < deadline)
