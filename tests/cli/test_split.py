"""``assay split``: sides by repository, the same for the same seed, told before anything is applied."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from assay.cli.main import app
from assay.domain.splits import proposed_sides


def manifests(folder: Path) -> Path:
    tasks = [("a", "Acorn/Lantern"), ("b", "acorn/lamp"), ("c", "birch/bell"), ("d", "birch/bell"), ("e", "cedar/cup")]
    documents = [
        {"kind": "TaskValidation", "metadata": {"name": name}, "spec": {"task": {"id": name, "repo": repo}}}
        for name, repo in tasks
    ]
    (folder / "tasks.yaml").write_text(yaml.safe_dump_all(documents))
    return folder


def test_every_task_of_a_repository_gets_its_side(tmp_path: Path) -> None:
    folder, renamed = manifests(tmp_path), tmp_path / "renamed.txt"
    renamed.write_text("acorn/lamp: acorn/lantern\n")
    words = [
        "split",
        str(folder),
        "--eval-repos",
        "ACORN/lamp",
        "--renamed",
        str(renamed),
        "--out",
        str(tmp_path / "o"),
    ]
    done = CliRunner().invoke(app, [*words, "-o", "json"])
    assert done.exit_code == 0, done.output
    sides = {row["repository"].partition("-")[0]: (row["tasks"], row["side"]) for row in json.loads(done.stdout)}
    assert sides == {"acorn": (2, "eval"), "birch": (2, "train"), "cedar": (1, "train")}
    written = yaml.safe_load_all((tmp_path / "o" / "manifests-split.yaml").read_text())
    assert [document["spec"]["split"] for document in written] == ["eval", "eval", "train", "train", "train"]


def test_a_repository_that_no_task_is_from_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["split", str(manifests(tmp_path)), "--eval-repos", "none/such"])
    assert done.exit_code == 2
    assert "no task is from" in done.output


def test_a_manifest_that_names_no_repository_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("kind: TaskValidation\nmetadata: {name: x}\nspec: {task: {id: x}}\n")
    done = CliRunner().invoke(app, ["split", str(tmp_path)])
    assert done.exit_code == 2
    assert "x: names no repository" in done.output


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 9), min_size=1, max_size=20),
    st.floats(0, 1),
    st.integers(0, 5),
)
def test_the_eval_side_is_never_larger_than_asked_for(tasks: dict[str, int], fraction: float, seed: int) -> None:
    sides = proposed_sides(tasks, eval_repos=(), fraction=fraction, seed=seed)
    held = sum(tasks[repo] for repo, side in sides.items() if side == "eval")
    assert held <= fraction * sum(tasks.values())
    assert sides == proposed_sides(tasks, eval_repos=(), fraction=fraction, seed=seed)
