from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow
import pytest
import typer
from pyarrow import parquet
from typer.testing import CliRunner

from assay.api.v1alpha1 import AgentEpisodeSpec
from assay.cli import deny_list
from assay.domain.gomodules import owner_of
from assay.domain.goproxy.records import RunRecord, record_of_episode

APP = typer.Typer()
deny_list.register(APP)
IDENTITY = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def _git(clone: Path, *arguments: str) -> str:
    result = subprocess.run(["git", "-C", clone, *arguments], check=True, capture_output=True, text=True, env=IDENTITY)
    return result.stdout.strip()


def _commit(clone: Path, **files: str) -> str:
    for name, text in files.items():
        path = clone / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _git(clone, "add", "-A")
    _git(clone, "commit", "-q", "-m", "x")
    return _git(clone, "rev-parse", "HEAD")


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two tasks with clones: one whose module path changed after the base, one from before go.mod."""
    widget, zap = tmp_path / "clones/Acme/Widget", tmp_path / "clones/uber-go__zap"
    for clone in (widget, zap):
        clone.mkdir(parents=True)
        _git(clone, "init", "-q", "-b", "main")
    base = _commit(widget, go_mod="module go.acme.dev/widget\n", tools__go_mod="module github.com/Acme/Widget/tools\n")
    _commit(widget, go_mod="module go.acme.dev/widget/v2\n")
    old = _commit(zap, zap_go='package zap // import "go.uber.org/zap"\n')
    rows = [
        {"instance_id": "acme__widget-1", "repo": "Acme/Widget", "base_commit": base, "language": "go"},
        {"instance_id": "uber-go__zap-1", "repo": "uber-go/zap", "base_commit": old},
        {"instance_id": "psf__requests-1", "repo": "psf/requests", "base_commit": "0" * 40, "language": "python"},
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "tasks.json").write_text(json.dumps(rows))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "tasks.parquet")
    return tmp_path


def _run(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(APP, ["deny-list", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
def test_build_reads_every_go_mod_at_the_base_and_on_the_default_branch(tasks: Path, suffix: str) -> None:
    _run("build", "--tasks", tasks / f"tasks.{suffix}", "--clones", tasks / "clones", "--out", tasks / "deny.json")
    made = json.loads((tasks / "deny.json").read_text())["tasks"]
    assert set(made["acme__widget-1"]["owned"]) == {
        "github.com/Acme/Widget",
        "github.com/Acme/Widget/tools",
        "go.acme.dev/widget",
        "go.acme.dev/widget/v2",
    }
    assert set(made["uber-go__zap-1"]["owned"]) == {"github.com/uber-go/zap", "go.uber.org/zap"}
    assert set(made) == {"acme__widget-1", "uber-go__zap-1"}


def test_explain_and_diff_speak_of_the_list_that_build_wrote(tasks: Path) -> None:
    common = ("build", "--tasks", tasks / "tasks.jsonl", "--clones", tasks / "clones")
    _run(*common, "--out", tasks / "old.json")
    lookups = {
        "acme/widget": {"present": "acme-labs/widget-go", "nestedElsewhere": {"go.acme.dev/widget/proto": "elsewhere"}}
    }
    (tasks / "lookups.json").write_text(json.dumps(lookups))
    _run(*common, "--lookups", tasks / "lookups.json", "--out", tasks / "new.json")
    said = _run("explain", "gopkg.in/Acme/Widget.v1@v1.0.0", "--task", "acme__widget-1", "--deny", tasks / "new.json")
    assert said == "denied by owned: github.com/acme/widget falls under github.com/acme/widget (the repository)\n"
    assert _run("diff", tasks / "old.json", tasks / "new.json").splitlines() == [
        "LOOSER  acme__widget-1: + exception go.acme.dev/widget/proto",
        "tighter acme__widget-1: + fork name widget-go",
        "tighter acme__widget-1: + owned github.com/acme-labs/widget-go",
        "3 changes, 1 of them looser",
    ]
    _run("explain", "x.dev/x", "--task", "nobody", "--deny", tasks / "new.json", code=1)


def test_policy_prints_the_fields_of_an_episode_that_the_api_and_the_gateway_take(tasks: Path) -> None:
    deny = tasks / "deny.json"
    _run("build", "--tasks", tasks / "tasks.jsonl", "--clones", tasks / "clones", "--out", deny)
    fields = json.loads(_run("policy", "acme__widget-1", "--deny", deny))
    spec = AgentEpisodeSpec.model_validate({"validation": "v", **fields})
    assert spec.go_policy is not None
    assert spec.go_policy.owned == (
        "github.com/Acme/Widget",
        "github.com/Acme/Widget/tools",
        "go.acme.dev/widget",
        "go.acme.dev/widget/v2",
    )
    sandbox = {"podUID": "u", "podIPs": ["10.0.0.1"], "tokenSHA256": "0" * 64, "goPolicy": fields["goPolicy"]}
    raw = {
        "metadata": {"namespace": "n", "name": "e"},
        "spec": fields,
        "status": {"phase": "Ready", "sandbox": sandbox},
    }
    record = record_of_episode(raw)
    assert isinstance(record, RunRecord)
    assert owner_of(record.policy, "gopkg.in/acme/widget.v1") is not None
    _run("policy", "nobody", "--deny", deny, code=1)


def test_build_takes_files_that_pods_read_out_of_images(tasks: Path) -> None:
    read = [
        {"task": "acme__widget-1", "at": "image", "path": "go.mod", "text": "module go.acme.dev/widget\n"},
        {"task": "uber-go__zap-1", "at": "image", "path": "go.mod", "text": "module go.uber.org/zap\n"},
    ]
    (tasks / "files.jsonl").write_text("\n".join(map(json.dumps, read)))
    _run("build", "--tasks", tasks / "tasks.jsonl", "--files", tasks / "files.jsonl", "--out", tasks / "deny.json")
    assert "go.uber.org/zap" in json.loads((tasks / "deny.json").read_text())["tasks"]["uber-go__zap-1"]["owned"]


def test_a_task_of_which_nothing_was_read_is_an_error_and_nothing_is_written(tasks: Path) -> None:
    said = _run("build", "--tasks", tasks / "tasks.jsonl", "--out", tasks / "deny.json", code=1)
    assert "acme__widget-1: no go.mod" in said
    assert not (tasks / "deny.json").exists()


def test_a_base_commit_that_the_clone_lacks_is_an_error(tasks: Path) -> None:
    row = {"instance_id": "a", "repo": "Acme/Widget", "base_commit": "f" * 40}
    (tasks / "tasks.jsonl").write_text(json.dumps(row))
    common = ("build", "--tasks", tasks / "tasks.jsonl", "--clones", tasks / "clones", "--out", tasks / "deny.json")
    assert "a: git ls-tree" in _run(*common, code=1)


@pytest.mark.parametrize(
    "lookups", ['{"a/b": {"successors": {"x.dev/x": ""}}}', '{"a/b": {"nestedElsewhere": ["x.dev/x"]}}']
)
def test_a_look_up_without_a_reason_is_refused(tasks: Path, lookups: str) -> None:
    (tasks / "lookups.json").write_text(lookups)
    common = (
        "build",
        "--tasks",
        tasks / "tasks.jsonl",
        "--lookups",
        tasks / "lookups.json",
        "--out",
        tasks / "deny.json",
    )
    assert "needs its reason" in _run(*common, code=1)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("[]", "the file: Input should be"),
        ('{"format": 2, "tasks": {}}', "format: Input should be 1"),
        ('{"format": 1, "tasks": {"a": {"repo": "a/b", "owned": {}}}}', "tasks.a.forkNames: Field required"),
        (
            '{"format": 1, "tasks": {"a": {"repo": "a/b", "owned": {}, "forkNames": [], "nestedElsewhere": {}}}}',
            "the entry of a denies nothing",
        ),
    ],
)
def test_a_deny_list_that_is_none_is_refused_by_its_field(tmp_path: Path, document: str, said: str) -> None:
    deny = tmp_path / "deny.json"
    deny.write_text(document)
    assert said in _run("explain", "x.dev/x", "--task", "a", "--deny", deny, code=1)
