"""``make demo``: a cluster, the chart, every example by one ``kubectl apply``, verdicts, predictions, agents, the report.

    python dev/demo.py [--only NAME,NAME] [--name CLUSTER]

Nothing here knows what a verdict should be but by the manifests' own annotation; the process ends with 1 when a verdict
or a reward is another one.  The cluster ends with this process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo_episodes import HEAD, play, reward_rows
from demo_report import AS_EXPECTED, report, step_rows, table, verdict_row

ROOT = Path(__file__).parents[1]
CLUSTER = (sys.executable, str(ROOT / "dev" / "cluster" / "cluster.py"))
ASSAY = (sys.executable, "-m", "assay")
NAMESPACE = "assay-runs"
LIMIT_SECONDS = 1500
STEPS: list[tuple[str, float]] = []


def step(name: str, message: str) -> None:
    """Note the end of a step for the report, and print it."""
    STEPS.append((name, time.monotonic()))
    say(message)


def say(message: str) -> None:
    """Print a step with the time since the beginning."""
    print(f"[demo {time.monotonic() - STARTED:6.1f} s] {message}", flush=True)


def run(*command: str, env: dict[str, str] | None = None, quiet: bool = False) -> str:
    """Run a command and return its output; a failure ends the demo with what it said."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if quiet else None,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def environment(cluster: str) -> dict[str, str]:
    """Environment of the cluster's clients."""
    said = run(*CLUSTER, "env", "--name", cluster)
    pairs = dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines() if "=" in line)
    path = f"{run(*CLUSTER, 'bin').strip()}:{os.environ['PATH']}"
    own = {"PATH": path, "PYTHONPATH": str(ROOT / "operator")}
    return os.environ | {key: value.strip("'") for key, value in pairs.items()} | own


def install(env: dict[str, str], cluster: str, *, fraction: float = 0.4) -> str:
    """Build, push and install Assay by its chart, wait until it is ready, and return its image."""
    archive = run(sys.executable, "dev/image/build.py").strip().splitlines()[-1]
    say(f"image: {archive}")
    reference = run(*CLUSTER, "load", "--name", cluster, archive, "assay:demo").strip().splitlines()[-1]
    values = ("--set", f"image.reference={reference}", "--set-json", f"operator.cpuRequestFraction={fraction}")
    helm = ("helm", "upgrade", "--install", "assay", "charts/assay", "-n", "assay-system", "--create-namespace")
    run(*helm, *values, "--wait", "--timeout", "180s", env=env, quiet=True)
    return reference


def objects(env: dict[str, str]) -> list[dict[str, object]]:
    """All TaskValidations."""
    items: list[dict[str, object]] = json.loads(run("kubectl", "get", "tv", "-n", NAMESPACE, "-o", "json", env=env))[
        "items"
    ]
    return items


def wait(env: dict[str, str]) -> list[dict[str, object]]:
    """Show progress until every object is complete."""
    shown = -1
    while True:
        found = objects(env)
        done = sum(item.get("status", {}).get("phase") == "Complete" for item in found)  # type: ignore[attr-defined]
        if done != shown:
            say(f"{done} of {len(found)} tasks have a verdict")
            shown = done
        if done == len(found) or time.monotonic() - STARTED > LIMIT_SECONDS:
            return found
        time.sleep(2)


def main() -> int:
    """Run the demo; 0 when every verdict is the expected one and every reward the deserved one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of examples, separated by commas (default: all)")
    parser.add_argument("--name", default="demo", help="the cluster's name")
    options = parser.parse_args()
    only = ("--only", options.only)
    run(*CLUSTER, "up", "--name", options.name, "--with-parent", str(os.getpid()))
    try:
        env = environment(options.name)
        step("cluster", "the cluster is ready")
        run(sys.executable, "examples/build.py", "images", *only, env=env)
        run(sys.executable, "examples/build.py", "push", *only, "--registry", env["ASSAY_REGISTRY"], env=env)
        step("images of the examples", "the examples' images are pushed")
        image = install(env, options.name)
        step("image and installation of Assay", "Assay runs in the cluster")
        with tempfile.TemporaryDirectory() as folder:
            manifests = (
                sys.executable,
                "examples/build.py",
                "manifests",
                *only,
                "--registry",
                env["ASSAY_REGISTRY"],
                "--out",
                folder,
            )
            run(*manifests, env=env)
            run("kubectl", "apply", "--server-side", "-n", NAMESPACE, "-f", folder, env=env)
        step("kubectl apply", "all tasks are applied by one kubectl apply")
        found = wait(env)
        step("runs and verdicts", "the tasks have run")
        print(report(found, step_rows(STEPS, STARTED)), flush=True)
        wrong = [item for item in found if verdict_row(item)[-1] != AS_EXPECTED]
        say(f"{len(found) - len(wrong)} of {len(found)} verdicts are as expected")
        undeserved = second_half(env, image, found)
        page = ROOT / "report.html"
        run(*ASSAY, "report", "--title", "Quality report: make demo", "--out", str(page), env=env)
        step("quality report", f"the quality report: {page}")
        return 1 if wrong or undeserved else 0
    finally:
        run(*CLUSTER, "down", "--name", options.name)


def second_half(env: dict[str, str], image: str, found: list[dict[str, object]]) -> int:
    """Predictions and agents for the valid tasks; the number of rewards that are not the deserved ones."""
    valid = [item for item in found if item.get("status", {}).get("verdict") == "Valid"]  # type: ignore[attr-defined]
    script = (ROOT / "examples" / "agents" / "replay.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        episodes = play(run, ASSAY, env, Path(folder), valid, image, script, NAMESPACE)
    step("predictions and agents", f"{len(episodes)} episodes are over")
    rows = reward_rows(episodes)
    print(table(HEAD, rows), flush=True)
    undeserved = [row for row in rows if row[-1] != "as deserved"]
    say(f"{len(rows) - len(undeserved)} of {len(rows)} rewards are as deserved")
    return len(undeserved)


STARTED = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
