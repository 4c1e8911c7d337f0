"""A sandbox on a real node: ready, reached by its clients alone, shut outwards, without history or held-out content."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.domain.manifests import SANDBOX_SCRIPTS, Owner, RunSettings, sandbox_of, sandbox_secret_of
from builders import make_limits, make_task
from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

RUNS, CLIENTS = "sandbox-runs", "assay-system"
EXAMPLE = "planted-tag"
"""An image whose repository has the solution under a tag."""
KEY = "7" * 64
ASK = """
import json, sys, time, urllib.request
address, key, script = sys.argv[1:]
def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address}:7070{path}", data, {"Authorization": f"Bearer {key}"}, method=method)
    for attempt in range(20):
        try:
            with urllib.request.urlopen(request, timeout=3) as response:
                return response.read()
        except urllib.error.URLError as error:
            last = error
            time.sleep(0.5)
    sys.exit(f"unreachable: {last}")
ask("PUT", "/v1/calls/one", {"script": script})
while (state := json.loads(ask("GET", "/v1/calls/one?wait=2")))["state"] != "done":
    pass
diff = ask("POST", "/v1/submissions/1").decode()
print(json.dumps({"call": state, "output": ask("GET", "/v1/calls/one/output").decode(), "diff": diff,
                  "state": json.loads(ask("GET", "/v1/state"))}))
"""
LOOK = """
secret=$(echo {secret} | base64 -d)
git rev-list --all --reflog HEAD --count
git for-each-ref | grep -c . ; git remote; git tag; git stash list
for target in {targets}; do
    (timeout 3 bash -c ": </dev/tcp/${{target%:*}}/${{target##*:}}" 2>/dev/null && echo "open $target") || echo shut
done
grep -rlF "$secret" / --include='*' --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev 2>/dev/null
git cat-file --batch-all-objects --batch | grep -acF "$secret"
echo changed > changed-by-agent
"""


@dataclass(frozen=True)
class Place:
    """The cluster with namespaces, policies and Assay's image; one example's task."""

    cluster: TestCluster
    witness: str
    example: dict[str, Any]

    def apply(self, *manifests: dict[str, Any]) -> None:
        self.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(manifests))


@pytest.fixture(scope="module")
def place(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    archive = output_of(cluster, sys.executable, "dev/image/build.py").strip().splitlines()[-1]
    image = cluster.load(Path(archive), "assay:sandbox-test")
    for action in (("images",), ("push", "--registry", cluster.registry)):
        output_of(cluster, sys.executable, "examples/build.py", *action, "--only", EXAMPLE)
    folder = tmp_path_factory.mktemp("manifests")
    options = ("--registry", cluster.registry, "--out", str(folder), "--only", EXAMPLE)
    output_of(cluster, sys.executable, "examples/build.py", "manifests", *options)
    (path,) = folder.iterdir()
    for name in (RUNS, CLIENTS):
        cluster.make_namespace(name)
    cluster.kubectl("apply", "-n", RUNS, "-f", str(ROOT / "job_templates" / "networkpolicies.yaml"))
    yield Place(cluster, image, yaml.safe_load(path.read_text()))
    cluster.kubectl("delete", "pod", "friend", "stranger", "-n", CLIENTS, "--ignore-not-found", "--grace-period=1")
    cluster.kubectl("delete", "namespace", RUNS, "--wait=false")


def output_of(cluster: TestCluster, *command: str) -> str:
    environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator")}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, check=True).stdout


def api_server(cluster: TestCluster) -> str:
    found = cluster.kubectl("get", "endpoints", "kubernetes", "-n", "default", "-o", "json").stdout
    subset = json.loads(found)["subsets"][0]
    return f"{subset['addresses'][0]['ip']}:{subset['ports'][0]['port']}"


def client(name: str, image: str, labels: dict[str, str], arguments: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": CLIENTS, "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "client", "image": image, "command": ["python3", "-I", "-c", ASK, *arguments]}],
        },
    }


def test_a_sandbox_serves_its_clients_and_nobody_else_and_holds_nothing_that_it_should_not(place: Place) -> None:
    spec = place.example["spec"]["task"]
    cluster, target = place.cluster, api_server(place.cluster)
    cluster.kubectl("create", "configmap", "owner", "-n", RUNS)
    uid = cluster.kubectl("get", "configmap", "owner", "-n", RUNS, "-o", "jsonpath={.metadata.uid}").stdout
    owner = Owner(namespace=RUNS, name="owner", uid=uid, epoch="1", kind="ConfigMap", api_version="v1")
    scripts = {name: (ROOT / "job_templates" / name).read_bytes() for name in SANDBOX_SCRIPTS}
    secret = sandbox_secret_of(owner, KEY, scripts)
    task = make_task(workdir=spec.get("workdir", ""), base_commit=spec["baseCommit"])
    pod = sandbox_of(
        1,
        owner=owner,
        task=task,
        limits=make_limits(cpu="200m", memory="512Mi"),
        life=900,
        network="sandbox",
        secret=secret["metadata"]["name"],
        image=spec["image"],
        template=yaml.safe_load((ROOT / "job_templates" / "sandbox.yaml").read_text()),
        settings=RunSettings(witness_image=place.witness, targets=(target,), cpu_request_fraction=0.25),
    )
    place.apply(secret, pod)
    name = pod["metadata"]["name"]
    cluster.kubectl("wait", "-n", RUNS, "--for=condition=Ready", f"pod/{name}", "--timeout=300s")
    address = cluster.kubectl("get", "pod", name, "-n", RUNS, "-o", "jsonpath={.status.podIP}").stdout

    secrets = "\n".join(added_line(spec, patch) for patch in ("patch", "testPatch"))
    script = LOOK.format(targets=f"{target} 127.0.0.1:7070", secret=base64.b64encode(secrets.encode()).decode())
    labels = {"app.kubernetes.io/part-of": "assay"}
    place.apply(
        client("friend", place.witness, labels | {"assay.dev/client": "true"}, [address, KEY, script]),
        client("stranger", place.witness, labels, [address, KEY, script]),
    )
    cluster.kubectl("wait", "-n", CLIENTS, "--for=jsonpath={.status.phase}=Succeeded", "pod/friend", "--timeout=120s")
    cluster.kubectl("wait", "-n", CLIENTS, "--for=jsonpath={.status.phase}=Failed", "pod/stranger", "--timeout=120s")
    said = json.loads(cluster.kubectl("logs", "friend", "-n", CLIENTS).stdout)
    assert "unreachable" in cluster.kubectl("logs", "stranger", "-n", CLIENTS).stdout
    assert said["output"].splitlines() == ["1", "1", "shut", "open 127.0.0.1:7070", "0"]
    assert "+changed" in said["diff"]
    assert said["state"]["isolation"]["leaks"] == []
    assert said["state"]["base"] == spec["baseCommit"]


def added_line(spec: dict[str, Any], name: str) -> str:
    """A line that a patch adds, long enough to be told."""
    patch = spec.get(name) or base64.b64decode(spec[f"{name}Base64"]).decode(errors="replace")
    return next(line[1:].strip() for line in patch.splitlines() if line.startswith("+ ") and len(line) > 20)
