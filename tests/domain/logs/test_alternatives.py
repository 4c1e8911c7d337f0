"""Patterns over blocks of lines against the slow way: each pattern on each line, the first that fits."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs import DIALECTS
from assay.domain.logs.alternatives import Alternatives, over_lines
from assay.domain.logs.marked import Marked

GRAMMARS = {
    name: row.options.rules
    for name, row in DIALECTS.items()
    if isinstance(row.options, Marked) and all(isinstance(rule.pattern, re.Pattern) for rule in row.options.rules)
}
PIECES = (
    "test",
    "Test ",
    "ok",
    " ",
    "  ",
    "\t",
    "(",
    ")",
    "[",
    "]",
    "5ms",
    "1",
    ".",
    "...",
    ":",
    "✓",
    "✔ ",
    "PASS",
    "*",
)


def _one_by_one(patterns, lines):
    for line in lines:
        hits = ((number, pattern.match(line)) for number, pattern in enumerate(patterns))
        yield from [(number, hit[0], hit.groups()) for number, hit in hits if hit][:1]


@pytest.mark.parametrize("dialect", sorted(GRAMMARS))
@settings(max_examples=30, deadline=None)
@given(lines=st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), max_size=6))
def test_a_search_over_lines_finds_what_each_line_holds(dialect, lines):
    patterns = [rule.pattern for rule in GRAMMARS[dialect]]
    search = Alternatives(patterns)
    found = [
        (number, hit[0][1:], hit.groups()[search.starts[number] : search.ends[number] - 1])
        for hit in search.found_in("\n".join(("", *lines, "")))
        for number in [search.ends.index(hit.lastindex)]
    ]
    assert found == list(_one_by_one(patterns, lines))


@pytest.mark.parametrize(
    ("source", "lines", "expected"),
    [
        (r"a\s*+(?P<name>.*)$", "\na\nb\n", ["\na"]),
        (r"a(?P<name>[^x]*+)", "\nab\nc\n", ["\nab"]),
        (r"a(?!\s)", "\na\nb\n", ["\na"]),
        (r"a[]\]$]", "\na]\na$\na\n", ["\na]", "\na$"]),
    ],
)
def test_no_part_of_a_pattern_reaches_into_the_next_line(source, lines, expected):
    assert [hit[0] for hit in Alternatives([re.compile(source)]).found_in(lines)] == expected


@pytest.mark.parametrize("source", [r"a[\s]", r"a\D", r"a\W"])
def test_a_pattern_that_would_reach_into_the_next_line_is_refused(source):
    with pytest.raises(ValueError, match="next line"):
        over_lines(re.compile(source))
