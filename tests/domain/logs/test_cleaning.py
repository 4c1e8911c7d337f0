"""Cleaners against character-wise oracles."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs import cleaning

NOISE = st.text(alphabet="\x1b[]()0123456789;?mAKB@_^\\ \n\t\r\x01\x00\x7fé", max_size=30)


def _full_by_character(text):
    kept, at = [], 0
    while at < len(text):
        end = _sequence_end(text, at)
        if end is None:
            kept.append(text[at])
            at += 1
        else:
            at = end
    return "".join(kept)


def _sequence_end(text, at):
    if text[at] != "\x1b" or at + 1 == len(text):
        return None
    if text[at + 1] != "[":
        return at + 2 if "@" <= text[at + 1] <= "_" else None
    at += 2
    while at < len(text) and "0" <= text[at] <= "?":
        at += 1
    while at < len(text) and " " <= text[at] <= "/":
        at += 1
    return at + 1 if at < len(text) and "@" <= text[at] <= "~" else None


@given(NOISE)
@settings(max_examples=300, deadline=None)
def test_the_full_cleaner_deletes_whole_sequences_only(text):
    assert cleaning.full(text) == _full_by_character(text)


@given(st.text(alphabet="[5m\x1b\t\r\n\x00\x7fa ", max_size=12))
@settings(max_examples=300, deadline=None)
def test_the_lite_cleaner_makes_one_pass_for_numbers_then_drops_controls(text):
    pieces = re.split(r"\[[0-9]+m", text)
    assert cleaning.lite(text) == "".join(c for c in "".join(pieces) if c == "\n" or not 0 < ord(c) < 32)


@pytest.mark.parametrize(
    ("cleaner", "text", "expected"),
    [
        (cleaning.full, "\x1b(Ba\x1b]0;t\x07b\x1b[2Kc\x1b", "\x1b(Ba0;t\x07bc\x1b"),
        (cleaning.lite, "wait[5m] [1;31mx [m a\tb", "wait] [1;31mx [m ab"),
        (cleaning.sgr, "\x1b[1;31mx\x1b[2Ky\x1b[m", "x\x1b[2Ky"),
        (cleaning.sgr_and_bare, "[32ma[123mb\x1b[0mc", "a[123mbc"),
        (cleaning.sgr_to_space, "a\x1b[1mb\x1b[2Kc", "a bc"),
    ],
)
def test_a_cleaner_removes_what_its_dialects_remove(cleaner, text, expected):
    assert cleaner(text) == expected
