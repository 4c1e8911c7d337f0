"""Builders that show only what matters: a task, a run's outcome, a spec, a manifest.

``make_outcome("patched-2", passed=["a"], failed=["b"])`` is one finished run; ``make_runs`` is a whole validation from
one line a test: ``make_runs({"a": "FFF PP"})`` (P passed, F failed, S skipped, ``.`` not there; states: unpatched,
patched, pristine).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.api import v1alpha1
from assay.domain.outcomes import CommandResult, OutcomeKind, RunOutcome
from assay.domain.plan import Run, RunKind
from assay.domain.task import Limits, Task

BASE_COMMIT = "0123456789abcdef0123456789abcdef01234567"
IMAGE = "registry.test/acorn/lantern@sha256:" + "a" * 64

PATCH = """\
diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
@@ -1,2 +1,2 @@
 def f():
-    return 1
+    return 2
"""

TEST_PATCH = """\
diff --git a/tests/test_m.py b/tests/test_m.py
--- a/tests/test_m.py
+++ b/tests/test_m.py
@@ -3,2 +3,2 @@
 def test_f():
-    assert f() == 1
+    assert f() == 2
"""

WORDS = {"P": "PASSED", "F": "FAILED", "E": "ERROR", "S": "SKIPPED", "X": "XFAIL"}


def make_task(*, f2p: Iterable[str] = (), p2p: Iterable[str] = (), **fields: Any) -> Task:
    """Return a task; without ``f2p`` its targets are derived."""
    defaults: dict[str, Any] = {
        "id": "acorn__lantern-7",
        "repo": "acorn/lantern",
        "base_commit": BASE_COMMIT,
        "image": IMAGE,
        "workdir": "/lantern",
        "patch": PATCH.encode(),
        "test_patch": TEST_PATCH.encode(),
        "commands": ("python -m pytest -rA",),
        "parser": "parse_log_pytest",
    }
    return Task(**{**defaults, "fail_to_pass": tuple(f2p), "pass_to_pass": tuple(p2p), **fields})


def make_limits(**fields: Any) -> Limits:
    """Return limits of a small task."""
    usual = {"queue": 3600, "pull": 600, "setup": 300, "test": 300, "cpu": "1", "memory": "2Gi"}
    return Limits(**(usual | {"ephemeral_storage": "1Gi"} | fields))


def make_run(name: str) -> Run:
    """Return the run of a name such as ``unpatched-1``."""
    kind, _, number = name.rpartition("-")
    return Run(kind=RunKind(kind), number=int(number))


def make_outcome(
    run: str = "unpatched-1",
    *,
    passed: Iterable[str] = (),
    failed: Iterable[str] = (),
    skipped: Iterable[str] = (),
    results: Mapping[str, str] | None = None,
    exit_code: int | None = None,
    kind: OutcomeKind = OutcomeKind.FINISHED,
    **fields: Any,
) -> RunOutcome:
    """Return the outcome of one run; its one command exits with 1 when a test failed, else with 0, if not told."""
    words = {
        **dict.fromkeys(passed, "PASSED"),
        **dict.fromkeys(failed, "FAILED"),
        **dict.fromkeys(skipped, "SKIPPED"),
        **(results or {}),
    }
    if exit_code is None:
        exit_code = int(any(word in {"FAILED", "ERROR"} for word in words.values()))
    commands = (CommandResult(exit_code=exit_code, seconds=1.0),)
    return RunOutcome(run=make_run(run), kind=kind, results=words, **{"attempt": 1, "commands": commands, **fields})


def make_runs(
    tests: Mapping[str, str], *, states: Sequence[str] = ("unpatched", "patched", "pristine")
) -> list[RunOutcome]:
    """Return the outcomes of a whole validation, one letter a run, states apart by blanks: ``{"a": "FFF PP"}``."""
    counts = [len(letters) for letters in next(iter(tests.values())).split()] if tests else []
    outcomes = []
    for column, (state, count) in enumerate(zip(states, counts, strict=False)):
        for index in range(count):
            letters = {name: line.split()[column][index] for name, line in tests.items()}
            words = {name: WORDS[letter] for name, letter in letters.items() if letter != "."}
            outcomes.append(make_outcome(f"{state}-{index + 1}", results=words))
    return outcomes


def changed(outcomes: Iterable[RunOutcome], *runs: str, **fields: Any) -> list[RunOutcome]:
    """Return the outcomes with some fields of the named runs replaced."""
    return [replace(outcome, **fields) if outcome.run.name in runs else outcome for outcome in outcomes]


def make_spec(
    *, f2p: Iterable[str] = (), p2p: Iterable[str] = (), task: Mapping[str, Any] | None = None, **fields: Any
) -> v1alpha1.TaskValidationSpec:
    """Return the spec of a TaskValidation; ``task`` overrides fields of the task, by their Python names."""
    tests = v1alpha1.Tests(
        commands=("python -m pytest -rA",), parser="parse_log_pytest", fail_to_pass=tuple(f2p), pass_to_pass=tuple(p2p)
    )
    defaults: dict[str, Any] = {
        "id": "acorn__lantern-7",
        "repo": "acorn/lantern",
        "base_commit": BASE_COMMIT,
        "image": IMAGE,
        "workdir": "/lantern",
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "tests": tests,
    }
    return v1alpha1.TaskValidationSpec(task=v1alpha1.Task(**{**defaults, **(task or {})}), **fields)


def make_manifest(name: str = "lantern-7", *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """Return a TaskValidation as Kubernetes JSON, as a user applies it; ``spec`` as for ``make_spec``."""
    return {
        "apiVersion": v1alpha1.API_VERSION,
        "kind": "TaskValidation",
        "metadata": {"name": name, "namespace": namespace},
        "spec": v1alpha1.to_wire(make_spec(**spec)),
    }
