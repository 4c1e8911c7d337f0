"""Calls as an agent makes them, under each shell that an image may have."""

from __future__ import annotations

import json

from witness.hands.sandbox import Sandbox


def test_a_script_runs_in_the_work_tree_with_both_streams_in_order(ready: Sandbox) -> None:
    assert ready.call("pwd; echo err >&2; echo out; exit 3") == (3, f"{ready.top}\nerr\nout\n".encode())
