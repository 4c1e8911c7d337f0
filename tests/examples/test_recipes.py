"""Recipes: every file reads, says what it must, and covers each way of failing."""

from pathlib import Path

import pytest
from assay_examples.recipes import Plant, RecipeError, load_recipes, recipe_from

EXAMPLES = Path(__file__).parents[2] / "examples"
RELEASE = {"version": "1.0", "sha256": "0" * 64}
SMALLEST = {
    "language": "python",
    "package": "thing",
    "before": RELEASE,
    "after": RELEASE,
    "expected": {"verdict": "Valid"},
}
RECIPE_FILE = Path("recipes/thing-1-0.toml")


def test_every_recipe_of_the_repository_reads():
    recipes = load_recipes(EXAMPLES)
    assert len({recipe.name for recipe in recipes}) == len(recipes)
    assert sum(recipe.upstream is not None for recipe in recipes) == 14
    assert {recipe.language for recipe in recipes} == {"python", "go"}


def test_own_examples_show_each_way_of_failing():
    shown = {recipe.expected.reason for recipe in load_recipes(EXAMPLES) if recipe.upstream is None}
    assert shown == {
        None,
        "TargetTestsPassUnpatched",
        "TargetTestsFailPatched",
        "TargetTestsFlaky",
        "PassToPassRegression",
        "PatchDoesNotApply",
        "TestPatchDoesNotApply",
        "TestsDidNotRun",
        "TestTimeout",
        "OutOfMemory",
        "NeedsNetwork",
        "ImageUnavailable",
        "FutureHistory",
    }


def test_every_place_of_a_planted_solution_has_its_example_with_a_check_that_looks_there():
    planted = {recipe.planted: recipe.checks for recipe in load_recipes(EXAMPLES) if recipe.planted}
    assert set(planted) == set(Plant)
    assert all(planted.values())


def test_a_recipe_like_another_has_its_task_and_its_own_name():
    model, variant = load_recipes(EXAMPLES, only=["valid", "planted-tag"])[::-1]
    assert (variant.name, variant.built_as, variant.planted) == ("planted-tag", "valid", Plant.TAG)
    same = ("folder", "statement", "fail_to_pass", "pass_to_pass", "commands")
    assert [getattr(variant, field) for field in same] == [getattr(model, field) for field in same]


def test_names_are_valid_object_names():
    for recipe in load_recipes(EXAMPLES):
        assert recipe.name.replace("-", "").isalnum()
        assert recipe.name == recipe.name.lower()


def test_only_selects_and_refuses_an_unknown_name():
    assert [recipe.name for recipe in load_recipes(EXAMPLES, only=["valid"])] == ["valid"]
    with pytest.raises(RecipeError, match="no example is called nothing-such"):
        load_recipes(EXAMPLES, only=["nothing-such"])


def test_command_follows_from_language_and_source():
    plain = recipe_from(SMALLEST, path=RECIPE_FILE)
    assert plain.commands[0].startswith("python -m pytest -rA ")
    nested = recipe_from({**SMALLEST, "source": "src"}, path=RECIPE_FILE)
    assert nested.commands[0].startswith("PYTHONPATH=src python -m pytest ")
    go = recipe_from({**SMALLEST, "language": "go"}, path=RECIPE_FILE)
    assert go.commands == ("GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-mod=readonly go test -v -count=1 ./...",)
    assert go.parser == "parse_log_gotest"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "unknown field colour"),
        ({"language": "cobol"}, "cobol"),
        ({"before": {"version": "1"}}, "sha256"),
        ({"expected": {}}, "verdict"),
        ({"runs": {"patchy": 1}}, "patchy"),
        ({"planted": "nowhere"}, "nowhere"),
    ],
)
def test_wrong_recipe_is_refused_with_file_and_field(change, said):
    with pytest.raises(RecipeError, match=f"thing-1-0.toml.*{said}"):
        recipe_from({**SMALLEST, **change}, path=RECIPE_FILE)
