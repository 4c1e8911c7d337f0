"""Merge rules as tables."""

from itertools import product

import pytest

from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep, put, put_unless_passed, rank, severity

STATUSES = (PASSED, SKIPPED, FAILED, ERROR)


def _merged(merge, *statuses):
    results = {}
    for status in statuses:
        merge(results, "t", status)
    return results["t"]


@pytest.mark.parametrize(("first", "second"), list(product(STATUSES, STATUSES)))
def test_merge_rules_follow_their_order(first, second):
    assert _merged(put, first, second) == second
    assert _merged(keep, first, second) == first
    assert _merged(rank, first, second) == max(first, second, key=STATUSES.index)
    assert _merged(put_unless_passed, first, second) == (first if second == PASSED else second)
    harm = {PASSED: 0, SKIPPED: 0, FAILED: 1, ERROR: 2}
    assert _merged(severity, first, second) == (second if harm[second] > harm[first] else first)
