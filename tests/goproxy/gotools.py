"""Go programs for the tests, built from the go command's own libraries, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OFFLINE = {"GOPROXY": "off", "GOSUMDB": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOENV": "off"}


def go_env(name: str) -> str:
    return subprocess.run(["go", "env", name], check=True, capture_output=True, text=True).stdout.strip()


def go_line() -> str:
    """The language version of the Go distribution, as a go.mod's go directive has it."""
    return ".".join(go_env("GOVERSION").removeprefix("go").split(".")[:2])


def build(source: Path, directory: Path) -> Path:
    """Build a one-file program against the x/mod that the Go distribution vendors; return the binary."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copytree(Path(go_env("GOROOT")) / "src/cmd/vendor/golang.org/x/mod", directory / "mod")
    (directory / "mod/go.mod").write_text(f"module golang.org/x/mod\n\ngo {go_line()}\n")
    (directory / "go.mod").write_text(
        f"module reference\n\ngo {go_line()}\n\nrequire golang.org/x/mod v0.0.0\n\nreplace golang.org/x/mod => ./mod\n"
    )
    shutil.copy(source, directory / "main.go")
    binary = directory / "program"
    subprocess.run(["go", "build", "-o", binary, "."], cwd=directory, check=True, env={**os.environ, **OFFLINE})
    return binary


TOOLCHAINS = ("1.21.13", "1.27.4")
"""The oldest that matters, and the newest that the registry gave when this was written."""


def write_toolchain(root: Path, version: str) -> tuple[str, str]:
    """Fetch a Go toolchain by the go command and write its module files below ``root``; return module and version."""
    module, name = "golang.org/toolchain", f"v0.0.1-go{version}.{go_env('GOOS')}-{go_env('GOARCH')}"
    command = ("go", "mod", "download", "-json", f"{module}@{name}")
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    files, folder = json.loads(done.stdout), root / module / "@v"
    folder.mkdir(parents=True, exist_ok=True)
    for key, suffix in {"Info": "info", "GoMod": "mod", "Zip": "zip"}.items():
        shutil.copyfile(files[key], folder / f"{name}.{suffix}")
    with (folder / "list").open("a") as versions:
        versions.write(f"{name}\n")
    return module, name


def ask_reference(binary: Path, questions: Iterable[Sequence[str]]) -> list[dict[str, Any]]:
    """Ask (op, text) questions of the reference program."""
    lines = "".join(json.dumps({"op": op, "text": text}) + "\n" for op, text in questions)
    result = subprocess.run([binary], input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in result.stdout.splitlines()]
