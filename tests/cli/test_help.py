"""Every command's help has an example, and the example is a call that the command takes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.main import MODULES, app, app_for
from assay.cli.pages import cli_markdown, commands_of, example_of
from conftest import ROOT

COMMANDS = dict(commands_of(app))


def words_of(name: str) -> list[str]:
    """The example's words after the command's name."""
    words = shlex.split(example_of(COMMANDS[name]))
    assert words[: len(name.split())] == name.split(), f"{name} has no example of itself"
    return words[len(name.split()) :]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own: examples name files by relative paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_is_a_call_that_the_command_takes(name: str, folder: Path) -> None:
    words = words_of(name)
    for word in words:
        if not word.startswith(("-", "/")) and "://" not in word:
            (folder / word).parent.mkdir(parents=True, exist_ok=True)
            (folder / word).touch()
    command: Any = COMMANDS[name]
    with command.make_context(name, list(words)) as context:
        assert context.command is command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_shows_the_example_and_every_option_that_it_uses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    said = CliRunner().invoke(app, [*name.split()[1:], "--help"])
    assert said.exit_code == 0
    words = said.output.split()
    assert "Example:" in words
    for word in words_of(name):
        if word.startswith("-"):
            assert any(word in shown.strip("│,").split("/") for shown in words), f"{word} is not in the help"


def test_an_unknown_option_exits_with_2() -> None:
    assert CliRunner().invoke(app, ["report", "--no-such-option"]).exit_code == 2


def test_a_cluster_out_of_reach_exits_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setattr("assay.kube.client.TRIES", 1)
    for command in (["verify", "a"], ["export", "--out", str(tmp_path / "a.jsonl")]):
        said = CliRunner().invoke(app, command)
        assert said.exit_code == 1, said.output


def test_the_page_of_commands_is_what_the_help_says() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == cli_markdown(app), "run make generate"


def test_kubectls_plugin_calls_itself_by_kubectls_name(tmp_path: Path) -> None:
    plugin = tmp_path / "kubectl-assay"
    plugin.write_text(f"#!{sys.executable}\nfrom assay.cli.main import main\nmain()\n")
    plugin.chmod(0o755)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(
        (str(plugin), "verify", "--help"), env=environment, text=True, capture_output=True, check=True
    )
    assert "Usage: kubectl assay verify" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_the_commands(shell: str) -> None:
    marks = {"_ASSAY_COMPLETE": f"complete_{shell}", "COMP_WORDS": "assay ex", "COMP_CWORD": "1"}
    fish = {
        "_TYPER_COMPLETE_ARGS": "assay ex",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "ex",
    }
    program = "import sys; sys.argv[0] = 'assay'; from assay.cli.main import main; main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "operator")} | marks | fish
    done = subprocess.run((sys.executable, "-c", program), env=environment, text=True, capture_output=True, check=False)
    assert "export" in done.stdout
    assert "explain" in done.stdout


def test_every_command_is_found_by_its_first_word() -> None:
    assert {name.split()[1] for name in COMMANDS} == set(MODULES)


@pytest.mark.parametrize("word", MODULES)
def test_a_command_alone_is_the_command_among_all(word: str) -> None:
    alone, whole = (dict(commands_of(found)) for found in (app_for([word]), app))
    shared = [name for name in whole if name.split()[1] == word]
    assert shared
    assert all(alone[name].help == whole[name].help for name in shared)


def test_no_other_commands_libraries_are_imported() -> None:
    program = (
        "import sys; sys.argv = ['assay', 'import', '--help']\n"
        "from assay.cli.main import app_for\napp_for(sys.argv[1:])\n"
        "print([name for name in ('kubernetes', 'kopf', 'aiohttp') if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run((sys.executable, "-c", program), env=environment, text=True, capture_output=True, check=True)
    assert done.stdout.strip() == "[]"
