"""Every public shape of a prediction file is read; what is odd is said, and no gap is filled."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.predictions import MalformedPredictionsError, Prediction, census_of, read_predictions

P = Prediction(id="acorn__lantern-7", patch="diff", model="m")
SHAPES = {
    "SWE-bench list": [{"instance_id": P.id, "model_patch": "diff", "model_name_or_path": "m"}],
    "dict by id": {P.id: {"model_patch": "diff", "model_name_or_path": "m"}},
    "dict by id with ids inside": {P.id: {"instance_id": P.id, "model_patch": "diff", "model_name_or_path": "m"}},
    "OpenHands": [{"instance_id": P.id, "test_result": {"git_patch": "diff"}, "model_name_or_path": "m"}],
    "Multi-SWE-bench": [
        {"org": "acorn", "repo": "lantern", "number": 7, "fix_patch": "diff", "model_name_or_path": "m"}
    ],
    "Pro": [{"instance_id": P.id, "patch": "diff", "prefix": "m"}],
    "one row": {"instance_id": P.id, "model_patch": "diff", "model_name_or_path": "m"},
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES)
def test_each_public_shape_is_read(content: object):
    assert read_predictions(json.dumps(content)) == (P,)
    rows = content if isinstance(content, list) else [content]
    if all("instance_id" in row or "org" in row for row in rows):
        assert read_predictions("".join(json.dumps(row) + "\n" for row in rows * 2)) == (P, P)


def test_rows_without_a_model_and_live_dicts_are_read():
    assert read_predictions('{"a": {"model_patch": "x"}, "b": {"model_patch": null}}') == (
        Prediction(id="a", patch="x", model="unnamed"),
        Prediction(id="b", patch=None, model="unnamed"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "row 1"),
        ('[{"model_patch": "x"}]', "row 1 has no instance_id"),
        ('{"instance_id": "a"}\n{broken\n', "line 2"),
        ('[{"instance_id": "a", "model_patch": 5}]', "is no text"),
    ],
)
def test_a_row_that_is_none_is_named(text: str, said: str):
    with pytest.raises(MalformedPredictionsError, match=said):
        read_predictions(text)


def test_the_census_says_what_is_odd_and_the_last_row_counts():
    rows = [
        Prediction(id="a", patch="1", model="m"),
        Prediction(id="a", patch="2", model="m"),
        Prediction(id="b", patch="", model="m"),
        Prediction(id="c", patch=None, model="m"),
        Prediction(id="elsewhere", patch="x", model="m"),
    ]
    census = census_of(rows, ["a", "b", "c", "d"])
    assert [one.patch for one in census.chosen] == ["2", "", None]
    assert (census.duplicates, census.unknown, census.missing) == (("a",), ("elsewhere",), ("d",))
    assert (census.empty, census.null, census.models, census.rows) == (("b",), ("c",), ("m",), 5)
    assert "1 ids are not in the dataset and are left out: elsewhere" in list(census.lines())


def test_one_model_of_a_mixed_file_is_chosen_by_name():
    rows = [Prediction(id="a", patch="1", model="m"), Prediction(id="a", patch="2", model="n")]
    assert [one.patch for one in census_of(rows, ["a"], model="n").chosen] == ["2"]
    assert len(census_of(rows, ["a"]).chosen) == 2


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str):
    with contextlib.suppress(MalformedPredictionsError):
        assert isinstance(read_predictions(text), tuple)
