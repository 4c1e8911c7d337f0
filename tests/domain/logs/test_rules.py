"""Rules of single dialects that none of the published examples shows."""

import pytest

from assay.domain.logs import parse_log


@pytest.mark.parametrize(
    ("dialect", "rule", "log", "expected"),
    [
        (
            "parse_log_csharp",
            "nothing stands between xUnit's time and its bracket",
            "[xUnit.net 00:00:01.02 ]     A.B [FAIL]\n[xUnit.net 00:00:01.02]     A.C [FAIL]",
            {"A.C": "FAILED"},
        ),
        (
            "parse_log_ocaml_v2",
            "a command is parted at && from its beginning",
            "Running[1]: (cd x &&&)\nOutput[1]:\nfine",
            {"&": "PASSED"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("parse_") else "",
)
def test_a_rule_is_kept_to_the_letter(dialect, rule, log, expected):
    assert parse_log(dialect, log) == expected, rule
