"""``assay import`` from a user's side: files in; manifests, a bundle, refusals and counts out."""

from __future__ import annotations

import base64
import json
import random
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from click.testing import Result
from pyarrow import parquet
from typer.testing import CliRunner

from assay.api import v1alpha1 as api
from assay.cli import imports, push
from assay.cli.main import app
from assay.datasets.bundles import read_bundle, read_index
from assay.domain.datasets.digests import task_of_document
from assay.domain.datasets.manifests import label_value, object_name
from assay.domain.screening import screened, statement_digest
from assay.store.artifacts import Store
from datasets_made import MADE, reference, swe_bench_live_row, swe_bench_row, swe_rebench_v2_row


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def manifests_in(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def written(folder: str = "out") -> list[dict[str, Any]]:
    return [said for path in sorted(Path(folder).glob("manifests-*.yaml")) for said in manifests_in(path.read_text())]


def jsonl(name: str, rows: list[dict[str, Any]]) -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def live(number: int, **changes: Any) -> dict[str, Any]:
    return swe_bench_live_row(number) | changes


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_file_of_each_family_gives_its_tasks_and_refusals(made: Any) -> None:
    jsonl("rows.jsonl", [dict(row.values) for row in made.rows])
    Path("recipes.yaml").write_text(yaml.safe_dump(dict(made.recipes)))
    done = run("import", "rows.jsonl", "--family", made.family, "--recipes", "recipes.yaml", "--out", "out")
    good = [number for number, row in enumerate(made.rows) if row.refused is None]
    assert done.exit_code == 0, done.stderr
    assert [said["spec"]["provenance"]["row"] for said in written()] == good
    refused = [(said["row"], said["field"]) for said in lines_of(Path("out/refusals.jsonl"))]
    assert refused == [(number, row.refused) for number, row in enumerate(made.rows) if row.refused is not None]
    assert f"{len(made.rows)} rows: {len(good)} tasks, 0 not selected, {len(refused)} refused" in done.stderr
    for said in written():
        api.TaskValidationSpec.model_validate(said["spec"])
        assert said["metadata"]["labels"]["assay.dev/family"] == made.family


def test_manifests_refer_to_the_documents_of_the_bundle() -> None:
    jsonl("rows.jsonl", [live(number) for number in range(5)])
    assert run("import", "rows.jsonl", "--dataset", "acorn/Lantern", "--revision", "r7", "-o", "out").exit_code == 0
    documents = {said.digest: task_of_document(said.content) for said in read_bundle(Path("out/bundle"))}
    assert read_index(Path("out/bundle"))["dataset"] == "acorn/Lantern"
    for manifest in written():
        reference_ = manifest["spec"]["taskFrom"]
        assert documents[reference_["digest"]].id == reference_["id"]
        assert reference_["dataset"] == manifest["spec"]["provenance"]["dataset"] == "acorn/Lantern"
        assert manifest["metadata"]["namespace"] == "assay-runs"
        assert manifest["metadata"]["labels"]["assay.dev/dataset"] == label_value("acorn/Lantern") != "acorn/Lantern"
    assert len(documents) == 5


def test_standard_output_holds_whole_tasks_with_their_bytes() -> None:
    rows = [live(number, patch=reference(number)) for number in (3, 5, 10)]
    done = run("import", jsonl("rows.jsonl", rows))
    tasks = [said["spec"]["task"] for said in manifests_in(done.stdout)]
    assert [task["patch"] for task in tasks] == [row["patch"] for row in rows]
    assert [task["tests"]["failToPass"] for task in tasks] == [row["FAIL_TO_PASS"] for row in rows]


def test_an_import_twice_writes_the_same_bytes() -> None:
    jsonl("rows.jsonl", [live(number) for number in range(20)])
    for folder in ("one", "two"):
        run("import", "rows.jsonl", "-o", folder)
    for name in ("manifests-00000.yaml", "bundle/bundle.json", "bundle/tasks-00000.parquet", "import.json"):
        assert (Path("one") / name).read_bytes() == (Path("two") / name).read_bytes()


def test_an_import_that_reads_nothing_or_is_interrupted_leaves_an_earlier_one_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = jsonl("rows.jsonl", [live(number) for number in range(3)])
    run("import", rows, "--out", "out")
    before = {
        path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file() and path.name != "refusals.jsonl"
    }
    assert run("import", "nope.jsonl", "--out", "out").exit_code == 1

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(imports, "manifest_text", interrupted)
    assert run("import", rows, "--out", "out").exit_code == 130
    left = {
        path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file() and path.name != "refusals.jsonl"
    }
    assert left == before
    assert not list(Path("out").glob(".import-*"))


def test_ids_twice_are_refused_and_ids_that_differ_in_case_are_reported() -> None:
    rows = [live(1), live(1), live(1, patch=reference(5)), live(2, instance_id="Acorn__Lantern-1"), live(3)]
    done = run("import", jsonl("rows.jsonl", rows), "-o", "out")
    refused = lines_of(Path("out/refusals.jsonl"))
    assert ["the same task" in said["reason"] for said in refused] == [True, False]
    assert "rows.jsonl:0" in refused[0]["reason"]
    assert "differ in case alone" in done.stderr
    names = [said["metadata"]["name"] for said in written()]
    assert len(set(names)) == len(names) == 3


def test_rows_at_one_commit_are_reported() -> None:
    rows = [live(1), live(2, base_commit=live(1)["base_commit"]), live(3)]
    assert "2 rows share repository and commit" in run("import", jsonl("rows.jsonl", rows), "-o", "out").stderr


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("--preset", "openreward"), [0, 4, 8]),
        (("--select", 'labels.exists(label, label == "B5")'), [1, 5, 9]),
        (("--select", 'row.language == "go" && size(id) > 16'), [10, 11]),
        (("--preset", "no-go-test"), []),
        (("--select", "patch_bytes < 3"), []),
        (("--languages", "Go,python", "--limit", "2"), [0, 1]),
        (("--languages", "rust"), []),
        (("--repos", "acorn/lantern", "--limit", "1"), [0]),
        (("--since", "2020-09-13T12:26:40", "--until", "2020-09-13T12:26:41", "--limit", "1"), [0]),
        (("--until", "2019-01-01"), []),
        (("--ids", "ids.txt"), [3, 7]),
        (("--limit", "0"), []),
    ],
)
def test_selections_choose(options: tuple[str, ...], numbers: list[int]) -> None:
    Path("ids.txt").write_text("acorn__lantern-7\n\nACORN__lantern-3\n")
    done = run(
        "import", jsonl("rows.jsonl", [swe_rebench_v2_row(number) for number in range(12)]), "-o", "out", *options
    )
    assert [said["spec"]["provenance"]["row"] for said in written()] == numbers
    assert done.exit_code == (0 if numbers else 1)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--select", "1 +"), "Syntax error"),
        (("--select", "nothing == 1"), "Undefined variable"),
        (("--preset", "best"), "openreward"),
        (("--family", "swe-bensh"), "swe-bench"),
        (("--profile", "lenient"), "strict"),
        (("--ids", "no-such-file"), "No such file"),
        (("--recipes", "recipes.yaml"), "keys"),
    ],
)
def test_options_that_make_no_sense_say_why(option: tuple[str, str], said: str) -> None:
    Path("recipes.yaml").write_text("acorn/lantern: {command: pytest}\n")
    done = run("import", jsonl("rows.jsonl", [live(1)]), "-o", "out", *option)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_a_quality_label_of_no_known_form_is_no_label_and_told() -> None:
    rows = [swe_rebench_v2_row(number) for number in (1, 2)]
    for row, code in zip(rows, ("A;B5", "solvable"), strict=True):
        row["meta"] = {"llm_metadata": {"code": code}}
    done = run("import", jsonl("rows.jsonl", rows), "-o", "out", "--preset", "openreward")
    assert (done.exit_code, written()) == (1, [])
    run("import", "rows.jsonl", "-o", "all")
    assert len(written("all")) == 2
    assert "has no known form" in run("import", "rows.jsonl", "-o", "all").stderr


def test_a_selection_that_cannot_be_asked_of_a_row_leaves_it_out_and_says_so() -> None:
    done = run("import", jsonl("rows.jsonl", [live(1)]), "-o", "out", "--select", "language > 3")
    assert done.exit_code == 1
    assert "cannot be asked" in done.stderr


def test_a_random_order_is_the_same_for_a_seed_whatever_the_order_of_the_rows() -> None:
    rows = [live(number) for number in range(30)]
    orders = []
    for folder, shuffle in (("one", 1), ("two", 2)):
        random.Random(shuffle).shuffle(rows)
        run("import", jsonl("rows.jsonl", rows), "-o", folder, "--order", "random", "--seed", "7", "--limit", "8")
        orders.append([said["spec"]["taskFrom"]["id"] for said in written(folder)])
    assert orders[0] == orders[1]
    assert len(orders[0]) == 8
    assert orders[0] != sorted(orders[0], key=lambda id_: int(id_.rpartition("-")[2]))
    assert len(list(read_bundle(Path("one/bundle")))) == 8


def test_broken_files_cost_themselves_alone_and_the_exit_code() -> None:
    parquet.write_table(pa.Table.from_pylist([{"instance_id": "a"}]), "half.parquet")
    Path("half.parquet").write_bytes(Path("half.parquet").read_bytes()[:-9])
    Path("comma.json").write_text(json.dumps([live(1), live(2)])[:-1] + ",]")
    jsonl("columns.jsonl", [{"name": "a", "text": "b"}])
    done = run("import", "half.parquet", "comma.json", "columns.jsonl", jsonl("good.jsonl", [live(3)]), "-o", "out")
    assert done.exit_code == 1
    assert len(written()) == 3
    told = {said["file"]: said["reason"] for said in lines_of(Path("out/refusals.jsonl"))}
    assert "no complete parquet file" in told["half.parquet"]
    assert "comma" in told["comma.json"]
    assert "no known family" in told["columns.jsonl"]


def test_rows_of_another_family_than_their_file_are_refused() -> None:
    rows = [live(1), swe_bench_row(1), dict(MADE["r2e-gym"].rows[0].values), live(2)]
    run("import", jsonl("rows.jsonl", rows), "-o", "out")
    assert [(said["row"], said["field"]) for said in lines_of(Path("out/refusals.jsonl"))] == [(1, "row"), (2, "row")]
    assert len(written()) == 2


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_row_of_fifty_megabytes_is_refused_and_the_next_is_read(form: str) -> None:
    rows = [live(1, patch=reference(1) + "x" * 50_000_000), live(2)]
    jsonl("rows.jsonl", rows)
    parquet.write_table(pa.Table.from_pylist([row | {"created_at": "2024-05-01"} for row in rows]), "rows.parquet")
    done = run("import", f"rows.{form}", "-o", "out")
    assert done.exit_code == 0, done.stderr
    (refused,) = lines_of(Path("out/refusals.jsonl"))
    assert (refused["field"], "more than" in refused["reason"]) == ("patch", True)


def test_a_task_too_large_for_a_manifest_is_refused_inline_and_kept_in_a_bundle() -> None:
    large = live(1, problem_statement="w" * 300_000)
    jsonl("rows.jsonl", [large, live(2)])
    assert run("import", "rows.jsonl", "-o", "inline", "--inline").exit_code == 0
    assert [said["field"] for said in lines_of(Path("inline/refusals.jsonl"))] == ["statement"]
    run("import", "rows.jsonl", "-o", "out")
    assert len(written()) == 2


def test_non_ascii_everything_survives() -> None:
    row = live(1, instance_id="größe__修正-1", repo="größe/修正", problem_statement="\u2028修正\u0085\ufeff 🙂")
    done = run("import", jsonl("rows.jsonl", [row]), "--dataset", "данные")
    (manifest,) = manifests_in(done.stdout)
    assert manifest["spec"]["task"]["statement"] == row["problem_statement"]
    assert manifest["metadata"]["annotations"]["assay.dev/task-id"] == row["instance_id"]
    assert manifest["metadata"]["name"] == object_name("данные", row["instance_id"])
    assert all(label_value(value) == value for value in manifest["metadata"]["labels"].values())


def test_episodes_are_made_of_the_same_rows() -> None:
    done = run("import", jsonl("rows.jsonl", [live(1)]), "--as", "episodes")
    (manifest,) = manifests_in(done.stdout)
    assert manifest["kind"] == "AgentEpisode"
    api.AgentEpisodeSpec.model_validate(manifest["spec"])


def denied(*tasks: str) -> Path:
    entry = {"repo": "acorn/lantern", "owned": {"x.dev/lantern": ["go.mod"]}, "forkNames": [], "nestedElsewhere": {}}
    path = Path("deny.json")
    path.write_text(json.dumps({"format": 1, "tasks": dict.fromkeys(tasks, entry)}))
    return path


POLICY = {"owned": ["x.dev/lantern"], "forkNames": [], "nestedElsewhere": []}


@pytest.mark.parametrize(
    ("kind", "said"),
    [("validations", {"goPolicy": POLICY}), ("episodes", {"goPolicy": POLICY, "network": "GoProxy"})],
)
def test_a_deny_list_gives_each_go_task_its_policy(kind: str, said: dict[str, Any]) -> None:
    row = live(1, language="Go")
    rows = jsonl("rows.jsonl", [row, live(2, language="python")])
    done = run("import", rows, "--as", kind, "--deny-list", denied(row["instance_id"]))
    assert done.exit_code == 0, done.stderr
    first, second = (manifest["spec"] for manifest in manifests_in(done.stdout))
    assert {name: first.get(name) for name in said} == said
    assert "goPolicy" not in second


def test_a_go_task_without_an_entry_in_the_deny_list_is_refused_and_an_error() -> None:
    rows = jsonl("rows.jsonl", [live(1, language="go"), live(2, language="python")])
    done = run("import", rows, "--deny-list", denied("another"))
    assert done.exit_code == 1
    assert "1 Go task without an entry in the deny list" in done.stderr
    assert len(manifests_in(done.stdout)) == 1
    (refused,) = lines_of(Path("refusals.jsonl"))
    assert (refused["field"], "deny list" in refused["reason"]) == ("instance_id", True)


def test_runs_profile_and_namespace_are_those_asked_for() -> None:
    options = ("--unpatched", "1", "--patched", "1", "--profile", "strict", "-n", "mine")
    (manifest,) = manifests_in(run("import", jsonl("rows.jsonl", [live(1)]), *options).stdout)
    assert manifest["metadata"]["namespace"] == "mine"
    assert (manifest["spec"]["profile"], manifest["spec"]["runs"]["unpatched"]) == ("strict", 1)


def example_of(command: Any) -> list[str]:
    """The words of the example in a command's help, without ``assay``."""
    (line,) = [line for line in command.__doc__.splitlines() if line.strip().startswith("Example: assay ")]
    return shlex.split(line.partition("Example: assay ")[2])


def test_the_examples_in_the_help_of_import_and_push_work(tmp_path: Path) -> None:
    rows = [dict(row.values) for row in MADE["swe-rebench-v2"].rows[:22:2]]
    for row in rows:
        row["install_config"] = json.dumps(row["install_config"])
        row["meta"] = row["meta"] if isinstance(row["meta"], str) else json.dumps(row["meta"])
    parquet.write_table(pa.Table.from_pylist(rows), "tasks.parquet")
    done = run(*example_of(imports.import_rows))
    assert done.exit_code == 0, done.stderr
    store = f"file://{tmp_path}/store"
    words = [store if word.startswith("file://") else word for word in example_of(push.push)]
    count = read_index(Path("tasks/bundle"))["tasks"]
    assert count > 0
    for said in (f"{count} tasks, {count} of them sent", f"{count} there already"):
        done = run(*words)
        assert (done.exit_code, said in done.stderr) == (0, True), done.stderr
    for document in read_bundle(Path("tasks/bundle")):
        assert Store(store).get(document.digest) == document.content


def test_a_patch_with_a_replacement_character_of_its_own_goes_in_as_base64() -> None:
    patch = reference(1).replace("return", "\ufffd return", 1)
    (manifest,) = manifests_in(run("import", jsonl("rows.jsonl", [live(1, patch=patch)])).stdout)
    assert base64.b64decode(manifest["spec"]["task"]["patchBase64"]) == patch.encode()


def test_sides_and_reviews_of_rows_travel_into_the_manifests() -> None:
    rewrite = {"decision": "Rewritten", "statement": "f() must return 2."}
    rows = [
        live(1, split="eval", statement_review=json.dumps({"decision": "Accepted", "reviewer": "ann"})),
        live(2, split="test", statementReview=rewrite),
        live(3, statement_review={"decision": "Maybe"}),
        live(4, statement_review=rewrite | {"originalDigest": "0" * 64}),
    ]
    done = run("import", jsonl("rows.jsonl", rows), "-o", "out", "--inline")
    first, second = (said["spec"] for said in written())
    assert (first["split"], first["statementReview"]) == ("eval", {"decision": "Accepted", "reviewer": "ann"})
    assert "split" not in second
    assert "'test' is neither train nor eval" in done.stderr
    assert second["task"]["statement"] == "f() must return 2."
    review = api.StatementReview.model_validate(second["statementReview"])
    assert (review.statement, review.original_digest) == ("", statement_digest(live(2)["problem_statement"]))
    assert screened(review, "f() must return 2.", required=True) is None
    assert [(said["row"], said["field"]) for said in lines_of(Path("out/refusals.jsonl"))] == [
        (2, "statement_review"),
        (3, "statement_review"),
    ]


def test_a_repository_on_both_sides_is_refused_on_the_later_one_under_its_former_name_too() -> None:
    Path("renamed.yaml").write_text("Old/Lantern: acorn/lantern\n")
    sides = [("acorn/lantern", "eval"), ("old/lantern", "train"), ("birch/bell", "train"), ("Acorn/Lantern", "eval")]
    rows = [live(number, repo=repo, split=side) for number, (repo, side) in enumerate(sides)]
    run("import", jsonl("rows.jsonl", rows), "-o", "out", "--renamed", "renamed.yaml")
    (refused,) = lines_of(Path("out/refusals.jsonl"))
    assert (refused["row"], refused["field"]) == (1, "split")
    assert "acorn/lantern is on the eval side already, by rows.jsonl:0" in refused["reason"]
    assert [said["spec"]["split"] for said in written()] == ["eval", "train", "eval"]
