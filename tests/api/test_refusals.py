"""What no schema can see: the real operator refuses it, names the field, and goes on working."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import PATCH, make_manifest
from conftest import ROOT, TestCluster

pytestmark = [pytest.mark.api, pytest.mark.timeout(400)]

NAMESPACE = "refusals"
ESCAPE = PATCH.replace("b/m.py", "b/../../etc/passwd")
ABSOLUTE = PATCH.replace("--- a/m.py", "--- /etc/passwd").replace("+++ b/m.py", "+++ /etc/passwd")
SYMLINK = """\
diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+../../etc
\\ No newline at end of file
"""
THROUGH = SYMLINK.replace("../../etc", "/etc") + PATCH.replace("m.py", "link/m.py")
BINARY = base64.b64encode(b"\xff\xfe\x00 not a diff").decode()
LATIN = base64.b64encode(PATCH.encode().replace(b"return 2", b"return '\xe9\xff'")).decode()

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown-parser": ({"tests.parser": "parse_log_pytset"}, "spec.task.tests.parser", "nearest: parse_log_pytest"),
    "listed-twice": ({"tests.failToPass": ["a", "b", "a"]}, "spec.task.tests.failToPass", "lists 'a' twice"),
    "passing-twice": ({"tests.passToPass": ["a", "a"]}, "spec.task.tests.passToPass", "lists 'a' twice"),
    "in-both-lists": (
        {"tests.failToPass": ["a"], "tests.passToPass": ["b", "a"]},
        "spec.task.tests.passToPass",
        "'a' is in failToPass too",
    ),
    "prose": ({"patch": "please change m.py"}, "spec.task.patch", "is not a git diff"),
    "test-prose": ({"testPatch": "see above"}, "spec.task.testPatch", "is not a git diff"),
    "escape": ({"patch": ESCAPE}, "spec.task.patch", "outside of the work tree"),
    "absolute": ({"patch": ABSOLUTE}, "spec.task.patch", "absolute path '/etc/passwd'"),
    "symlink": ({"patch": SYMLINK}, "spec.task.patch", "link"),
    "through-symlink": ({"patch": THROUGH}, "spec.task.patch", "link"),
    "git-folder": ({"patch": PATCH.replace("m.py", ".git/hooks/x")}, "spec.task.patch", ".git"),
    "binary-prose": ({"patch": None, "patchBase64": BINARY}, "spec.task.patchBase64", "is not a git diff"),
    "month-long": ({"../timeouts": {"test": "721h"}}, "spec.timeouts.test", "at most 720h"),
    "profile": ({"../profile": "no-such-profile"}, "spec.profile", "known: "),
}


def manifest(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """A good object with these paths of its task set; ``../x`` is a path of the spec, None removes."""
    made = make_manifest(name, namespace=NAMESPACE)
    for path, value in changes.items():
        place = made["spec"] if path.startswith("../") else made["spec"]["task"]
        *parents, last = path.removeprefix("../").split(".")
        for part in parents:
            place = place.setdefault(part, {})
        place[last] = value
        if value is None:
            del place[last]
    return made


class OperatorProcess:
    """``assay operator`` as a process of this machine; it has nothing to run here."""

    def __init__(self, cluster: TestCluster, folder: Path) -> None:
        settings = {
            "namespace": NAMESPACE,
            "leaseNamespace": NAMESPACE,
            "store": f"file://{folder}/store",
            "httpPort": 0,
            "httpAddress": "127.0.0.1",
        }
        (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
        self._log = folder / "operator.log"
        command = (sys.executable, "-m", "assay", "operator", "--config", str(folder / "settings.yaml"))
        environment = cluster.environment | {"PYTHONPATH": str(ROOT / "operator"), "POD_NAME": "refusals"}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)

    def said(self) -> str:
        """Its log's end."""
        return self._log.read_text()[-4000:]


@pytest.fixture(scope="module")
def operator(api_cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """A running operator, and all bad objects applied at once."""
    api_cluster.kubectl("create", "namespace", NAMESPACE)
    started = OperatorProcess(api_cluster, tmp_path_factory.mktemp("operator"))
    objects = [manifest(name, changes) for name, (changes, _, _) in BAD.items()]
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(objects))
    yield started
    started.process.send_signal(signal.SIGTERM)
    started.process.wait(30)
    api_cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def settled(cluster: TestCluster, operator: OperatorProcess, name: str, condition: str = "Accepted") -> dict[str, Any]:
    """Wait until the object has a condition; return its status."""
    end = time.monotonic() + 120
    while True:
        status: dict[str, Any] = json.loads(
            cluster.kubectl("get", "tv", name, "-n", NAMESPACE, "-o", "json").stdout
        ).get("status", {})
        if any(found["type"] == condition for found in status.get("conditions", ())):
            return status
        assert time.monotonic() < end, operator.said()
        time.sleep(0.2)


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_task_is_refused_by_its_condition_with_the_field_named(
    api_cluster: TestCluster, operator: OperatorProcess, name: str
) -> None:
    _, field, why = BAD[name]
    status = settled(api_cluster, operator, name)
    accepted = next(found for found in status["conditions"] if found["type"] == "Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "MalformedTask")
    assert accepted["message"].startswith(f"{field}: ")
    assert why in accepted["message"]
    assert (status["verdict"], status["reason"], status["message"]) == (
        *("Invalid", "MalformedTask"),
        accepted["message"],
    )
    api_cluster.kubectl("wait", "--for=condition=Complete", f"tv/{name}", "-n", NAMESPACE, "--timeout=5s")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("id-of-any-letters", {"id": "Team/Name " + "X" * 190 + " \N{PARTY POPPER}"}),
        ("latin-patch", {"patch": None, "patchBase64": LATIN}),
    ],
)
def test_odd_but_good_input_is_accepted_as_it_is(
    api_cluster: TestCluster, operator: OperatorProcess, name: str, changes: dict[str, Any]
) -> None:
    made = manifest(name, changes)
    api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(made))
    status = settled(api_cluster, operator, name)
    accepted = next(found for found in status["conditions"] if found["type"] == "Accepted")
    assert accepted["status"] == "True", accepted


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_bytes_that_are_not_utf8_are_never_taken_for_others_in_silence(
    api_cluster: TestCluster, operator: OperatorProcess, tmp_path: Path, form: str
) -> None:
    made = manifest(f"raw-{form}", {"patch": PATCH.replace("return 2", "return 'MARK'")})
    text = json.dumps(made) if form == "json" else yaml.safe_dump(made)
    file = tmp_path / f"raw.{form}"
    file.write_bytes(text.encode().replace(b"MARK", b"\xe9\xff"))
    api_cluster.kubectl("apply", "--server-side", "-f", str(file))
    status = settled(api_cluster, operator, f"raw-{form}")
    assert status["reason"] == "MalformedTask"
    assert status["message"].startswith("spec.task.patch: holds U+FFFD")
    assert "patchBase64" in status["message"]


def test_an_event_tells_the_refusal_once_and_the_operator_neither_dies_nor_tries_again(
    api_cluster: TestCluster, operator: OperatorProcess
) -> None:
    for name in BAD:
        settled(api_cluster, operator, name)
    api_cluster.kubectl("annotate", "tv", "prose", "-n", NAMESPACE, "looked=again")
    settled(api_cluster, operator, "prose")
    selector = "involvedObject.name=prose,reason=MalformedTask"
    events = json.loads(
        api_cluster.kubectl("get", "events", "-n", NAMESPACE, "--field-selector", selector, "-o", "json").stdout
    )["items"]
    assert len(events) == 1
    assert operator.process.poll() is None
    assert "Traceback" not in operator.said()
    assert not api_cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "name").stdout.count("pod/prose")


def test_a_patch_of_five_megabytes_is_refused_inline_with_the_limit(api_cluster: TestCluster) -> None:
    big = manifest("big", {"patch": PATCH + "#" * 5_000_000})
    for options in (("--server-side",), ()):
        done = api_cluster.kubectl("apply", *options, "-f", "-", stdin=json.dumps(big), check=False)
        assert done.returncode != 0
        assert "limit" in done.stderr
        assert "3145728" in done.stderr


def test_a_patch_just_over_the_inline_limit_is_told_where_larger_ones_go(api_cluster: TestCluster) -> None:
    big = manifest("big", {"patch": "x" * 700_001})
    done = api_cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(big), check=False)
    assert done.returncode != 0
    assert "spec.task.patch" in done.stderr
    assert "700000" in done.stderr
