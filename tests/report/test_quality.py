"""The quality report: every number from objects' statuses, every form of the document."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.domain.quality import QualityReport, quality_of, spread_of, task_row_of
from assay.report.documents import html_of, json_of, markdown_of, parquet_of
from assay.report.figures import bars, histogram

MADE = {"title": "A batch", "made_at": "2026-01-02 03:04 UTC"}


def task(name: str, verdict: str | None = None, reason: str = "", **more: Any) -> dict[str, Any]:
    """A TaskValidation as the API server holds it."""
    status: dict[str, Any] = {"phase": "Complete" if verdict else "Running", "reason": reason}
    if verdict:
        status |= {"verdict": verdict, "completedAt": "2026-01-01T00:01:00Z"}
    status |= more.pop("status", {})
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": more.pop("labels", {})},
        "spec": {
            "task": {"id": f"id-{name}", "repo": more.pop("repo", "a/b"), "language": more.pop("language", "go")},
            "resources": {"cpu": more.pop("cpu", "1")},
            **more,
        },
        "status": status,
    }


def run(name: str, seconds: float, *faults: str) -> dict[str, Any]:
    return {
        "name": name,
        "outcome": "Finished",
        "durationSeconds": seconds,
        "log": {"bytes": 100},
        "queueSeconds": seconds / 2,
        "startSeconds": seconds * 2,
        "faults": [{"reason": fault} for fault in faults],
    }


def batch() -> QualityReport:
    objects = [
        task("a", "Valid", "Solved", status={"runs": [run("unpatched-1", 2.0), run("patched-1", 4.0, "NodeLost")]}),
        task("b", "Invalid", "NoTargetTests", repo="c/d", cpu="500m", status={"runs": [run("unpatched-1", 10.0)]}),
        task("c", "Invalid", "MalformedTask", language="python"),
        task("d", "Inconclusive", "Infrastructure"),
        task("e", labels={"assay.dev/dataset": "rebench"}),
        task("f", "Valid", "Solved", status={"tests": {"flaky": {"count": 2, "first": ["t<1>", "t2"]}}}),
    ]
    return quality_of([task_row_of(raw) for raw in objects], ["image: missing", "image: missing", "patch: empty"])


def test_the_funnel_counts_what_is_left_after_each_step() -> None:
    assert batch().funnel == (
        ("imported", 9),
        ("made into objects", 6),
        ("accepted", 5),
        ("with a verdict", 3),
        ("valid", 2),
    )


def test_reasons_are_ordered_and_carry_their_objects_names() -> None:
    assert [(entry.verdict, entry.reason, entry.names) for entry in batch().reasons] == [
        ("Valid", "Solved", ("a", "f")),
        ("Invalid", "MalformedTask", ("c",)),
        ("Invalid", "NoTargetTests", ("b",)),
        ("Inconclusive", "Infrastructure", ("d",)),
        ("Open", "Running", ("e",)),
    ]


def test_a_rate_leaves_out_what_has_no_verdict_and_what_the_cluster_lost() -> None:
    go = next(group for group in batch().groups["language"] if group.name == "go")
    assert (go.total, go.valid, go.invalid, go.inconclusive, go.open) == (5, 2, 1, 1, 1)
    assert go.rate == pytest.approx(2 / 3)


def test_a_bundled_tasks_labels_tell_its_repository_language_and_family() -> None:
    raw = task("a", "Valid", "Solved", labels={"assay.dev/language": "go", "assay.dev/family": "swe-gym"})
    raw["spec"]["task"], raw["status"]["source"] = None, "acorn/lantern"
    row = task_row_of(raw)
    assert (row.repo, row.language, row.family) == ("acorn/lantern", "go", "swe-gym")


def test_faults_are_counted_apart_from_verdicts() -> None:
    report = batch()
    assert (report.faults, report.attempts_lost, report.runs) == ((("NodeLost", 1),), 1, 3)


def test_waits_are_told_apart_from_the_time_of_the_tests() -> None:
    waits = batch().waits
    assert (waits["for a node"].p50, waits["for images and start"].most) == (2.0, 20.0)
    assert "wait for a node" in html_of(batch(), **MADE)


def test_processor_time_is_the_runs_time_by_the_processors_reserved() -> None:
    assert batch().cpu_seconds == pytest.approx(6.0 + 5.0)


def test_quantiles_are_values_that_occurred() -> None:
    spread = spread_of([float(value) for value in range(1, 101)])
    assert (spread.count, spread.p50, spread.p95, spread.most) == (100, 50.0, 95.0, 100.0)
    assert spread_of([]).most == 0.0


def test_the_page_links_every_reason_to_its_objects_and_loads_nothing() -> None:
    page = html_of(batch(), **MADE)
    for name in "abcdef":
        assert f'href="#tv-{name}"' in page
        assert f'id="tv-{name}"' in page
    assert 'href="#reason-Invalid-NoTargetTests"' in page
    assert 'id="reason-Invalid-NoTargetTests"' in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "t&lt;1&gt;" in page, "names are text, never markup"


def test_an_empty_batch_has_a_page_too() -> None:
    assert "0 TaskValidations" in html_of(quality_of([]), **MADE)


def test_figures_are_well_formed_whatever_the_labels() -> None:
    drawn = bars([("<&>", 3, "#x", "good"), ("none", 0, "", "bad")], title='"quoted"')
    assert len(ET.fromstring(drawn).findall(".//rect")) == 2
    assert ET.fromstring(histogram([], title="none", unit="s")).findall("rect") == []
    assert len(ET.fromstring(histogram([0.0, 1.0, 1.0], title="some", unit="s")).findall("rect")) == 2


def test_markdown_has_the_same_numbers() -> None:
    text = markdown_of(batch(), **MADE)
    assert "| Invalid | NoTargetTests | 1 | b |" in text
    assert "| image: missing | 2 |" in text


def test_json_and_parquet_hold_every_row() -> None:
    report = batch()
    assert [row["name"] for row in json.loads(json_of(report, **MADE))["rows"]] == list("abcdef")
    table = pq.read_table(io.BytesIO(parquet_of(report)))
    assert table.column("name").to_pylist() == list("abcdef")
    assert table.column("runs").to_pylist()[0][1]["faults"] == ["NodeLost"]
