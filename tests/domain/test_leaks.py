"""A rewritten statement must not tell what the reference patch alone has; what stands elsewhere, and prose, is free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.leaks import leaked_names
from assay.domain.patches import header_lines, hunk_lines
from builders import make_task

PATCH = b"""\
diff --git a/lamp.py b/lamp.py
--- a/lamp.py
+++ b/lamp.py
@@ -1,3 +1,6 @@
 import wick
-    return burn(oil)
+    # refuse an empty vessel, see trim_wick
+    level = measure_oil(oil)
+    if not level: raise EmptyVessel("no oil left in the vessel", mode="slow-burn_2")
+    return burn(oil, level)
 # end of lamp
"""
TASK = make_task(patch=PATCH, test_patch=b"+    assert measured(wick) == EmptyVessel\n")


@pytest.mark.parametrize(
    ("statement", "leaked"),
    [
        ("burn() must fail without oil.", ()),
        ("Call measure_oil before burning.", ("measure_oil",)),
        ("Raise `EmptyVessel`.", ()),
        ("An empty vessel must be refused.", ()),
        ("Look at the level first.", ("level",)),
        ("See trim_wick.", ("trim_wick",)),
        ("Use burn_2 or slow-burn_2.", ("burn_2",)),
        ("measure_oils differs", ()),
    ],
)
def test_names_that_the_reference_patch_alone_has_are_found(statement: str, leaked: tuple[str, ...]) -> None:
    assert leaked_names(statement, TASK) == leaked


def test_names_of_the_statement_before_are_no_secret() -> None:
    assert leaked_names("Mind measure_oil and level.", TASK, known=("measure_oil is missing",)) == ("level",)


@given(st.binary(max_size=300), st.text(max_size=100))
def test_any_bytes_are_a_patch_without_a_fault(patch: bytes, statement: str) -> None:
    found = leaked_names(statement, make_task(patch=patch))
    assert all(name in statement for name in found)


@given(st.lists(st.sampled_from([b"@@ -1,2 +1,2 @@", b" a", b"-b", b"+c", b"--- a/x", b"diff --git a/x b/x", b""])))
def test_every_line_of_a_diff_is_of_a_hunk_or_of_a_header(lines: list[bytes]) -> None:
    patch = b"\n".join(lines)
    assert sorted([*header_lines(patch), *hunk_lines(patch)]) == sorted(patch.split(b"\n"))
