"""The demo's second half: predictions and agents for the tasks that turned out valid, and the quality report.

Pure but for ``play``, which runs the same commands that a user would.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

WRONG = (
    "diff --git a/unrelated.txt b/unrelated.txt\nnew file mode 100644\n--- /dev/null\n+++ b/unrelated.txt\n"
    "@@ -0,0 +1 @@\n+This changes nothing that a test looks at.\n"
)
DESERVED = {"gold": 1.0, "empty": 0.0, "wrong": 0.0}
AGENT_TASK = "valid"
AGENTS = {"agent-replays-the-answer": 1.0, "agent-does-nothing": 0.0}
RUN = "assay.dev/run"

Run = Callable[..., str]
Items = Sequence[Mapping[str, Any]]


def wrong_predictions(valid: Items) -> str:
    """Predictions that change nothing of use, one a task, as JSON lines."""
    rows = [
        {"instance_id": item["spec"]["task"]["id"], "model_name_or_path": "wrong", "model_patch": WRONG}
        for item in valid
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def agent_episodes(image: str, script: str, patch: str) -> list[dict[str, Any]]:
    """One episode whose agent knows the answer, and one whose agent looks around and goes."""
    patches = {"agent-replays-the-answer": patch, "agent-does-nothing": ""}
    return [
        {
            "apiVersion": "assay.dev/v1alpha1",
            "kind": "AgentEpisode",
            "metadata": {"name": name},
            "spec": {
                "validation": AGENT_TASK,
                "agent": {
                    "image": image,
                    "command": ["python3", "-I", "-c", script],
                    "env": [{"name": "REPLAY_PATCH", "value": text}],
                },
            },
        }
        for name, text in patches.items()
    ]


def reward_rows(episodes: Items) -> list[tuple[str, ...]]:
    """One line an episode: task, what was offered, phase, reward, submissions, calls, and whether it is deserved."""
    rows = []
    for item in sorted(episodes, key=lambda item: (item["spec"]["validation"], item["metadata"]["name"])):
        name, status = item["metadata"]["name"], item.get("status") or {}
        offered = (item["metadata"].get("annotations") or {}).get(RUN) or name
        deserved = DESERVED.get(offered, AGENTS.get(name))
        reward = status.get("reward")
        rows.append(
            (
                item["spec"]["validation"],
                offered,
                status.get("phase", "Pending"),
                "-" if reward is None else f"{reward:g}",
                str(len(status.get("submissions") or ())),
                str((status.get("toolCalls") or {}).get("count", "")),
                status.get("reason", ""),
                "as deserved" if reward == deserved else f"DESERVED {deserved}",
            )
        )
    return rows


HEAD = ("TASK", "OFFERED", "PHASE", "REWARD", "SUBMISSIONS", "CALLS", "REASON", "")


def play(  # noqa: PLR0917 - what the demo has at hand
    run: Run,
    assay: Sequence[str],
    env: dict[str, str],
    folder: Path,
    valid: Items,
    image: str,
    script: str,
    namespace: str,
) -> Items:
    """Evaluate predictions, let agents work, and return all episodes once they are over."""
    agents = next((item for item in valid if item["metadata"]["name"] == AGENT_TASK), None)
    if agents is not None:
        manifest = {
            "apiVersion": "v1",
            "kind": "List",
            "items": agent_episodes(image, script, agents["spec"]["task"]["patch"]),
        }
        (folder / "agents.json").write_text(json.dumps(manifest))
        run("kubectl", "apply", "--server-side", "-n", namespace, "-f", str(folder / "agents.json"), env=env)
    (folder / "wrong.jsonl").write_text(wrong_predictions(valid))
    for what, name in (("gold", "gold"), ("empty", "empty"), (str(folder / "wrong.jsonl"), "wrong")):
        run(*assay, "evaluate", what, "--run-id", name, "--out", str(folder / "reports"), env=env)
    if agents is not None:
        names = [f"ae/{name}" for name in AGENTS]
        run("kubectl", "wait", "--for=condition=Complete", *names, "-n", namespace, "--timeout=600s", env=env)
    found: Items = json.loads(run("kubectl", "get", "ae", "-n", namespace, "-o", "json", env=env))["items"]
    return found
