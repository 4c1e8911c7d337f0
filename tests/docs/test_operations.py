"""The handbook names everything that an operator of Assay can meet: reasons, outcomes, faults, metrics, values, alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from assay.controller import metrics
from assay.domain.grading import GradeReason
from assay.domain.outcomes import FaultKind, OutcomeKind
from assay.domain.verdict import Reason
from assay.kube import client
from conftest import ROOT

HANDBOOK = (ROOT / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("word", [*Reason, *OutcomeKind, *FaultKind])
def test_every_reason_outcome_and_fault_is_explained(word: str) -> None:
    assert f"`{word}`" in HANDBOOK


@pytest.mark.parametrize("word", GradeReason)
def test_every_reason_of_a_grade_is_explained(word: str) -> None:
    assert f"`{word}`" in (ROOT / "docs" / "predictions.md").read_text()


def metric_names() -> Iterator[str]:
    for module in (metrics, client):
        for value in vars(module).values():
            if isinstance(value, MetricWrapperBase):
                yield value._name + ("_total" if value._type == "counter" else "")


@pytest.mark.parametrize("name", sorted(metric_names()))
def test_every_metric_is_explained(name: str) -> None:
    assert f"`{name}`" in HANDBOOK


def test_every_value_of_the_chart_is_explained() -> None:
    values: Mapping[str, Any] = yaml.safe_load((ROOT / "charts" / "assay" / "values.yaml").read_text())
    for section, fields in values.items():
        assert f"`{section}." in HANDBOOK, section
        for field in fields:
            assert re.search(rf"[`.]{field}[`.]", HANDBOOK), f"{section}.{field}"


def test_every_alert_is_named() -> None:
    rules = yaml.safe_load((ROOT / "charts" / "assay" / "files" / "alerts.yaml").read_text())
    assert rules
    for rule in rules:
        assert f"`{rule['alert']}`" in HANDBOOK


def test_links_between_documents_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([\w./-]+\.\w+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
