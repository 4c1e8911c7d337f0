"""The demo's second half: what it offers, and what it says of rewards."""

from __future__ import annotations

import json
import sys
from typing import Any

from assay.cli.evaluate import RUN_ANNOTATION
from conftest import ROOT

if str(ROOT / "dev") not in sys.path:
    sys.path.insert(0, str(ROOT / "dev"))

from demo_episodes import AGENTS, agent_episodes, reward_rows, wrong_predictions


def episode(offered: str, reward: float | None, task: str = "t") -> dict[str, Any]:
    return {
        "metadata": {"name": f"ev-{offered}", "annotations": {RUN_ANNOTATION: offered}},
        "spec": {"validation": task},
        "status": {"phase": "Finished", "reward": reward, "submissions": [{}], "reason": "Resolved"},
    }


def test_a_reward_is_held_against_what_was_offered() -> None:
    rows = reward_rows([episode("gold", 1.0), episode("wrong", 1.0, "s"), episode("empty", None, "u")])
    assert [(row[0], row[3], row[-1]) for row in rows] == [
        ("s", "1", "DESERVED 0.0"),
        ("t", "1", "as deserved"),
        ("u", "-", "DESERVED 0.0"),
    ]


def test_an_agents_episode_is_known_by_its_name() -> None:
    item = episode("", 1.0)
    item["metadata"] = {"name": "agent-replays-the-answer"}
    (row,) = reward_rows([item])
    assert row[-1] == "as deserved"


def test_each_agent_has_an_episode_and_one_alone_knows_the_answer() -> None:
    made = agent_episodes("image", "script", "the answer")
    assert [item["metadata"]["name"] for item in made] == list(AGENTS)
    answers = [item["spec"]["agent"]["env"][0]["value"] for item in made]
    assert answers == ["the answer", ""]


def test_a_wrong_prediction_is_made_for_every_task() -> None:
    text = wrong_predictions([{"spec": {"task": {"id": "a"}}}, {"spec": {"task": {"id": "b"}}}])
    assert [json.loads(line)["instance_id"] for line in text.splitlines()] == ["a", "b"]
