"""One active operator at a time, on a real API server."""

from __future__ import annotations

import asyncio

import pytest

from assay.kube import lease as module
from assay.kube.client import LEASES, ApiError, Client
from assay.kube.lease import Lease, LeaseLostError

pytestmark = pytest.mark.api


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds instead of a quarter of a minute."""
    monkeypatch.setattr(module, "DURATION", 3)
    monkeypatch.setattr(module, "RENEW", 0.5)
    monkeypatch.setattr(module, "RETRY", 0.2)


def lease(client: Client, namespace: str, identity: str) -> Lease:
    return Lease(client, namespace=namespace, name="operator", identity=identity)


async def holder(client: Client, namespace: str) -> tuple[str, int]:
    spec = (await client.get(LEASES, namespace, "operator"))["spec"]
    return spec.get("holderIdentity", ""), spec["leaseTransitions"]


async def test_the_first_one_has_it_and_a_second_one_waits(client: Client, namespace: str) -> None:
    first, second = lease(client, namespace, "a"), lease(client, namespace, "b")
    assert not first.held
    await asyncio.wait_for(first.acquire(), 30)
    keeping = asyncio.create_task(first.keep())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(second.acquire(), 2 * module.DURATION)
    assert (first.held, second.held) == (True, False)
    assert await holder(client, namespace) == ("a", 1)
    keeping.cancel()


async def test_a_lease_that_is_given_back_is_taken_at_once(client: Client, namespace: str) -> None:
    first, second = lease(client, namespace, "a"), lease(client, namespace, "b")
    await first.acquire()
    await first.release()
    assert not first.held
    await asyncio.wait_for(second.acquire(), 30)
    assert await holder(client, namespace) == ("b", 2)


async def test_a_holder_that_is_gone_is_followed_when_its_time_is_over(client: Client, namespace: str) -> None:
    first, second = lease(client, namespace, "a"), lease(client, namespace, "b")
    await first.acquire()
    await asyncio.wait_for(second.acquire(), 60)
    assert second.held
    assert not first.held, "the first one must know by its own clock that another may have it"


async def test_a_holder_whose_lease_was_taken_stops(client: Client, namespace: str) -> None:
    first, second = lease(client, namespace, "a"), lease(client, namespace, "b")
    await first.acquire()
    await second.acquire()
    with pytest.raises(LeaseLostError, match="no longer held by a"):
        await asyncio.wait_for(first.keep(), 60)


async def test_one_that_was_taken_over_does_not_give_back_what_is_not_its_own(client: Client, namespace: str) -> None:
    first = lease(client, namespace, "a")
    await first.acquire()
    stolen = await client.get(LEASES, namespace, "operator")
    stolen["spec"]["holderIdentity"] = "b"
    await client.replace(LEASES, namespace, "operator", stolen)
    await first.release()
    assert (await holder(client, namespace))[0] == "b"


async def test_an_operator_that_starts_again_under_its_name_has_it_at_once(client: Client, namespace: str) -> None:
    await lease(client, namespace, "a").acquire()
    again = lease(client, namespace, "a")
    await asyncio.wait_for(again.acquire(), 30)
    assert await holder(client, namespace) == ("a", 1)


async def test_of_many_that_start_together_one_has_it(client: Client, namespace: str) -> None:
    all_ = [lease(client, namespace, f"op-{number}") for number in range(5)]
    tried = await asyncio.gather(*(one._try() for one in all_))
    assert sum(tried) == sum(one.held for one in all_) == 1


async def test_a_lease_without_rights_to_its_namespace_is_waited_for(client: Client, namespace: str) -> None:
    nowhere = lease(client, "no-such-namespace", "a")
    assert not await nowhere._try()
    assert not nowhere.held
    with pytest.raises(ApiError):
        await client.get(LEASES, "no-such-namespace", "operator")
