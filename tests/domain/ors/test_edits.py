"""What str_replace makes of a file."""

from __future__ import annotations

from assay.domain.ors.edits import Change, changed
from assay.domain.ors.tools import MAX_TEXT_BYTES, StrReplace


def test_the_one_place_is_replaced_and_every_other_byte_stays() -> None:
    edit = StrReplace(path="f", old="b\n", new="é")
    assert changed(b"a\r\n\xffb\nc", edit) == Change(content=b"a\r\n" + b"\xff" + "éc".encode(), line=2)


def test_a_text_that_is_not_there_or_there_again_is_said_with_its_lines() -> None:
    assert (
        changed(b"a", StrReplace(path="f", old="b", new=""))
        == "f: old_str was not found in the file; nothing was changed"
    )
    told = changed(b"b\n" * 12, StrReplace(path="f", old="b", new=""))
    assert told == (
        "f: old_str appears 12 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ...); make it longer. Nothing was changed"
    )


def test_a_file_does_not_grow_past_what_can_be_written() -> None:
    told = changed(b"b" + b"x" * (MAX_TEXT_BYTES - 1), StrReplace(path="f", old="b", new="bb"))
    assert told == f"f would have {MAX_TEXT_BYTES + 1} bytes; edit it by bash"
