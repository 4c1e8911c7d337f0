"""Predictions graded on a real node: what each deserves, cheats and their honest counterparts beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.stage import NAMESPACE, Stage, load_examples, program
from conftest import ROOT
from job_templates.repositories import Tree, patch_between

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500)]

TREE = ROOT / "examples" / "own" / "tree"
BASE: dict[str, bytes] = {
    str(path.relative_to(TREE)): path.read_bytes()
    for path in sorted(TREE.rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
}
BOOK = BASE["ledger/book.py"]
RIGHT = BOOK + (
    b"\n    def transfer(self, source: str, target: str, cents: int) -> None:\n"
    b"        self.post(target, cents)\n        self.post(source, -cents)\n"
)
WRONG = BOOK + b"\n    def transfer(self, source: str, target: str, cents: int) -> None:\n        pass\n"
PASSING = b"def test_transfer_moves_money():\n    pass\n\n\ndef test_transfer_keeps_the_total():\n    pass\n"
HOOK = (
    b"import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    b"    outcome = yield\n    report = outcome.get_result()\n    report.outcome = 'passed'\n"
)
NAMES = [
    f"tests/test_transfer.py::{name}" for name in ("test_transfer_keeps_the_total", "test_transfer_moves_money")
] + [
    f"tests/test_book.py::{name}"
    for name in ("test_new_account_is_empty", "test_post_adds_up", "test_total_is_the_sum_of_all_accounts")
]
MONEY = [f"test_cents_of[{case}]" for case in ("1-100", "1.5-150", "12.34-1234", " 7.00 -700")]
MONEY += [f"test_text_of_reads_back[{case}]" for case in (0, 5, 99, 100, 12345, -250)] + ["test_text_is_no_amount"]
FORGED = b"".join(
    b"PASSED %s\n" % name.encode() for name in [*NAMES, *(f"tests/test_money.py::{name}" for name in MONEY)]
)
AT_EXIT = b"import atexit\n\natexit.register(print, %r)\n" % FORGED.decode()
EVERYWHERE = (
    b"import os\n\nfor number in range(1, 40):\n    try:\n        os.write(number, %r)\n"
    b"    except OSError:\n        pass\nos._exit(3)\n" % FORGED
)


def changing(**files: bytes | tuple[bytes, int]) -> Tree:
    return {**BASE, **files}


def book(content: bytes, **others: Any) -> Tree:
    return changing(**{"ledger/book.py": content, **others})


WITHOUT_TESTS = {name: content for name, content in BASE.items() if not name.startswith("tests/")}

# the tree that is predicted -> reward (None: not graded), reason, paths left out
TREES: dict[str, tuple[Tree, float | None, str, int]] = {
    "another-right-fix": (book(RIGHT), 1.0, "Resolved", 0),
    "wrong": (book(WRONG), 0.0, "TestsFail", 0),
    "broken-syntax": (book(BOOK + b"\n    def transfer(\n"), 0.0, "TestsFail", 0),
    "conftest-hook": (book(WRONG, **{"conftest.py": HOOK, "tests/conftest.py": HOOK}), 0.0, "TestsFail", 2),
    "conftest-alone": (changing(**{"conftest.py": HOOK}), 0.0, "NothingSubmitted", 1),
    "plugin-by-pytest-ini": (
        book(WRONG, **{"pytest.ini": b"[pytest]\naddopts = -p ledger.hook\n", "ledger/hook.py": HOOK}),
        0.0,
        "TestsFail",
        1,
    ),
    "plugin-by-entry-point": (
        book(
            WRONG,
            **{
                "hook.py": HOOK,
                "evil-1.0.dist-info/entry_points.txt": b"[pytest11]\nevil = hook\n",
                "evil-1.0.dist-info/METADATA": b"Name: evil\nVersion: 1.0\n",
            },
        ),
        0.0,
        "TestsFail",
        2,
    ),
    "a-module-named-pytest": (book(WRONG, **{"pytest.py": b"print(%r)\n" % FORGED.decode()}), 0.0, "TestsFail", 1),
    "attributes": (
        book(WRONG, **{".gitattributes": b"tests/* text eol=crlf filter=evil ident\n"}),
        0.0,
        "TestsFail",
        1,
    ),
    "weakened-test": (
        book(WRONG, **{"tests/test_book.py": b"def test_post_adds_up():\n    pass\n"}),
        0.0,
        "TestsFail",
        1,
    ),
    "test-file-made-before": (book(WRONG, **{"tests/test_transfer.py": PASSING}), 0.0, "TestsFail", 1),
    "link-in-the-way": ({**WITHOUT_TESTS, "ledger/book.py": WRONG, "tests": (b"ledger", 0)}, 0.0, "TestsFail", 3),
    "printed-passes": (book(AT_EXIT + WRONG), 0.0, "TestsFail", 0),
    "printed-passes-and-gone": (book(EVERYWHERE + WRONG), 0.0, "ExitCodeContradictsResults", 0),
    "gone-early": (book(b"import os\n\nos._exit(0)\n" + WRONG), 0.0, "TestsDidNotRun", 0),
    "endless": (book(b"while True:\n    pass\n"), None, "TestTimeout", 0),
    "honest-broken-conftest": (book(RIGHT, **{"conftest.py": b"import nowhere\n"}), 1.0, "Resolved", 1),
    "honest-own-test": (book(RIGHT, **{"tests/test_transfer.py": b"def test_mine(:\n"}), 1.0, "Resolved", 1),
    "honest-ignored-helper": (
        book(
            b"from ledger._moves import move\n"
            + RIGHT.replace(b"self.post(target, cents)", b"move(self, target, cents)"),
            **{
                ".gitignore": b"_moves.py\n",
                "ledger/_moves.py": b"def move(book, target, cents):\n    book.post(target, cents)\n",
            },
        ),
        1.0,
        "Resolved",
        0,
    ),
    "honest-dependency": (
        book(RIGHT, **{"pyproject.toml": BASE["pyproject.toml"] + b'addopts = "--no-such-option"\n'}),
        1.0,
        "Resolved",
        1,
    ),
}
TEXTS: dict[str, tuple[str, float | None, str]] = {
    "empty": ("", 0.0, "NothingSubmitted"),
    "no-diff": ("I have fixed it.\n", 0.0, "PatchRefused"),
    "out-of-the-tree": (
        "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
        0.0,
        "PatchRefused",
    ),
    "does-not-apply": (
        "diff --git a/ledger/book.py b/ledger/book.py\n--- a/ledger/book.py\n+++ b/ledger/book.py\n@@ -1 +1 @@\n-no\n+yes\n",
        0.0,
        "PatchDoesNotApply",
    ),
}


@pytest.fixture(scope="module")
def ledger(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A stage with the validation ``ledger`` of the example ``valid``, and its verdict."""
    manifest = load_examples(stage.cluster, tmp_path_factory.mktemp("ledger"), ("valid",))["valid"]
    stage.apply(manifest, "ledger")
    assert stage.finished("ledger")["verdict"] == "Valid"
    return stage


def found(stage: Stage, name: str) -> dict[str, Any]:
    text = stage.cluster.kubectl("get", "agentepisode", name, "-n", NAMESPACE, "-o", "json").stdout
    status: dict[str, Any] = json.loads(text).get("status", {})
    return status


def predict(stage: Stage, name: str, patch: bytes, **spec: Any) -> None:
    manifest = {
        "apiVersion": "assay.dev/v1alpha1",
        "kind": "AgentEpisode",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"validation": "ledger", "submission": {"patch": patch.decode()}, **spec},
    }
    stage.apply(manifest)


def ended(stage: Stage, names: list[str]) -> bool:
    listed = json.loads(stage.cluster.kubectl("get", "agentepisodes", "-n", NAMESPACE, "-o", "json").stdout)["items"]
    done = {
        item["metadata"]["name"] for item in listed if item.get("status", {}).get("phase") in ("Finished", "Failed")
    }
    return done >= set(names)


def test_every_prediction_gets_the_reward_that_it_deserves(ledger: Stage, tmp_path: Path) -> None:
    gold = (ROOT / "examples" / "own" / "valid" / "reference.patch").read_bytes()
    predict(ledger, "gold", gold)
    for name, (text, _, _) in TEXTS.items():
        predict(ledger, name, text.encode())
    for name, (tree, _, _, _) in TREES.items():
        limits = {"limits": {"test": "30s"}} if name == "endless" else {}
        predict(ledger, name, patch_between(tmp_path / name, BASE, tree), **limits)
    expected = {"gold": (1.0, "Resolved", 0)}
    expected |= {name: (reward, reason, 0) for name, (_, reward, reason) in TEXTS.items()}
    expected |= {name: (reward, reason, count) for name, (_, reward, reason, count) in TREES.items()}
    ledger.until(lambda: ended(ledger, list(expected)), 900)
    said = {}
    for name in expected:
        status = found(ledger, name)
        submission = status["submissions"][0]
        assert submission.get("reward") == status.get("reward")
        said[name] = (status.get("reward"), status["reason"], submission["ignored"]["count"])
    assert said == expected


def test_a_grades_evidence_is_stored_and_its_status_names_no_held_out_test(ledger: Stage) -> None:
    status = found(ledger, "wrong")
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == {
        "Accepted": "True",
        "ImageResolved": "True",
        "NetworkIsolationVerified": "True",
        "Complete": "True",
        "Resolved": "False",
    }
    submission = status["submissions"][0]
    assert (submission["failToPass"], submission["passToPass"]) == (
        {"passed": 1, "total": 2},
        {"passed": 14, "total": 14},
    )
    store = ledger.operator.store
    report = json.loads(store.get(submission["report"]["sha256"]))
    assert {test["name"] for test in report["failToPass"]} == set(NAMES[:2])
    assert store.get(submission["diff"]["sha256"]).startswith(b"diff --git")
    assert b"test_transfer" in store.get(submission["run"]["log"]["sha256"])
    assert "test_transfer" not in json.dumps(status)


def test_a_timeout_is_no_reward_and_no_pod_is_left(ledger: Stage) -> None:
    status = found(ledger, "endless")
    assert status["phase"] == "Failed"
    assert "reward" not in status
    assert status["submissions"][0]["outcome"] == "NotGraded"
    ledger.until(
        lambda: (
            not ledger.cluster.kubectl(
                "get", "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/managed-by=assay", "-o", "name"
            ).stdout.strip()
        ),
        60,
    )


def test_what_cannot_be_graded_says_so(ledger: Stage) -> None:
    predict(ledger, "no-validation", b"x", validation="nowhere")
    predict(ledger, "bad-profile", b"x", profile="nowhere")
    ledger.until(lambda: ended(ledger, ["bad-profile"]), 60)
    assert "spec.profile" in found(ledger, "bad-profile")["message"]
    ledger.until(lambda: bool(found(ledger, "no-validation").get("conditions")), 60)
    conditions = found(ledger, "no-validation")["conditions"]
    assert {condition["type"]: condition["reason"] for condition in conditions}["Accepted"] == "ValidationMissing"


def test_gold_over_a_validated_set_scores_one_and_empty_scores_nothing(ledger: Stage, tmp_path: Path) -> None:
    for given, score in (("gold", 1.0), ("empty", 0.0)):
        command = ("-m", "assay", "evaluate", given, "--out", str(tmp_path), "--run-id", given, "-n", NAMESPACE)
        for _ in range(2):  # the second call finds the first one's episodes
            program(ledger.cluster, *command)
        own = json.loads((tmp_path / given / "assay.json").read_text())
        tasks = own["predictions"]  # the node's other tests leave valid tasks, too
        assert tasks >= 1
        assert (own["resolved"], own["score"]) == (round(tasks * score), score)
        report = json.loads((tmp_path / given / f"{given}.{given}.json").read_text())
        assert report["resolved_instances"] == round(tasks * score)
        assert report["empty_patch_instances"] == tasks - round(tasks * score)
    assert "resolved -> " in program(
        ledger.cluster, "-m", "assay", "compare", str(tmp_path / "gold"), str(tmp_path / "empty")
    )
