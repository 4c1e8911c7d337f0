"""Bounded output and numbered lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.ors.texts import LINE_CHARS, OUTPUT_BYTES, LineWindow, output_text, with_exit_code


def window(content: bytes, *, size: int = 7, **options: int | bool) -> str:
    lines = LineWindow(**options)
    for start in range(0, len(content), size):
        if lines.enough:
            break
        lines.feed(content[start : start + size])
    return lines.text()


def test_short_output_is_whole() -> None:
    assert output_text(b"a\n", b"", total=2, identifier="x") == "a\n"
    assert output_text(b"", b"", total=0, identifier="x") == "(no output)"


def test_cut_output_says_how_much_is_missing_and_where_it_is() -> None:
    text = output_text("aé".encode()[:2] + b"", "éb".encode()[1:], total=100, identifier="id-1")
    head, notice, tail = text.split("\n")
    assert (head, tail) == ("a", "b")
    assert "98 of 100 bytes" in notice
    assert '"/assay/output/id-1"' in notice


@given(st.lists(st.text(st.sampled_from("ab é"), max_size=20), min_size=1, max_size=30), st.integers(1, 50))
def test_small_files_are_shown_whole_however_they_arrive(lines: list[str], size: int) -> None:
    content = "\n".join(lines).encode() + b"\n"
    shown = window(content, size=size).split("\n")
    assert [line.split("\t", 1)[1] for line in shown] == lines


def test_of_a_large_file_both_ends_are_shown() -> None:
    content = b"".join(b"line %d\n" % n for n in range(1, 20_001))
    text = window(content, size=100_000)
    assert text.startswith("     1\tline 1\n")
    assert text.endswith("\n 20000\tline 20000")
    assert len(text) <= OUTPUT_BYTES + 200
    first, last = text.split("view_range [")[1].split("]")[0].split(", ")
    shown = text.split("\n")
    assert f"{int(first) - 1:6d}\tline {int(first) - 1}" in shown
    assert f"{int(last) + 1:6d}\tline {int(last) + 1}" in shown
    assert window(content, first=int(first), last=int(first)) == f"{int(first):6d}\tline {first}"


def test_a_range_that_is_too_long_says_how_to_go_on() -> None:
    content = b"".join(b"%d\n" % n * (n % 3 + 1) for n in range(30_000))
    lines = content.decode().splitlines()
    seen: list[str] = []
    while len(seen) < len(lines):
        shown = window(content, size=10_000, first=len(seen) + 1, last=len(lines)).split("\n")
        seen += [line.split("\t", 1)[1] for line in shown if "\t" in line]
    assert seen == lines


@pytest.mark.parametrize("size", [100, 100_000])
def test_a_long_line_is_cut_in_files_and_folded_in_outputs(size: int) -> None:
    content = b"x" * 100_000 + b"\nend"
    cut = window(content, size=size)
    assert "96000 more characters" in cut
    assert cut.endswith("     2\tend")
    folded = window(content, size=size, fold=True, first=25, last=26)
    assert folded == f"    25\t{'x' * LINE_CHARS}\n    26\tend"


def test_what_is_not_there_is_said() -> None:
    assert window(b"") == "(empty file)"
    assert "has 2 lines" in window(b"a\nb\n", first=5, last=9)


def test_the_exit_code_has_a_line_of_its_own() -> None:
    assert with_exit_code("a", 0) == "a\nExit code: 0"
    assert with_exit_code("a\n", 1) == "a\nExit code: 1"
