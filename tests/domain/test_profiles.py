"""The profiles are what the public harnesses do, and their page says what they are."""

from pathlib import Path

import pytest

from assay.api.v1alpha1 import TaskValidationSpec
from assay.domain.profiles import PROFILES, Credit, LogText, Standing, profile_named, profiles_markdown

ROOT = Path(__file__).parents[2]


def test_the_documented_table_is_the_table() -> None:
    assert (ROOT / "docs" / "profiles.md").read_text() == profiles_markdown()


def test_a_profile_is_found_by_its_name_alone() -> None:
    assert [profile_named(name) for name in PROFILES] == list(PROFILES.values())
    assert profile_named("Strict") is None


def test_the_default_of_the_api_is_the_first_profile() -> None:
    assert TaskValidationSpec.model_fields["profile"].default == next(iter(PROFILES))


@pytest.mark.parametrize(
    ("name", "word", "standing"),
    [
        ("strict", "PASSED", Standing.PASS),
        ("strict", "passed", Standing.PASS),
        ("strict", "ERROR", Standing.FAIL),
        ("strict", "XFAIL", Standing.SKIP),
        ("strict", "XPASS", Standing.SKIP),
        ("swebench-v4", "XFAIL", Standing.PASS),
        ("swebench-v4", "XPASS", Standing.ABSENT),
        ("swebench-v5", "SKIPPED", Standing.SKIP),
        ("rebench-v2", "XFAIL", Standing.ABSENT),
        ("pro", "whatever", Standing.ABSENT),
    ],
)
def test_a_status_word_is_read_as_the_profile_says(name: str, word: str, standing: Standing) -> None:
    assert PROFILES[name].standing(word) is standing


def test_no_word_is_in_two_columns() -> None:
    for profile in PROFILES.values():
        words = [*profile.passed, *profile.failed, *profile.skipped]
        assert len(words) == len(set(words))
        assert {word.upper() for word in words} == set(words)


def test_what_sets_the_families_apart() -> None:
    assert {name for name, profile in PROFILES.items() if profile.exact} == {"rebench-v2"}
    assert {name for name, profile in PROFILES.items() if profile.empty_f2p is Credit.FAILURE} == {"strict"}
    assert {name for name, profile in PROFILES.items() if profile.text is LogText.STREAMS} == {
        "strict",
        "rebench-v2",
        "pro",
    }
