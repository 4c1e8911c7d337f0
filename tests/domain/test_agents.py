"""The agent's pod: what it is told, what it may reach, and that its key lies in a Secret alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from assay.api import v1alpha1 as api
from assay.domain.agents import AgentPlace, agent_of, agent_secret_of
from assay.domain.manifests import Owner

TEMPLATE = yaml.safe_load((Path(__file__).parents[2] / "job_templates" / "agent.yaml").read_text())
OWNER = Owner(namespace="runs", name="episode", uid="u", epoch="e", kind="AgentEpisode")
PLACE = AgentPlace(url="http://10.0.0.1:8080", environment="rebench", split="train", task="tv-1")


def made(**fields: Any) -> dict[str, Any]:
    return agent_of(api.Agent(image="agent:1", **fields), owner=OWNER, place=PLACE, deadline=60, template=TEMPLATE)


def test_an_agent_is_told_where_its_task_is() -> None:
    variables = {entry["name"]: entry.get("value") for entry in made()["spec"]["containers"][0]["env"]}
    assert variables["ASSAY_URL"] == "http://10.0.0.1:8080"
    assert (variables["ASSAY_ENVIRONMENT"], variables["ASSAY_SPLIT"], variables["ASSAY_TASK"]) == (
        "rebench",
        "train",
        "tv-1",
    )


def test_the_key_is_in_the_secret_and_never_in_the_pod() -> None:
    secret, pod = agent_secret_of(OWNER, "the-key"), made()
    assert base64.b64decode(secret["data"]["key"]) == b"the-key"
    assert "the-key" not in json.dumps(pod)
    references = [
        entry["valueFrom"]["secretKeyRef"] for entry in pod["spec"]["containers"][0]["env"] if "valueFrom" in entry
    ]
    assert {reference["name"] for reference in references} == {secret["metadata"]["name"]}


def test_a_users_variable_may_replace_ours_because_it_comes_later() -> None:
    env = made(env=[{"name": "ASSAY_SPLIT", "value": "mine"}])["spec"]["containers"][0]["env"]
    assert [entry["value"] for entry in env if entry["name"] == "ASSAY_SPLIT"][-1] == "mine"


def test_an_agents_pod_is_shut_in_and_goes_with_its_episode() -> None:
    pod = made(command=["run", "me"])
    assert pod["metadata"]["labels"]["assay.dev/network"] == "agent"
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "AgentEpisode"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["activeDeadlineSeconds"] == 60
    assert pod["spec"]["containers"][0]["command"] == ["run", "me"]
    assert made()["metadata"]["name"] == pod["metadata"]["name"]
