"""Dialects of Go's runner."""

import re

from assay.domain.logs.dialect import dialect
from assay.domain.logs.marked import Marked, Rule
from assay.domain.logs.statuses import FAILED, PASSED, SKIPPED

ROWS = (
    dialect(
        "parse_log_gotest",
        "go",
        Marked(
            clues=("--- ",),
            heads="-",
            rules=(
                Rule(
                    pattern=re.compile(r"--- (?P<word>PASS|FAIL|SKIP): (?=.*+(?<=\)))(?P<name>.+) \(.+\)$"),
                    status={"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED},
                ),
            ),
        ),
    ),
)
