"""A quality report as a document: HTML for people, Markdown for issues, JSON and parquet for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq

from assay.domain.quality import Group, QualityReport, TaskRow
from assay.report.figures import bars, histogram

MAX_REPOSITORIES = 40
COLOURS = {"Valid": "good", "Invalid": "bad", "Inconclusive": "odd", "Open": "neutral"}
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("assay.report"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)


def percent(share: float | None) -> str:
    """Return a share of 1 as people read it; a dash for none."""
    return "-" if share is None else f"{share * 100:.1f} %"


def duration(seconds: float) -> str:
    """Return seconds as people read them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def size(amount: float) -> str:
    """Return bytes as people read them."""
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


_ENVIRONMENT.filters.update(percent=percent, duration=duration, size=size)


def html_of(report: QualityReport, *, title: str, made_at: str) -> str:
    """Return one self-contained page: no script, nothing loaded from elsewhere."""
    figures = {
        "funnel": bars(
            [(name, count, "", "neutral" if name != "valid" else "good") for name, count in report.funnel],
            title="rows, step by step",
        ),
        "reasons": bars(
            [
                (entry.reason, entry.count, f"#reason-{entry.verdict}-{entry.reason}", COLOURS[entry.verdict])
                for entry in report.reasons
            ],
            title="verdicts by reason",
        ),
        "seconds": histogram(
            [row.seconds for row in report.rows if row.seconds],
            title="time from creation to verdict",
            unit="s",
        ),
        "runs": histogram(
            [run.seconds for row in report.rows for run in row.runs if run.seconds],
            title="time of the test commands of a run",
            unit="s",
        ),
    }
    shown = {name: groups[:MAX_REPOSITORIES] for name, groups in report.groups.items()}
    return _ENVIRONMENT.get_template("report.html.j2").render(
        report=report,
        title=title,
        made_at=made_at,
        groups=shown,
        hidden={name: len(report.groups[name]) - len(groups) for name, groups in shown.items()},
        figures=figures,
        colours=COLOURS,
    )


def markdown_of(report: QualityReport, *, title: str, made_at: str) -> str:
    """Return the report's tables as Markdown."""
    return "\n".join(_markdown(report, title, made_at)) + "\n"


def _markdown(report: QualityReport, title: str, made_at: str) -> Iterator[str]:
    yield f"# {title}\n\nMade {made_at}.\n"
    yield from _table(("step", "tasks"), [(name, str(count)) for name, count in report.funnel])
    yield "\n## Verdicts and reasons\n"
    yield from _table(
        ("verdict", "reason", "tasks", "for example"),
        [(entry.verdict, entry.reason, str(entry.count), ", ".join(entry.names[:3])) for entry in report.reasons],
    )
    if report.refusals:
        yield "\n## Rows that the import refused\n"
        yield from _table(("reason", "rows"), [(reason, str(count)) for reason, count in report.refusals])
    for name, groups in report.groups.items():
        yield f"\n## By {name}\n"
        yield from _table((name, "tasks", "valid", "invalid", "inconclusive", "rate"), [_cells(g) for g in groups])
    yield "\n## Infrastructure\n"
    yield f"{report.attempts_lost} attempts of {report.runs} runs were lost; none of them became a verdict.\n"
    yield from _table(("fault", "attempts"), [(kind, str(count)) for kind, count in report.faults])


def _cells(group: Group) -> tuple[str, ...]:
    counts = (group.total, group.valid, group.invalid, group.inconclusive)
    return (group.name, *(str(count) for count in counts), percent(group.rate))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def json_of(report: QualityReport, *, title: str, made_at: str) -> str:
    """Return all numbers and rows as JSON."""
    said: Mapping[str, object] = {"title": title, "madeAt": made_at, **asdict(report)}
    return json.dumps(said, ensure_ascii=False, indent=1)


def parquet_of(report: QualityReport) -> bytes:
    """Return one row a task, as parquet; runs as a list of structures."""
    table = pa.Table.from_pylist([_record(row) for row in report.rows])
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _record(row: TaskRow) -> dict[str, object]:
    record = asdict(row)
    record["runs"] = [{**asdict(run), "faults": list(run.faults)} for run in row.runs]
    record["flaky_names"] = list(row.flaky_names)
    return record
