"""Every published example of every dialect."""

import json
from pathlib import Path

import pytest

from assay.domain.logs import parse_log

VECTORS = Path(__file__).parents[2] / "vectors" / "log-parsers"


def _vectors():
    for path in sorted(VECTORS.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            vector = json.loads(line)
            yield pytest.param(vector, id=f"{vector['parser']}-{path.stem}:{number}")


@pytest.mark.parametrize("vector", list(_vectors()))
def test_a_dialect_gives_the_reference_results(vector):
    assert parse_log(vector["parser"], vector["log"]) == vector["expected"]
