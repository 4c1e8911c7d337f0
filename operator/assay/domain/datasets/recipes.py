"""What a user says about a repository where its rows say nothing: commands, parser, image, work directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.domain.datasets.family import Draft
from assay.domain.datasets.scripts import quoted

ANY = "*"
TEST_FILES = "{test_files}"
KEYS = frozenset({"commands", "parser", "image", "workdir"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One entry of a user's table; ``{test_files}`` in a command stands for the row's test files."""

    commands: tuple[str, ...] = ()
    parser: str = ""
    image: str = ""
    workdir: str = ""


def recipes_of(table: object) -> Mapping[str, Recipe]:
    """Return a table ``repository or *`` -> recipe from parsed YAML.  ``ValueError`` names what is wrong."""
    if not isinstance(table, Mapping):
        raise ValueError("a recipe table maps repositories (or *) to recipes")  # noqa: TRY004 - wrong content of a file
    return {str(repo).lower(): _recipe(str(repo), said) for repo, said in table.items()}


def _recipe(repo: str, said: object) -> Recipe:
    if not isinstance(said, Mapping) or set(said) - KEYS:
        raise ValueError(f"{repo}: a recipe has the keys {', '.join(sorted(KEYS))}")
    commands = said.get("commands", ())
    commands = (commands,) if isinstance(commands, str) else tuple(commands)
    rest = {key: said.get(key, "") for key in ("parser", "image", "workdir")}
    if not all(isinstance(value, str) for value in (*commands, *rest.values())):
        raise ValueError(f"{repo}: every value of a recipe is text, commands are a list of texts")
    return Recipe(commands=commands, **rest)


def completed(draft: Draft, recipes: Mapping[str, Recipe]) -> Draft:
    """Return a draft with what its repository's recipe adds; what the row says itself stays."""
    recipe = recipes.get(draft.repo.lower()) or recipes.get(ANY)
    if recipe is None:
        return draft
    files = quoted(draft.test_files)
    return replace(
        draft,
        commands=draft.commands or tuple(command.replace(TEST_FILES, files) for command in recipe.commands),
        parser=draft.parser or recipe.parser,
        image=draft.image or recipe.image,
        workdir=draft.workdir or recipe.workdir,
    )
