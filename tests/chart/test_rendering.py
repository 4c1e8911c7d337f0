"""What the chart renders, and what a real API server says of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prometheus_client import REGISTRY

from assay.cli.main import app
from assay.controller import metrics
from assay.controller.settings import load_settings
from assay.domain.grading import GradeReason
from conftest import ROOT, TestCluster

pytestmark = pytest.mark.api

CHART = ROOT / "charts" / "assay"
IMAGE = "registry.test/assay@sha256:" + "a" * 64
EVERYTHING = {
    "image": {"reference": IMAGE, "pullSecrets": ["one", "two"], "pullPolicy": "Always"},
    "runs": {"namespace": "other-runs", "quota": {"pods": "20", "requests.cpu": 8}},
    "operator": {
        "maxPods": 1_000_000,
        "infraRetries": 0,
        "cpuRequestFraction": 0.25,
        "resyncSeconds": 1234567,
        "logLevel": "DEBUG",
        "isolation": {"targets": ["192.0.2.1:80"], "gateSeconds": 5, "sampleSeconds": 6},
        "envFrom": [{"secretRef": {"name": "s3"}}],
        "podAnnotations": {"a": "b"},
        "nodeSelector": {"kind": "system"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
    },
    "goproxy": {
        "enabled": True,
        "replicas": 3,
        "upstream": "https://modules.test",
        "upstreamSuffix": "",
        "privateUpstream": True,
        "redirects": ["https://storage.test/modules/"],
        "sumdb": "sum.test+00000000+key",
        "sumdbUpstream": "https://sums.test",
        "requirePeerMatch": False,
        "cacheMiB": 2_000_000,
        "memoryMiB": 32,
        "runBytesMiB": 100,
        "runRequests": 5000,
        "healthFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "podAnnotations": {"c": "d"},
        "nodeSelector": {"kind": "system"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
    },
    "serviceAccount": {"annotations": {"role": "store-writer"}},
    "store": {"uri": "s3://bucket/assay", "persistence": {"size": "5Gi", "storageClassName": "fast"}},
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "alerts": {"enabled": True},
        "dashboard": {"enabled": True},
    },
}
DEFAULTS: dict[str, Any] = {"image": {"reference": IMAGE}}
DIRECTORY: dict[str, Any] = DEFAULTS | {
    "goproxy": {"enabled": True, "upstreamVolume": {"persistentVolumeClaim": {"claimName": "modules"}}}
}


def helm(cluster: TestCluster, *args: str, values: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm; ``values`` go in as a values file."""
    given = ("--values", "-") if values is not None else ()
    return subprocess.run(
        ("helm", *args, *given),
        input=json.dumps(values) if values is not None else None,
        env=cluster.environment,
        text=True,
        capture_output=True,
        check=False,
    )


def rendered(cluster: TestCluster, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Every manifest of a release named ``assay`` in ``assay-system``."""
    options = ("--namespace", "assay-system", "--kube-version", "1.36.3")
    done = helm(cluster, "template", "assay", str(CHART), *options, values=values)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def of_kind(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def the(manifests: list[dict[str, Any]], kind: str, name: str = "assay-operator") -> dict[str, Any]:
    (found,) = [manifest for manifest in of_kind(manifests, kind) if manifest["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("values", [DEFAULTS, EVERYTHING, DIRECTORY], ids=["defaults", "everything", "directory"])
def test_lint_finds_nothing(api_cluster: TestCluster, values: dict[str, Any]) -> None:
    done = helm(api_cluster, "lint", "--strict", str(CHART), values=values)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "image/reference"),
        ({"image": {"reference": "two words"}}, "image/reference"),
        ({**DEFAULTS, "operator": {"maxPods": 0}}, "operator/maxPods"),
        ({**DEFAULTS, "operator": {"maxPod": 5}}, "maxPod"),
        ({**DEFAULTS, "operator": {"cpuRequestFraction": "0.0"}}, "operator/cpuRequestFraction"),
        ({**DEFAULTS, "operator": {"cpuRequestFraction": 1.5}}, "operator/cpuRequestFraction"),
        ({**DEFAULTS, "operator": {"isolation": {"targets": ["no-port"]}}}, "operator/isolation/targets/0"),
        ({**DEFAULTS, "runs": {"namespace": "Not_A_Name"}}, "runs/namespace"),
        ({**DEFAULTS, "store": {"uri": "/var/lib"}}, "store/uri"),
        ({**DEFAULTS, "goproxy": {"enabled": True}}, "goproxy/upstream"),
        ({**DEFAULTS, "goproxy": {"enabled": True, "upstream": "modules.test"}}, "goproxy/upstream"),
        ({**DEFAULTS, "goproxy": {**DIRECTORY["goproxy"], "upstream": "https://modules.test"}}, "goproxy/upstream"),
        ({**DEFAULTS, "goproxy": {"redirects": ["https://storage.test"]}}, "goproxy/redirects/0"),
    ],
)
def test_a_wrong_value_is_named(api_cluster: TestCluster, values: dict[str, Any], named: str) -> None:
    done = helm(api_cluster, "template", "assay", str(CHART), "--kube-version", "1.36.3", values=values)
    assert done.returncode != 0
    assert named in re.sub(r"\.(?=[a-zA-Z0-9])", "/", done.stderr)


def test_the_operator_reads_every_setting_of_the_values(api_cluster: TestCluster, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(the(rendered(api_cluster, EVERYTHING), "ConfigMap")["data"]["config.yaml"])
    settings = load_settings(file, {"POD_NAMESPACE": "assay-system"})
    operator = EVERYTHING["operator"]
    assert settings.namespace == "other-runs"
    assert settings.witness_image == IMAGE
    assert settings.pull_secrets == ("one", "two")
    assert settings.pull_policy == "Always"
    assert settings.store == "s3://bucket/assay"
    assert settings.go_sumdb == "sum.test+00000000+key"
    assert settings.lease_namespace == "assay-system"
    assert settings.isolation.model_dump(by_alias=True) == operator["isolation"] | {"targets": ("192.0.2.1:80",)}
    told = settings.model_dump(by_alias=True)
    for name in ("maxPods", "infraRetries", "cpuRequestFraction", "resyncSeconds", "logLevel"):
        assert told[name] == operator[name]


def test_a_fraction_may_come_from_the_command_line(api_cluster: TestCluster, tmp_path: Path) -> None:
    values = DEFAULTS | {"operator": {"cpuRequestFraction": "0.25"}}
    file = tmp_path / "config.yaml"
    file.write_text(the(rendered(api_cluster, values), "ConfigMap")["data"]["config.yaml"])
    assert load_settings(file, {}).cpu_request_fraction == 0.25


def test_a_changed_setting_restarts_the_operator(api_cluster: TestCluster) -> None:
    def annotations(values: dict[str, Any]) -> Any:
        return the(rendered(api_cluster, values), "Deployment")["spec"]["template"]["metadata"]["annotations"]

    assert annotations(DEFAULTS) == annotations(DEFAULTS | {"rbac": {"aggregate": False}})
    assert annotations(DEFAULTS) != annotations(DEFAULTS | {"operator": {"maxPods": 7}})


def test_the_policies_are_those_of_the_job_templates(api_cluster: TestCluster) -> None:
    plain = yaml.safe_load_all((ROOT / "job_templates" / "networkpolicies.yaml").read_text())
    expected = {policy["metadata"]["name"]: policy["spec"] for policy in plain}
    policies = of_kind(rendered(api_cluster, DEFAULTS), "NetworkPolicy")
    assert {policy["metadata"]["name"]: policy["spec"] for policy in policies} == expected
    assert all(policy["metadata"]["namespace"] == "assay-runs" for policy in policies)
    assert {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} in expected.values()
    run = yaml.safe_load((ROOT / "job_templates" / "run.yaml").read_text())
    assert expected["assay-offline"]["podSelector"]["matchLabels"].items() <= run["metadata"]["labels"].items()


def test_the_module_gateway_is_off_until_asked_for_and_names_no_registry(api_cluster: TestCluster) -> None:
    made = [each["kind"] for each in rendered(api_cluster, DEFAULTS) if "goproxy" in each["metadata"]["name"]]
    assert made == ["NetworkPolicy"], "which waits for it among the policies of the runs"
    values = yaml.safe_load((CHART / "values.yaml").read_text())["goproxy"]
    assert (values["upstream"], values["sumdb"], values["sumdbUpstream"], values["redirects"]) == ("", "", "", [])


def test_the_module_gateway_takes_every_value(api_cluster: TestCluster) -> None:
    deployment = the(rendered(api_cluster, EVERYTHING), "Deployment", "assay-goproxy")
    spec = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == 3
    assert spec["containers"][0]["args"] == [
        "goproxy",
        "--namespace=other-runs",
        "--cache-dir=/var/cache/assay",
        "--cache-mib=2000000",
        "--memory-mib=32",
        "--run-bytes-mib=100",
        "--run-requests=5000",
        "--upstream=https://modules.test",
        "--upstream-suffix=",
        "--private-upstream",
        "--no-require-peer-match",
        "--sumdb=sum.test",
        "--sumdb-upstream=https://sums.test",
        "--redirect=https://storage.test/modules/",
    ]
    assert {"name": "cache", "emptyDir": {"sizeLimit": "2004096Mi"}} in spec["volumes"]


def test_a_directory_of_modules_is_mounted_for_reading(api_cluster: TestCluster) -> None:
    (spec,) = (
        each["spec"]["template"]["spec"]
        for each in of_kind(rendered(api_cluster, DIRECTORY), "Deployment")
        if each["metadata"]["name"] == "assay-goproxy"
    )
    (container,) = spec["containers"]
    assert "--upstream=/var/lib/modules" in container["args"]
    assert {"name": "modules", "mountPath": "/var/lib/modules", "readOnly": True} in container["volumeMounts"]
    assert {"name": "modules", "persistentVolumeClaim": {"claimName": "modules"}} in spec["volumes"]


def test_the_module_gateways_options_are_those_of_the_command(api_cluster: TestCluster) -> None:
    deployment = the(rendered(api_cluster, EVERYTHING), "Deployment", "assay-goproxy")
    name, *arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    context = command.make_context(name, arguments)
    assert context.params["namespace"] == ["other-runs"]
    assert context.params["require_peer_match"] is False
    assert context.params["cache_mib"] == 2_000_000


def test_the_module_gateway_may_read_episodes_and_nothing_else(api_cluster: TestCluster) -> None:
    manifests = rendered(api_cluster, DIRECTORY)
    bound = [
        binding
        for binding in of_kind(manifests, "RoleBinding")
        if {"assay-goproxy"} == {subject["name"] for subject in binding["subjects"]}
    ]
    assert [(binding["metadata"]["namespace"], binding["roleRef"]["name"]) for binding in bound] == [
        ("assay-runs", "assay-goproxy")
    ]
    assert the(manifests, "Role", "assay-goproxy")["rules"] == [
        {"apiGroups": ["assay.dev"], "resources": ["agentepisodes"], "verbs": ["get", "list", "watch"]}
    ]


def test_only_sandboxes_on_the_module_gateway_reach_its_port_and_reach_nothing_else(api_cluster: TestCluster) -> None:
    manifests = rendered(api_cluster, DIRECTORY)
    out = the(manifests, "NetworkPolicy", "assay-goproxy")["spec"]
    into = the(manifests, "NetworkPolicy", "assay-goproxy-in")["spec"]
    deployment = the(manifests, "Deployment", "assay-goproxy")
    (rule,) = out["egress"]
    (peer,) = rule["to"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8080}]
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "assay-system"}}
    assert peer["podSelector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert into["podSelector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    sandboxes, health = into["ingress"]
    (peer,) = sandboxes["from"]
    assert peer["podSelector"] == out["podSelector"]
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "assay-runs"}}
    assert sandboxes["ports"] == rule["ports"]
    assert health["ports"] == [{"protocol": "TCP", "port": 8081}]
    operator = the(manifests, "Deployment")["spec"]["template"]["metadata"]["labels"]
    (peer,) = health["from"]
    assert peer["podSelector"]["matchLabels"].items() <= operator.items()
    assert set(peer) == {"podSelector"}, "of the gateway's own namespace"


def test_what_shuts_the_network_of_running_pods_outlives_the_release(api_cluster: TestCluster) -> None:
    def kept(values: dict[str, Any]) -> set[str]:
        annotated = (
            (manifest["kind"], manifest["metadata"].get("annotations") or {})
            for manifest in rendered(api_cluster, values)
        )
        return {kind for kind, annotations in annotated if annotations.get("helm.sh/resource-policy") == "keep"}

    assert kept(DEFAULTS) == {"Namespace", "NetworkPolicy"}
    assert kept(DEFAULTS | {"runs": {"create": False}}) == {"NetworkPolicy"}
    assert kept(DEFAULTS | {"runs": {"keep": False}}) == set()
    assert kept(DEFAULTS | {"store": {"persistence": {"size": "1Gi"}}}) >= {"PersistentVolumeClaim"}


def test_the_operator_may_do_what_it_does_and_no_more(api_cluster: TestCluster) -> None:
    manifests = rendered(api_cluster, DEFAULTS)
    assert of_kind(manifests, "ClusterRoleBinding") == []
    bound = {binding["roleRef"]["name"] for binding in of_kind(manifests, "RoleBinding")}
    rules = [rule for role in of_kind(manifests, "Role") if role["metadata"]["name"] in bound for rule in role["rules"]]
    granted = {resource: set(rule["verbs"]) for rule in rules for resource in rule["resources"]}
    assert granted["secrets"] == {"create"}
    assert granted["taskvalidations"] == {"get", "list", "watch"}
    assert granted["pods"] == {"get", "list", "watch", "create", "delete"}
    assert not {"pods/exec", "pods/attach", "nodes", "configmaps"} & set(granted)
    assert "*" not in {word for rule in rules for word in (*rule["resources"], *rule["verbs"], *rule["apiGroups"])}


def test_the_operators_pod_keeps_to_the_restricted_standard(api_cluster: TestCluster) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    api_cluster.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    manifests = rendered(api_cluster, EVERYTHING)
    templates = [deployment["spec"]["template"] for deployment in of_kind(manifests, "Deployment")]
    templates.append(the(manifests, "Pod", "assay-test-ready"))
    assert len(templates) > 2
    for template in templates:
        spec = {
            key: value
            for key, value in template["spec"].items()
            if key not in ("serviceAccountName", "priorityClassName")
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "restricted"}, "spec": spec}
        api_cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))


@pytest.mark.parametrize("values", [DEFAULTS, EVERYTHING, DIRECTORY], ids=["defaults", "everything", "directory"])
def test_the_api_server_accepts_every_manifest(api_cluster: TestCluster, values: dict[str, Any]) -> None:
    manifests = [
        manifest for manifest in rendered(api_cluster, values) if manifest["apiVersion"] != "monitoring.coreos.com/v1"
    ]
    for name in {manifest["metadata"].get("namespace", "default") for manifest in manifests} - {"default"}:
        made = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        api_cluster.kubectl("apply", "-f", "-", stdin=made)
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    done = api_cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", stdin=everything
    )
    assert len(done.stdout.splitlines()) == len(manifests)


def test_monitoring_is_off_until_asked_for(api_cluster: TestCluster) -> None:
    kinds = {manifest["kind"] for manifest in rendered(api_cluster, DEFAULTS)}
    assert not {"ServiceMonitor", "PrometheusRule", "ResourceQuota", "PersistentVolumeClaim"} & kinds
    everything = rendered(api_cluster, EVERYTHING)
    assert {"ServiceMonitor", "PrometheusRule", "ResourceQuota", "PersistentVolumeClaim"} <= {
        manifest["kind"] for manifest in everything
    }
    wanted = the(everything, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= the(everything, "Service")["metadata"]["labels"].items()


def test_alerts_and_dashboard_speak_of_metrics_that_there_are(api_cluster: TestCluster) -> None:
    manifests = rendered(api_cluster, EVERYTHING)
    (group,) = the(manifests, "PrometheusRule")["spec"]["groups"]
    dashboard = json.loads(the(manifests, "ConfigMap", "assay-dashboard")["data"]["assay.json"])
    expressions = [rule["expr"] for rule in group["rules"]]
    expressions += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    used = set(re.findall(r"\bassay_[a-z_]+", " ".join(expressions)))
    known = set(_sample_names())
    assert used
    assert used <= known, used - known
    assert {"assay_verdicts_total", "assay_grades_total"} <= used
    for expression in expressions:
        asked = set(re.findall(r"[{,] ?([a-z_]+)=~?\"", expression))
        asked |= {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")}
        assert asked - {"le"} <= _labels_of(expression), expression


def test_the_alert_on_grades_asks_for_a_reason_that_there_is(api_cluster: TestCluster) -> None:
    (group,) = the(rendered(api_cluster, EVERYTHING), "PrometheusRule")["spec"]["groups"]
    (rule,) = [rule for rule in group["rules"] if rule["alert"] == "AssayCannotGrade"]
    (reason,) = re.findall(r'reason="(\w+)"', rule["expr"])
    assert reason == GradeReason.INFRASTRUCTURE


def _labels_of(expression: str) -> set[str]:
    """The labels of the metrics that an expression names."""
    named = {name.removesuffix("_total").removesuffix("_bucket") for name in re.findall(r"\bassay_[a-z_]+", expression)}
    collectors = {
        metric._name: metric._labelnames for metric in vars(metrics).values() if hasattr(metric, "_labelnames")
    }
    return {label for name in named for label in collectors.get(name, ())}


def _sample_names() -> Iterator[str]:
    """Names under which the operator's metrics are scraped, also of those that have no sample yet."""
    assert metrics.LEADER
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    for family in REGISTRY.collect():
        for suffix in suffixes.get(family.type, ()):
            yield family.name + suffix


def test_install_upgrade_and_uninstall_keep_the_tasks(api_cluster: TestCluster) -> None:
    place = ("--namespace", "life-system")
    runs = {"namespace": "life-runs"}
    install = ("install", "life", str(CHART), *place, "--create-namespace")
    task = {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "TaskValidation",
        "metadata": {"name": "kept", "namespace": "life-runs"},
        "spec": {"task": {"id": "a", "image": "x:1", "tests": {"commands": ["true"], "parser": "parse_log_gotest"}}},
    }

    def succeeds(*args: str, values: dict[str, Any] | None = None) -> None:
        done = helm(api_cluster, *args, values=values)
        assert done.returncode == 0, done.stderr

    succeeds(*install, values=DEFAULTS | {"runs": runs})
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(task))
    before = _checksum(api_cluster)
    succeeds("upgrade", "life", str(CHART), *place, values=DEFAULTS | {"runs": runs, "operator": {"maxPods": 9}})
    assert _checksum(api_cluster) != before
    succeeds("uninstall", "life", *place, "--wait", "--timeout", "60s")
    left = api_cluster.kubectl("get", "deploy,service,configmap,role,serviceaccount", *place, "-o", "name").stdout
    assert "assay" not in left
    policies = api_cluster.kubectl("get", "networkpolicy", "-n", "life-runs", "-o", "name").stdout
    assert {line.rpartition("/")[2] for line in policies.split()} >= {
        "assay-deny-all",
        "assay-goproxy",
        "assay-offline",
    }
    assert api_cluster.kubectl("get", "tv", "-n", "life-runs", "-o", "name").stdout.endswith("/kept\n")
    succeeds(*install, values=DEFAULTS | {"runs": runs | {"keep": False}})
    succeeds("uninstall", "life", *place, "--wait", "--timeout", "120s")
    api_cluster.kubectl("wait", "--for=delete", "namespace/life-runs", "--timeout=60s")


def _checksum(cluster: TestCluster) -> str:
    path = "{.spec.template.metadata.annotations.checksum/config}"
    return cluster.kubectl("get", "deploy", "assay-operator", "-n", "life-system", "-o", f"jsonpath={path}").stdout
