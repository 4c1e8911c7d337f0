"""What the chart makes of the episode gateway."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.gateway.settings import load_settings
from conftest import ROOT, TestCluster

pytestmark = pytest.mark.api

CHART = ROOT / "charts" / "assay"
IMAGE = {"image": {"reference": "registry.test/assay@sha256:" + "a" * 64}}
GATEWAY = {
    "replicas": 3,
    "keysSecret": "our-keys",
    "defaultEnvironment": "go",
    "environments": {"go": {"language": "go"}},
    "episode": {"profile": "rebench-v2", "limits": {"idle": "1h"}},
    "logLevel": "DEBUG",
    "podDisruptionBudget": {"enabled": True, "minAvailable": 2},
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"kind": "system"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}


def helm(cluster: TestCluster, *args: str, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("helm", *args, "--namespace", "assay-system", "--values", "-"),
        input=json.dumps(IMAGE | values),
        env=cluster.environment,
        text=True,
        capture_output=True,
        check=False,
    )


def rendered(cluster: TestCluster, **values: Any) -> dict[tuple[str, str], dict[str, Any]]:
    done = helm(cluster, "template", "assay", str(CHART), "--kube-version", "1.36.3", values=values)
    assert done.returncode == 0, done.stderr
    documents = [document for document in yaml.safe_load_all(done.stdout) if document]
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def test_the_gateway_reads_every_setting_of_the_values(api_cluster: TestCluster, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    manifests = rendered(api_cluster, gateway=GATEWAY, runs={"namespace": "other-runs"})
    file.write_text(manifests["ConfigMap", "assay-gateway"]["data"]["config.yaml"])
    settings = load_settings(file)
    assert settings.namespace == "other-runs"
    assert settings.default_environment == "go"
    assert settings.environments == GATEWAY["environments"]
    assert settings.episode == GATEWAY["episode"]
    assert not settings.artifacts_url
    assert settings.log_level == "DEBUG"
    pod = manifests["Deployment", "assay-gateway"]["spec"]["template"]["spec"]
    mounts = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    for path in (settings.keys_file, settings.master_key_file):
        assert str(Path(path).parent) in mounts


def test_the_gateway_may_do_what_it_does_and_no_more(api_cluster: TestCluster) -> None:
    rules = rendered(api_cluster)["Role", "assay-gateway"]["rules"]
    granted = {resource: set(rule["verbs"]) for rule in rules for resource in rule["resources"]}
    assert granted == {
        "agentepisodes": {"create", "get", "list", "watch", "patch", "delete"},
        "taskvalidations": {"get", "list", "watch"},
    }


def test_the_gateways_pods_can_be_told_from_others_by_the_sandboxes_policy(api_cluster: TestCluster) -> None:
    manifests = rendered(api_cluster)
    for name in ("assay-gateway", "assay-operator"):
        labels = manifests["Deployment", name]["spec"]["template"]["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "assay"
        assert labels["assay.dev/client"] == "true"


def test_the_gateways_pod_keeps_to_the_restricted_standard(api_cluster: TestCluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "restricted-gateway", "labels": labels}}
    api_cluster.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    spec = rendered(api_cluster, gateway=GATEWAY)["Deployment", "assay-gateway"]["spec"]["template"]["spec"]
    spec.pop("serviceAccountName")
    metadata = {"name": "a", "namespace": "restricted-gateway"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    api_cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))


def test_a_disruption_budget_is_off_until_asked_for(api_cluster: TestCluster) -> None:
    assert ("PodDisruptionBudget", "assay-gateway") not in rendered(api_cluster)
    budget = rendered(api_cluster, gateway=GATEWAY)["PodDisruptionBudget", "assay-gateway"]
    assert budget["spec"]["minAvailable"] == 2
    assert ("Deployment", "assay-gateway") not in rendered(api_cluster, gateway={"enabled": False})


@pytest.mark.parametrize(
    ("gateway", "named"),
    [
        ({"episode": {"task": {}}}, "task"),
        ({"replicas": -1}, "replicas"),
        ({"defaultEnvironment": "No Name"}, "defaultEnvironment"),
        ({"environments": {"go": "go"}}, "environments"),
        ({"replica": 1}, "replica"),
    ],
)
def test_a_wrong_value_is_named(api_cluster: TestCluster, gateway: dict[str, Any], named: str) -> None:
    done = helm(api_cluster, "template", "assay", str(CHART), values={"gateway": gateway})
    assert done.returncode != 0
    assert named in done.stderr


def test_an_upgrade_keeps_the_master_key(api_cluster: TestCluster) -> None:
    def key() -> bytes:
        secret = api_cluster.kubectl("get", "secret", "assay-episode-key", "-n", "assay-system", "-o", "json").stdout
        return base64.b64decode(json.loads(secret)["data"]["key"])

    runs = {"namespace": "key-runs", "keep": False}
    done = helm(api_cluster, "install", "key", str(CHART), "--create-namespace", values={"runs": runs})
    assert done.returncode == 0, done.stderr
    first = key()
    assert len(first) == 64
    changed = {"runs": runs, "gateway": {"replicas": 1}}
    done = helm(api_cluster, "upgrade", "key", str(CHART), values=changed)
    assert done.returncode == 0, done.stderr
    assert key() == first
    gone = ("helm", "uninstall", "key", "--namespace", "assay-system", "--wait", "--timeout", "60s")
    subprocess.run(gone, env=api_cluster.environment, check=True, capture_output=True)
