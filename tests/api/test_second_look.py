"""The real operator, asked again about objects that have their verdict: another decision, other rules, no run twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.api import v1alpha1 as api
from assay.store.artifacts import Store
from conftest import TestCluster
from operating import NAMESPACE, Site, operating, validation

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]


@pytest.fixture
def site(api_cluster: TestCluster, tmp_path: Path) -> Iterator[Site]:
    """An operator that asks for reviews."""
    with operating(api_cluster, tmp_path, reviewRequired=True) as site:
        yield site


def change(site: Site, name: str, **spec: Any) -> None:
    """Change a part of an object's spec, as a user would."""
    merged = json.dumps({"spec": spec})
    site.cluster.kubectl("patch", "tv", name, "-n", NAMESPACE, "--type=merge", "-p", merged)


def review(site: Site, *words: str) -> None:
    """Call ``assay review``."""
    done = site.assay("review", *words)
    assert done.returncode == 0, done.stderr


def pods_made(site: Site) -> int:
    """How many pods the operator has asked for."""
    return site.operator.api_requests()["POST", "pods"]


def test_an_object_with_a_verdict_follows_a_later_decision_and_other_rules_without_a_run_made_twice(site: Site) -> None:
    site.apply(validation("acorn-1", "second"))
    dropped = site.until_status("acorn-1", lambda status: status.verdict is not None)
    assert (dropped.reason, dropped.runs, pods_made(site)) == ("StatementUnreviewed", (), 0)

    review(site, "accept", "acorn-1", "--reason", "clear")
    ran = site.until_status("acorn-1", lambda status: status.reason == "TargetTestsPassUnpatched")
    assert (len(ran.runs), ran.observed_generation, pods_made(site)) == (1, 2, 1)

    rules = api.Regrade(profile="swebench-v5", parser="parse_log_pytest_v2")
    change(site, "acorn-1", regrade=api.to_wire(rules))
    again = site.until_status("acorn-1", lambda status: status.regrade == rules)
    assert (again.verdict, again.observed_generation, pods_made(site)) == (api.Verdict.INVALID, 3, 1)
    assert again.runs[0].results is not None
    assert b"tests/test_m.py::test_f" in Store(site.store).get(again.runs[0].results.sha256)

    change(site, "acorn-1", regrade=None)
    site.until_status("acorn-1", lambda status: status.regrade is None and status.observed_generation == 4)

    site.apply(validation("acorn-2", "second"))
    site.until_status("acorn-2", lambda status: status.reason == "StatementUnreviewed")
    review(site, "reject", "acorn-2", "--reason", "names the fix")
    site.until_status("acorn-2", lambda status: status.reason == "StatementRejected")
    assert pods_made(site) == 1
    assert site.operator.lines("ERROR") == []
