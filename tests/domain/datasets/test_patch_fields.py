"""A row's patches reach the manifest byte for byte."""

from __future__ import annotations

import base64

import pytest

from assay.domain.datasets.rows import _patch_field


@pytest.mark.parametrize("content", [b"+J\xfcrgen\n", "+\ufffd\n".encode()])
def test_what_text_cannot_carry_safely_goes_in_as_base64(content: bytes) -> None:
    assert _patch_field("patch", content) == {"patchBase64": base64.b64encode(content).decode()}


def test_text_stays_text_and_a_blank_patch_is_left_out() -> None:
    assert _patch_field("testPatch", "+é\r\n".encode()) == {"testPatch": "+é\r\n"}
    assert _patch_field("patch", b" \n") == {}
