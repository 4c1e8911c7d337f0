"""Every family's made rows become the tasks that they say, or are refused for the column that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.domain.datasets import FAMILIES, RowTask, family_named, family_of, recipes_of, task_from_row
from assay.domain.task import Refusal, Task, task_from_spec
from datasets_made import MADE, MadeSet, targets

pytestmark = pytest.mark.parametrize("made", MADE.values(), ids=MADE)


def results_of(made: MadeSet) -> list[RowTask | Refusal]:
    family, recipes = FAMILIES[made.family], recipes_of(made.recipes)
    return [task_from_row(row.values, family, recipes) for row in made.rows]


def test_each_row_is_a_task_or_refused_for_the_column_that_is_wrong(made: MadeSet) -> None:
    assert len(made.rows) >= 30
    for number, (row, result) in enumerate(zip(made.rows, results_of(made), strict=True)):
        said = result.field if isinstance(result, Refusal) else None
        assert said == row.refused, (made.family, number, result)


def test_every_task_is_one_that_the_operator_accepts(made: MadeSet) -> None:
    for result in results_of(made):
        if isinstance(result, RowTask):
            assert isinstance(task_from_spec(result.task), Task)


def test_the_family_is_recognised_by_its_columns_unless_it_shares_them(made: MadeSet) -> None:
    columns = {name for row in made.rows for name in row.values}
    found = family_of(columns)
    if made.family == "nemotron":
        assert not isinstance(found, Refusal)
        assert found.name == "named-columns"
    elif made.family == "swe-gym":
        assert isinstance(found, Refusal)
        assert "swe-gym" in found.why
    else:
        assert found == FAMILIES[made.family]


def test_rows_without_a_recipe_are_refused_where_the_family_says_too_little(made: MadeSet) -> None:
    family = FAMILIES[made.family]
    bare = task_from_row(made.rows[0].values, family)
    assert isinstance(bare, Refusal) == bool(made.recipes)
    if isinstance(bare, Refusal):
        assert "--recipes" in bare.why


def test_test_names_are_kept_byte_for_byte_and_once(made: MadeSet) -> None:
    for number, result in enumerate(results_of(made)[:22]):
        assert isinstance(result, RowTask)
        if made.family == "r2e-gym":
            assert result.task.tests.fail_to_pass == ()
            continue
        assert set(result.task.tests.fail_to_pass) >= {targets(_made_number(made, number))[1]}
        assert len(result.task.tests.pass_to_pass) == len(set(result.task.tests.pass_to_pass))


def _made_number(made: MadeSet, number: int) -> int:
    return number * 3 + 1 if made.family == "nemotron" else number


def test_the_tables_row_is_the_same_through_json(made: MadeSet) -> None:
    family, recipes = FAMILIES[made.family], recipes_of(made.recipes)
    for row in made.rows:
        again: dict[str, Any] = json.loads(json.dumps(row.values))
        assert task_from_row(again, family, recipes) == task_from_row(row.values, family, recipes)


def test_an_unknown_family_is_refused_with_the_nearest(made: MadeSet) -> None:
    refusal = family_named(made.family + "s")
    assert isinstance(refusal, Refusal)
    assert made.family in refusal.why


def test_a_recipe_says_where_images_have_the_repository_unless_the_row_does(made: MadeSet) -> None:
    recipes = recipes_of({**made.recipes, "*": {**made.recipes.get("*", {}), "workdir": "/elsewhere"}})
    first = made.rows[0].values
    result = task_from_row(first, FAMILIES[made.family], recipes)
    assert isinstance(result, RowTask)
    assert result.task.workdir == (first.get("workdir") or "/elsewhere")
