"""What no namespace takes away with it, removed: the link, the cgroups, the directory.

Right after a cluster's end and for what a killed supervisor left; doing it twice does no harm.
"""

import shutil
import subprocess
import time
from pathlib import Path

import cgroups
from layout import Layout
from plan import Plan, read_plan
from progress import Failure


def remove_remains(layout: Layout, *, keep_logs: bool = False) -> None:
    """Remove everything of a cluster whose processes are dead or dying."""
    plan = read_plan(layout)
    if plan is not None:
        left = cgroups.remove(plan.cgroup)
        if left:
            raise Failure(f"processes of cluster {layout.name!r} are still there: see {left[0]}/**/cgroup.procs")
        _remove_link(plan)
    if keep_logs:
        _remove_files(layout.data)
    else:
        _remove_files(layout.root)


def _remove_link(plan: Plan) -> None:
    """The pair vanishes with the node's network namespace too, but only some time after it."""
    if not Path(f"/sys/class/net/{plan.link}").exists():
        return
    subprocess.run(("ip", "link", "delete", plan.link), capture_output=True, check=False)


def _remove_files(root: Path) -> None:
    deadline = time.monotonic() + 5
    while root.exists():
        shutil.rmtree(root, ignore_errors=time.monotonic() < deadline)
