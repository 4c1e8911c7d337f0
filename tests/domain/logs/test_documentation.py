"""The page of dialects is what the table says."""

from pathlib import Path

from assay.domain.logs import DIALECTS
from assay.domain.logs.documentation import markdown, options_of, summary_of

PAGE = Path(__file__).parents[3] / "docs" / "parsers.md"


def test_the_page_is_generated_from_the_table():
    assert PAGE.read_text("utf-8") == markdown(DIALECTS), "run: assay parsers --format markdown > docs/parsers.md"


def test_options_show_what_differs_from_the_default():
    assert options_of(DIALECTS["parse_log_pytest"]) == {}
    assert options_of(DIALECTS["parse_log_pytest_v2"]) == {"verbose": "ending in a status word", "lite_clean": "True"}
    assert summary_of(DIALECTS["parse_lua_nvim"]) == "as parse_lue_nvim"
    assert "joiner ' > '" in summary_of(DIALECTS["parse_log_phpunit"])
