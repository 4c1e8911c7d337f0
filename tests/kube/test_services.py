"""Whether anybody answers for a Service, by the endpoints that the cluster keeps of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from assay.kube.client import ENDPOINT_SLICES, Client, Kind
from assay.kube.services import is_deserted


class Listed(Client):
    """A namespace with the endpoints of one Service, each slice on a page of its own."""

    def __init__(self, *slices: dict[str, Any]) -> None:
        self._slices = slices

    async def pages(
        self, kind: Kind, _namespace: str, *, selector: str = "", size: int = 100
    ) -> AsyncIterator[list[Any]]:
        assert (kind, selector) == (ENDPOINT_SLICES, "kubernetes.io/service-name=s")
        for piece in self._slices:
            yield [piece]


READY, UNSAID, AWAY = {"conditions": {"ready": True}}, {"addresses": ["10.0.0.1"]}, {"conditions": {"ready": False}}


@pytest.mark.parametrize(
    ("slices", "deserted"),
    [
        ([], False),
        ([{}], True),
        ([{"endpoints": []}], True),
        ([{"endpoints": [AWAY]}, {"endpoints": [AWAY]}], True),
        ([{"endpoints": [AWAY]}, {"endpoints": [AWAY, READY]}], False),
        ([{"endpoints": [UNSAID]}], False),
    ],
)
async def test_a_service_is_deserted_when_it_has_endpoints_of_which_none_is_ready(
    slices: list[dict[str, Any]], deserted: bool
) -> None:
    assert await is_deserted(Listed(*slices), "n", "s") is deserted
