"""What of a test's name counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs.names import AS_PRINTED, NameRules, collisions, normalised, normalised_results

DEFAULT = NameRules()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("it pours [1.34 ms]", "it pours"),
        ("it pours [2 S]", "it pours"),
        ("it pours (123 ms)", "it pours"),
        ("it pours ( 1.2s )", "it pours"),
        ("Brew ran 12 tests in 29.08 msec all ok", "Brew ran 12 tests all ok"),
        ("a in 1 sec in 2 SEC b", "a b"),
        ("a  in  9.5  msec b", "a b"),
        ("a\tin 12sec", "a"),
        ("waits in 5 seconds", "waits in 5 seconds"),
        ("waits within 5 sec", "waits within 5 sec"),
        ("a (1s) [2ms]", "a"),
        ("a [2ms] (1s)", "a [2ms]"),
        ("a [1ms] [2ms]", "a [1ms]"),
        ("takes 5 ms", "takes 5 ms"),
        ("x (5 minutes)", "x (5 minutes)"),
        ("  two  blanks ", "two  blanks"),
        ("(1ms)", ""),
        ("t[1.5 s]x", "t[1.5 s]x"),
    ],
)
def test_timings_and_outer_blanks_do_not_count_by_default(name, expected):
    assert normalised(name, DEFAULT) == expected


def test_escapes_and_inner_blanks_do_not_count_where_the_profile_says_so():
    rules = NameRules(escapes=True, blanks=True)
    assert normalised("\x1b[31mit\t  pours\x1b[0m (1ms)", rules) == "it pours"


@given(st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_profile_that_compares_names_as_printed_changes_none(name):
    assert normalised(name, AS_PRINTED) == name


def test_expected_names_that_become_one_are_reported_once_each():
    names = ["a (1ms)", "b", "a (2ms)", "a (1ms)", " b"]
    assert collisions(names, DEFAULT) == {"a": ("a (1ms)", "a (2ms)"), "b": ("b", " b")}
    assert collisions(names, AS_PRINTED) == {}


def test_the_later_result_wins_where_names_become_one():
    assert normalised_results({"a (1ms)": "PASSED", "a (2ms)": "FAILED"}, DEFAULT) == {"a": "FAILED"}


@pytest.mark.parametrize("part", ["[1 ", " ", " in ", " in 1 ", " in 1 sec ", "(1s)"])
def test_a_very_long_name_takes_no_time(part):
    assert normalised("x" + part * 200_000 + "msecs", DEFAULT).endswith("msecs")
