"""The real go command through the gateway, over a directory of module files and a checksum database made here."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from goproxy.gotools import HERE, build, go_env
from goproxy.stage import SUMDB, T1, Stage, make_files, make_info, make_stage

TOOLCHAIN = f"v0.0.1-go1.99.0.{go_env('GOOS')}-{go_env('GOARCH')}"
FIX = "v1.4.1-0.20240102030405-abcdefabcdef"


def _go_mod(module: str, *requirements: str) -> bytes:
    return f"module {module}\n\ngo 1.18\n{''.join(f'require {line}' + chr(10) for line in requirements)}".encode()


def _package(module: str, name: str = "a.go", *requirements: str, package: str = "lib") -> dict[str, bytes]:
    return {"go.mod": _go_mod(module, *requirements), name: f"package {package}\n".encode()}


def _version(
    module: str, version: str, files: Mapping[str, bytes] | None = None, **fields: Any
) -> dict[tuple[str, str], dict[str, bytes]]:
    files = _package(module) if files is None else files
    gomod = files["go.mod"].decode()
    return {(module, version): make_files(module, version, gomod=gomod, files=files, **fields)}


WORLD = {
    **_version("example.com/lib", "v1.0.0"),
    **_version("example.com/lib", "v1.1.0", _package("example.com/lib", "a.go", "github.com/BurntSushi/toml v1.3.2")),
    **_version("github.com/BurntSushi/toml", "v1.3.2"),
    **_version("example.com/deep", "v0.1.0", _package("example.com/deep", "nested/pkg/a.go", package="pkg")),
    **_version("go.acme.dev/widget", "v1.4.0"),
    **_version("go.acme.dev/widget/v2", "v2.0.0"),
    **_version("go.acme.dev/widget/proto", "v0.3.0"),
    **_version("github.com/Acme/Widget", "v1.4.0"),
    **_version("github.com/acme/widget", "v1.4.0"),
    **_version("github.com/acme/widget", FIX),
    **_version("github.com/acme/widget/v2", "v2.0.0"),
    **_version("gopkg.in/acme/widget.v1", "v1.4.0"),
    **_version("www.github.com/acme/widget.git", "v1.4.0"),
    **_version("github.com/someone/widget", "v1.4.0"),
    **_version("github.com/other/gizmo", "v1.0.0", _package("go.acme.dev/widget")),
    **_version("vanity.example.org/w", "v1.0.0", origin="https://github.com/Acme/Widget"),
    **_version(
        "example.com/carrier", "v1.0.0", names=["example.com/carrier@v1.0.0/third_party/github.com/acme/widget/a.go"]
    ),
    **_version(
        "golang.org/toolchain",
        TOOLCHAIN,
        {"go.mod": b"module golang.org/toolchain\n", "bin/go": b"#!/bin/sh\necho a toolchain through the gateway\n", "bin/gofmt": b"", "pkg/tool/x": b"", "lib/x": b""},
    ),
}  # fmt: skip


def _write(root: Path) -> None:
    for files in WORLD.values():
        for path, body in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(file.read_bytes() + body if path.endswith("/list") and file.exists() else body)
    branch = root / "github.com/!acme/!widget/@v/master.info"
    branch.write_bytes(make_info(FIX))


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A directory of module files with its checksum database, and the database's key."""
    root = tmp_path_factory.mktemp("modules")
    _write(root)
    program = build(HERE / "sumdb/main.go", tmp_path_factory.mktemp("sumdb") / "build")
    lines = "".join(f"{module} {version}\n" for module, version in WORLD)
    key = subprocess.run([program, SUMDB, root], input=lines, check=True, capture_output=True, text=True).stdout.strip()
    return root, key


@dataclass
class Sandbox:
    """A work tree and the go command in it, with the environment that a sandbox has."""

    stage: Stage
    directory: Path
    env: dict[str, str]
    modules: Path

    async def go(self, *arguments: str, **env: str) -> tuple[int, str]:
        """Run the go command; return its exit code and both streams."""
        process = await asyncio.create_subprocess_exec(
            "go", *arguments, cwd=self.directory, env={**self.env, **env},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode is not None
        return process.returncode, output.decode()

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)


@pytest.fixture
async def sandbox(tmp_path: Path, modules: tuple[Path, str]) -> AsyncIterator[Sandbox]:
    root, key = modules
    tree = tmp_path / "work"
    tree.mkdir()
    async with make_stage(tmp_path / "cache", upstream_suffix="cached-only", upstream_directory=root) as stage:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GO") or name == "GOCACHE"}
        env = {
            **kept,
            "GOPROXY": f"http://127.0.0.1:{stage.port}/t/{T1}",
            "GOSUMDB": key,
            "GONOPROXY": "none",
            "GOENV": "off",
            "GOTOOLCHAIN": "local",
            "GOPATH": str(tmp_path / "gopath"),
            "GOFLAGS": "-modcacherw",
        }
        made = Sandbox(stage, tree, env, root)
        made.write("go.mod", "module example.org/work\n\ngo 1.18\n")
        yield made


async def test_go_get_fetches_an_allowed_module_and_its_capitals_with_sums_checked(
    sandbox: Sandbox, decisions: list[dict[str, Any]]
) -> None:
    code, output = await sandbox.go("get", "example.com/lib@latest", "github.com/BurntSushi/toml@v1.3.2")
    assert code == 0, output
    assert "example.com/lib v1.1.0" in (sandbox.directory / "go.mod").read_text()
    sums = (sandbox.directory / "go.sum").read_text()
    assert "github.com/BurntSushi/toml v1.3.2/go.mod h1:" in sums
    served = {(line["kind"], line["module"]) for line in decisions if line["status"] == 200}
    assert {("sumdb-supported", ""), ("sumdb-lookup", "example.com/lib"), ("sumdb-tile", "")} <= served
    assert ("mod", "github.com/BurntSushi/toml") in served


async def test_a_zip_that_disagrees_with_the_checksum_database_is_refused_by_go(sandbox: Sandbox) -> None:
    path = sandbox.modules / "example.com/lib/@v/v1.0.0.zip"
    good = path.read_bytes()
    path.write_bytes(make_files("example.com/lib", "v1.0.0", files=_package("example.com/lib", "evil.go"))[
        "example.com/lib/@v/v1.0.0.zip"
    ])  # fmt: skip
    try:
        code, output = await sandbox.go("mod", "download", "example.com/lib@v1.0.0")
    finally:
        path.write_bytes(good)
    assert code != 0
    assert "checksum mismatch" in output


async def test_go_mod_tidy_finds_a_package_by_probing_its_prefixes(sandbox: Sandbox) -> None:
    sandbox.write("a.go", 'package work\n\nimport (\n\t_ "example.com/deep/nested/pkg"\n\t_ "example.com/lib"\n)\n')
    code, output = await sandbox.go("mod", "tidy")
    assert code == 0, output
    assert "example.com/deep v0.1.0" in (sandbox.directory / "go.mod").read_text()
    code, output = await sandbox.go("build", "./...")
    assert code == 0, output
    asked = sandbox.stage.gateway.ledger.account("runs/T1").requests
    assert (await sandbox.go("mod", "verify"))[0] == 0
    assert (await sandbox.go("build", "./..."))[0] == 0
    assert sandbox.stage.gateway.ledger.account("runs/T1").requests == asked  # a warm cache asks nothing


async def test_go_test_runs_with_a_module_through_the_gateway(sandbox: Sandbox) -> None:
    sandbox.write(
        "a_test.go", 'package work\n\nimport (\n\t_ "example.com/lib"\n\t"testing"\n)\n\nfunc TestA(*testing.T) {}\n'
    )
    code, output = await sandbox.go("get", "-t", "./...")
    assert code == 0, output
    code, output = await sandbox.go("test", "./...")
    assert (code, "ok" in output) == (0, True), output


async def test_go_list_shows_the_versions(sandbox: Sandbox) -> None:
    assert await sandbox.go("list", "-m", "-versions", "example.com/lib") == (0, "example.com/lib v1.0.0 v1.1.0\n")


async def test_an_exception_beneath_the_own_path_is_served(sandbox: Sandbox) -> None:
    code, output = await sandbox.go("get", "go.acme.dev/widget/proto@v0.3.0")
    assert code == 0, output


async def test_a_toolchain_is_fetched_and_run(sandbox: Sandbox) -> None:
    code, output = await sandbox.go("version", GOTOOLCHAIN="go1.99.0")
    assert (code, "a toolchain through the gateway" in output) == (0, True), output


WAYS = {
    "declared path": (["get", "go.acme.dev/widget@v1.4.0"], "owned"),
    "next major": (["get", "go.acme.dev/widget/v2@latest"], "owned"),
    "repository": (["get", "github.com/acme/widget@latest"], "owned"),
    "capitals": (["get", "github.com/Acme/Widget@v1.4.0"], "owned"),
    "branch": (["get", "github.com/Acme/Widget@master"], "owned"),
    "pseudo-version": (["get", f"github.com/acme/widget@{FIX}"], "owned"),
    "major of the repository": (["get", "github.com/acme/widget/v2@v2.0.0"], "owned"),
    "gopkg.in": (["get", "gopkg.in/acme/widget.v1@v1.4.0"], "owned"),
    "VCS suffix": (["mod", "download", "www.github.com/acme/widget.git@v1.4.0"], "owned"),
    "fork of the name": (["get", "github.com/someone/widget@v1.4.0"], "fork-name"),
    "renamed fork": (["mod", "download", "github.com/other/gizmo@v1.0.0"], "declared"),
    "vanity path": (["mod", "download", "vanity.example.org/w@v1.0.0"], "origin"),
    "embedder": (["mod", "download", "example.com/carrier@v1.0.0"], "carries"),
    "versions": (["list", "-m", "-versions", "go.acme.dev/widget"], "owned"),
    "update": (["list", "-m", "-u", "go.acme.dev/widget@latest"], "owned"),
    "run": (["run", "github.com/acme/widget@v1.4.0"], "owned"),
    "install": (["install", "go.acme.dev/widget@v1.4.0"], "owned"),
}


@pytest.mark.parametrize(("arguments", "rule"), WAYS.values(), ids=WAYS.keys())
async def test_each_way_to_the_tasks_own_module_fails_with_one_readable_sentence(
    sandbox: Sandbox, decisions: list[dict[str, Any]], arguments: list[str], rule: str
) -> None:
    code, output = await sandbox.go(*arguments)
    assert code != 0
    assert "403 Forbidden" in output
    assert "served here" in output
    denied = [line for line in decisions if line["decision"] == "denied"]
    assert {line["rule"] for line in denied} == {rule}
    assert sandbox.stage.gateway.ledger.account("runs/T1").denied == len(denied)
    assert list((sandbox.directory.parent / "gopath").rglob("*.zip")) == []


async def test_a_replacement_by_a_fork_is_refused(sandbox: Sandbox) -> None:
    sandbox.write(
        "go.mod",
        "module example.org/work\n\ngo 1.18\n\nrequire go.acme.dev/widget v1.4.0\n\n"
        "replace go.acme.dev/widget => github.com/other/gizmo v1.0.0\n",
    )
    sandbox.write("a.go", 'package work\n\nimport _ "go.acme.dev/widget"\n')
    code, output = await sandbox.go("mod", "tidy")
    assert code != 0
    assert "declares the path of the task's own module" in output


async def test_turning_the_checks_off_turns_nothing_on(sandbox: Sandbox) -> None:
    env = {"GONOSUMDB": "*", "GONOSUMCHECK": "1", "GOFLAGS": "-modcacherw -mod=mod", "GOPRIVATE": "x", "GOSUMDB": "off"}
    code, output = await sandbox.go("get", "github.com/acme/widget@latest", **env)
    assert (code != 0, "403 Forbidden" in output) == (True, True)
