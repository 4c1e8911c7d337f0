"""Sums of what the gateway's replicas have counted."""

from __future__ import annotations

import pytest

from assay.api.episode import Egress
from assay.domain.goproxy.usage import Usage, egress_of, usage_of_answer

ANSWER = {"runs/e": {"requests": 5, "denied": 2, "bytes": 7, "modules": ["a.dev/x", "a.dev/y"], "rules": {"owned": 2}}}


def test_replicas_are_summed_and_a_module_that_two_served_is_one() -> None:
    one = usage_of_answer(ANSWER)["runs/e"]
    other = Usage(requests=1, bytes=3, modules=frozenset({"a.dev/y", "a.dev/z"}))
    assert egress_of([one, other]) == Egress(requests=6, denied=2, bytes=10, modules=3)


def test_a_run_that_never_asked_has_used_nothing() -> None:
    assert egress_of([]) == Egress()


def test_no_figure_falls_when_a_replica_was_replaced() -> None:
    before = Egress(requests=9, denied=1, bytes=100, modules=2)
    after = egress_of([Usage(requests=1, denied=4, bytes=3)], before=before)
    assert after == Egress(requests=9, denied=4, bytes=100, modules=2)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"runs/e": []},
        {"runs/e": {"requests": -1}},
        {"runs/e": {"bytes": "7"}},
        {"runs/e": {"denied": True}},
        {"runs/e": {"modules": [1]}},
        {"runs/e": {"modules": "a.dev/x"}},
    ],
)
def test_an_answer_of_another_shape_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="usage"):
        usage_of_answer(answer)
