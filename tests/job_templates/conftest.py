from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from witness.pod import Pod, pod_in


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    with pod_in(tmp_path) as made:
        yield made
