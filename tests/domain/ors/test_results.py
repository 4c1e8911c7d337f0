"""Results as JSON and as pieces of a stream."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from assay.domain.ors.results import Output, Refused, frame_of, frames_of, infrastructure, json_of, pieces_of


@given(st.text(st.sampled_from(' \t\n\u00a0\u2028é\\"x\U0001f600'), max_size=30).map(lambda text: text * 900))
def test_no_piece_begins_with_white_space_and_together_they_are_the_result(text: str) -> None:
    pieces = list(pieces_of(json_of(Output(text=text))))
    assert all(piece == piece.lstrip() and piece.isascii() and len(piece) < 5_000 for piece in pieces)
    assert json.loads("".join(pieces))["output"]["blocks"][0]["text"] == text


def test_an_output_always_has_all_keys() -> None:
    answer = json.loads(json_of(Output(text="x")))
    assert answer == {
        "ok": True,
        "output": {
            "blocks": [{"text": "x", "detail": None, "type": "text"}],
            "metadata": {},
            "reward": None,
            "finished": False,
        },
    }


def test_a_refusal_tells_its_reason() -> None:
    refusal = Refused(text="no", reason="not_found")
    assert json.loads(json_of(refusal)) == {"ok": False, "error": "no", "reason": "not_found"}


def test_a_fault_of_the_infrastructure_is_an_answer_without_a_reward() -> None:
    fault = infrastructure("bash", "lost")
    assert (fault.reward, fault.finished) == (None, False)
    assert fault.metadata["failure_class"] == "infrastructure"


def test_the_last_frame_and_it_alone_is_the_end() -> None:
    frames = list(frames_of(Output(text="x" * 10_000)))
    assert [frame.split(b"\n")[0] for frame in frames] == [b"event: chunk", b"event: chunk", b"event: end"]
    assert next(iter(frames_of(Output(text="x")))).startswith(b"event: end\ndata: {")


def test_several_lines_are_several_data_fields() -> None:
    assert frame_of("error", "a\nb") == b"event: error\ndata: a\ndata: b\n\n"
