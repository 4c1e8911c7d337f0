"""What an example is: one frozen value, read from one TOML file.

Two kinds exist. An upstream recipe names two releases of a published package by hash, and its patches are what changed
between them. An own recipe lies beside patch files that are committed here and that apply to `own/tree`.
Everything that decides an example's image, manifest or expectation is in its `Recipe`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

PYTEST_ARGUMENTS = "-rA --color=no --continue-on-collection-errors -p no:cacheprovider"
GO_ENVIRONMENT = "GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-mod=readonly"
PARSERS = {"python": "parse_log_pytest_v2", "go": "parse_log_gotest"}


class RecipeError(ValueError):
    """A recipe file does not say what a recipe must say; the message names the file and the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One published artefact: its version and the SHA-256 (hex) of the file that the registry serves."""

    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Two releases of one package; the older one is the task's base."""

    package: str
    before: Release
    after: Release


class Plant(StrEnum):
    """Where an image holds the solution, for the examples that a check must drop."""

    MODULE_CACHE = "module-cache"
    RELEASE = "release"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How many runs of each state an example asks for."""

    pristine: int = 0
    unpatched: int = 3
    patched: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Clocks in seconds and the memory of the task's container as a Kubernetes quantity in Mi or Gi."""

    setup: int = 120
    test: int = 300
    memory: str = "2Gi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the example is there to show; counts are None where the recipe does not say."""

    verdict: str
    reason: str | None = None
    fail_to_pass: int | None = None
    pass_to_pass: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One example. `upstream` is None for our own ones, whose patch files lie in `folder`.

    `built_as` names the example whose base tree and patches it shares, itself for most; `checks` are extra admission
    checks, `planted` what its image holds beside the base.
    """

    name: str
    built_as: str
    language: str
    statement: str
    upstream: Upstream | None
    folder: Path
    packages: tuple[str, ...]
    commands: tuple[str, ...]
    parser: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    image_missing: bool
    runs: Runs
    limits: Limits
    expected: Expectation
    checks: tuple[str, ...] = ()
    planted: Plant | None = None


def load_recipes(root: Path, *, only: Sequence[str] = ()) -> tuple[Recipe, ...]:
    """All recipes under `root` (the examples folder), ours first, ordered by name; `only` selects by name."""
    files = [*sorted(root.glob("own/*/task.toml")), *sorted(root.glob("recipes/*.toml"))]
    recipes = tuple(recipe_from(_data_of(path), path=path) for path in files)
    unknown = set(only) - {recipe.name for recipe in recipes}
    if unknown:
        raise RecipeError(f"no example is called {', '.join(sorted(unknown))}")
    return tuple(recipe for recipe in recipes if not only or recipe.name in only)


def _data_of(path: Path) -> Mapping[str, Any]:
    """What a recipe file says, on top of what the recipe says that it is `like`."""
    data = tomllib.loads(path.read_text("utf-8"))
    if "like" not in data:
        return data
    own = path.name == "task.toml"
    like = path.parents[1] / data["like"] / path.name if own else path.with_stem(data["like"])
    return {**tomllib.loads(like.read_text("utf-8")), **data}


def recipe_from(data: Mapping[str, Any], *, path: Path) -> Recipe:
    """The recipe that a parsed TOML file at `path` holds; RecipeError when a field is absent or unknown."""
    own = path.name == "task.toml"
    name = path.parent.name if own else path.stem
    known = {"language", "package", "before", "after", "source", "packages", "statement", "commands", "parser"}
    known |= {
        "fail_to_pass",
        "pass_to_pass",
        "image_missing",
        "runs",
        "limits",
        "expected",
        "like",
        "checks",
        "planted",
    }
    if unknown := sorted(set(data) - known):
        raise RecipeError(f"{path}: unknown field {unknown[0]}")
    try:
        language = str(data["language"])
        upstream = None if own else _upstream(data)
        return Recipe(
            name=name,
            built_as=str(data.get("like", name)),
            language=language,
            statement=str(data["statement"]) if own or "statement" in data else _statement(upstream),
            upstream=upstream,
            folder=path.parents[1] / data["like"] if own and "like" in data else path.parent,
            packages=tuple(data.get("packages", ())),
            commands=tuple(data.get("commands", (_command(language, source=str(data.get("source", "."))),))),
            parser=str(data.get("parser", PARSERS[language])),
            fail_to_pass=tuple(data.get("fail_to_pass", ())),
            pass_to_pass=tuple(data.get("pass_to_pass", ())),
            image_missing=bool(data.get("image_missing", False)),
            runs=Runs(**data.get("runs", {})),
            limits=Limits(**data.get("limits", {})),
            expected=Expectation(**data["expected"]),
            checks=tuple(data.get("checks", ())),
            planted=Plant(data["planted"]) if "planted" in data else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RecipeError(f"{path}: {error}") from error


def _upstream(data: Mapping[str, Any]) -> Upstream:
    return Upstream(package=data["package"], before=Release(**data["before"]), after=Release(**data["after"]))


def _statement(upstream: Upstream | None) -> str:
    assert upstream is not None
    return f"Change {upstream.package} so that it behaves as its release {upstream.after.version} does."


def _command(language: str, *, source: str) -> str:
    if language == "go":
        return f"{GO_ENVIRONMENT} go test -v -count=1 ./..."
    where = "" if source == "." else f"PYTHONPATH={source} "
    return f"{where}python -m pytest {PYTEST_ARGUMENTS}"
