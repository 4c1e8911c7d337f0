"""Splitting against the slow way: split the whole text at once."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs.lines import Split, Trim, blocks, lines_of

BREAKING = st.text(alphabet="a \t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", max_size=40)


@settings(max_examples=200, deadline=None)
@given(BREAKING, st.integers(1, 9), st.booleans())
def test_blocks_are_the_text_and_end_where_a_line_ends(text, size, at_cr):
    parts = list(blocks(text, at_cr=at_cr, size=size))
    assert "".join(parts) == text
    ends = ("\n", "\r") if at_cr else ("\n",)
    assert all(part.endswith(ends) for part in parts[:-1])
    assert not any(part.endswith("\r") and after.startswith("\n") for part, after in pairwise(parts))


@settings(max_examples=200, deadline=None)
@given(text=BREAKING, size=st.integers(1, 9))
def test_lines_in_blocks_are_the_lines_of_the_whole(text, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "__kwdefaults__", {"at_cr": False, "size": size})
        assert list(lines_of(text, Split.UNIVERSAL)) == text.splitlines()
        slow = text.split("\n")
        assert list(lines_of(text, Split.LF)) == (slow[:-1] if slow[-1] == "" else slow)


@given(BREAKING)
@settings(max_examples=50, deadline=None)
def test_trims_remove_white_space_where_they_say(text):
    lines = text.splitlines()
    assert list(lines_of(text, Split.UNIVERSAL, Trim.BOTH)) == [line.strip() for line in lines]
    assert list(lines_of(text, Split.UNIVERSAL, Trim.RIGHT)) == [line.rstrip() for line in lines]


def test_a_log_of_carriage_returns_alone_is_cut_into_blocks():
    assert max(map(len, blocks("ab\r" * 1000, at_cr=True, size=10))) < 20
