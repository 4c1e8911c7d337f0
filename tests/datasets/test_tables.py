"""Readers of files: every form gives the same rows, and what is broken is said where it is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from assay.datasets.json_rows import MAX_ROW_BYTES
from assay.datasets.rows import UnreadableFileError
from assay.datasets.tables import table_at
from assay.domain.datasets import FAMILIES, RowTask, family_of, task_from_row
from datasets_made import MADE, swe_bench_row

COLUMNS = {name for row in MADE["swe-bench-live"].rows for name in row.values}
LIVE = [  # one type a column, as parquet wants it
    {name: row.values.get(name) for name in COLUMNS} | {"created_at": "2024-05-01T00:00:00Z"}
    for row in MADE["swe-bench-live"].rows
    if row.refused is None
]


def read(path: Path) -> list[dict[str, Any]]:
    table = table_at(path)
    return [dict(row.values) for row in table.rows(table.columns())]


def read_until_broken(path: Path) -> tuple[int, str]:
    """Return how many rows come before the file is said to be broken, and what is said."""
    count = 0
    try:
        for _ in table_at(path).rows(frozenset({"instance_id", "patch"})):
            count += 1
    except UnreadableFileError as error:
        return count, str(error)
    raise AssertionError(f"{count} rows and no fault")


@pytest.fixture(params=["parquet", "jsonl", "list.json", "by-id.json", "stream.json"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"rows.{request.param}"
    if request.param == "parquet":
        parquet.write_table(pa.Table.from_pylist(LIVE), path, row_group_size=5)
    elif request.param == "list.json":
        path.write_text(json.dumps(LIVE, indent=2))
    elif request.param == "by-id.json":
        path.write_text(json.dumps({row["instance_id"]: row for row in LIVE}, ensure_ascii=False))
    else:
        path.write_text("\n\n".join(json.dumps(row) for row in LIVE))
    return path


def test_every_form_gives_the_same_tasks(file: Path) -> None:
    family = FAMILIES["swe-bench-live"]
    assert family_of(table_at(file).columns()) == family
    rows = read(file)
    assert [task_from_row(row, family) for row in rows] == [task_from_row(row, family) for row in LIVE]


def test_parquet_reads_only_the_columns_that_are_needed(tmp_path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(LIVE), tmp_path / "rows.parquet")
    rows = list(table_at(tmp_path / "rows.parquet").rows(frozenset({"instance_id", "nowhere"})))
    assert [set(row.values) for row in rows] == [{"instance_id"}] * len(LIVE)
    assert [row.number for row in rows] == list(range(len(LIVE)))


def test_structs_of_parquet_become_the_tasks_of_their_rows(tmp_path: Path) -> None:
    family = FAMILIES["swe-rebench-v2"]
    rows = [dict(row.values) for row in MADE["swe-rebench-v2"].rows[:22:2]]
    for row in rows:  # one type a column: commands as text, labels as text, as parquet wants it
        config = row["install_config"]
        row["install_config"] = {"test_cmd": json.dumps(config["test_cmd"]), "log_parser": "parse_log_gotest"}
        row["meta"] = row["meta"] if isinstance(row["meta"], str) else json.dumps(row["meta"])
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    results = [task_from_row(row, family) for row in read(tmp_path / "rows.parquet")]
    assert [result for result in results if not isinstance(result, RowTask)] == []


def test_half_a_parquet_file_is_said_to_be_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(LIVE), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "no complete parquet file" in read_until_broken(path)[1]


def test_parquet_with_broken_pages_gives_what_comes_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = [{"instance_id": f"a-{number}", "patch": str(number) * 50_000} for number in range(300)]
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=50, compression="gzip")
    content = bytearray(path.read_bytes())
    middle = parquet.ParquetFile(path).metadata.row_group(3).column(1).data_page_offset
    content[middle + 40 : middle + 4000] = b"\xff" * 3960
    path.write_bytes(bytes(content))
    count, said = read_until_broken(path)
    assert 100 < count <= 160
    assert "after row" in said


@pytest.mark.parametrize(
    ("text", "good", "said"),
    [
        ('[{"a": 1}, {"a": 2},]', 2, "comma"),
        ('[{"a": 1}, {"a": 2', 1, "no JSON"),
        ('[{"a": 1} {"a": 2}]', 1, "after an element"),
        ('[{"a": 1}', 1, "inside the list"),
        ("a,b\n1,2\n", 0, "begins with"),
        ("[1 2]", 1, "after an element"),
    ],
)
def test_a_broken_list_gives_its_good_beginning(tmp_path: Path, text: str, good: int, said: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    count, why = read_until_broken(path)
    assert (count, said in why) == (good, True), why


def test_a_bad_line_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 1,}\n[]\n\xff\xfe\n{"a": "\xc3\xa9"}')
    rows = list(table_at(path).rows(frozenset()))
    assert [bool(row.fault) for row in rows] == [False, True, True, True, False]
    assert rows[4].values == {"a": "é"}


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": "')
        file.truncate(MAX_ROW_BYTES + 10_000_000)
        file.seek(0, 2)
        file.write(b'"}\n{"a": 2}\n')
    rows = list(table_at(path).rows(frozenset()))
    assert ["longer than" in row.fault for row in rows] == [True, False]


def test_a_folder_of_tasks_gives_their_rows_with_patches_as_bytes(tmp_path: Path) -> None:
    row = swe_bench_row(3)
    (tmp_path / "sweb.yaml").write_text("version: 5\n")
    folder = tmp_path / "tasks" / "one"
    folder.mkdir(parents=True)
    texts = {"problem_statement": "problem_statement.md", "eval_script": "eval.sh"}
    patches = {"patch": "gold.patch", "test_patch": "test.patch"}
    lists = ("FAIL_TO_PASS", "PASS_TO_PASS")
    for column, name in (texts | patches).items():
        (folder / name).write_bytes(row[column].encode())
    (folder / "tests.json").write_text(json.dumps({name: row[name] for name in lists}))
    rest = {key: value for key, value in row.items() if key not in texts | patches and key not in lists}
    (folder / "task.yaml").write_text(yaml.safe_dump(rest))
    family = FAMILIES["swe-bench"]
    assert family_of(table_at(tmp_path).columns()) == family
    (found,) = read(tmp_path)
    assert isinstance(found["patch"], bytes)
    assert task_from_row(found, family) == task_from_row(row, family)


@pytest.mark.parametrize("name", ["rows.csv", "nothing.parquet", "empty"])
def test_what_is_no_data_set_is_said_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFileError):
        read(tmp_path / name)
