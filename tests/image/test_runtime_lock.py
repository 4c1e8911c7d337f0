"""The runtime's part of the lock file."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from conftest import ROOT

PROJECT = """
[project]
dependencies = ["Web_Frame>=3", "yaml"]
[project.optional-dependencies]
dev = ["checker"]
"""
LOCK = """\
#
# generated
#
checker==1.0 \\
    --hash=sha256:aa
    # via assay (pyproject.toml)
plug-in==2.0 \\
    --hash=sha256:bb
    # via
    #   checker
    #   web-frame
only-checkers==3.0 \\
    --hash=sha256:cc
    # via checker
deep==4.0 \\
    --hash=sha256:dd \\
    --hash=sha256:de
    # via plug.in
web-frame[speed]==5.0 \\
    --hash=sha256:ee
    # via assay (pyproject.toml)
yaml==6.0 \\
    --hash=sha256:ff
    # via assay (pyproject.toml)
"""


@pytest.fixture(scope="module")
def locks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("runtime_lock", ROOT / "dev" / "image" / "runtime_lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_holds_what_the_dependencies_reach_with_all_hashes(locks: ModuleType) -> None:
    found = locks.runtime_lock(LOCK, PROJECT)
    names = [line.split("==")[0] for line in found.splitlines() if "==" in line]
    assert names == ["deep", "plug-in", "web-frame[speed]", "yaml"]
    assert "--hash=sha256:dd" in found
    assert "--hash=sha256:de" in found
    assert "aa" not in found


def test_a_dependency_that_is_not_locked_is_named(locks: ModuleType) -> None:
    with pytest.raises(KeyError, match="forgotten"):
        locks.runtime_lock(LOCK, '[project]\ndependencies = ["forgotten"]')


def test_the_projects_own_lock_leaves_development_out(locks: ModuleType) -> None:
    found = locks.runtime_lock((ROOT / "requirements.txt").read_text(), (ROOT / "pyproject.toml").read_text())
    names = {line.split("==")[0] for line in found.splitlines() if "==" in line}
    assert {"aiohttp", "kopf", "kubernetes", "pyarrow", "pydantic-core", "yarl"} <= names
    assert not {"pytest", "mypy", "ruff", "hypothesis", "iniconfig", "grimp"} & names
