"""A store on a real S3 server that is stopped, slow, silent, full and read-only in between: all of a file or nothing."""

from __future__ import annotations

import random
import threading
import time

import pytest

from assay.store import places
from assay.store.artifacts import ArtifactChangedError, ArtifactLostError, Store
from store.s3 import BUCKET, Disk, S3Server

pytestmark = pytest.mark.api
LARGE = random.Random(7).randbytes(6 << 20)


@pytest.fixture
def store(server: S3Server) -> Store:
    return Store(server.uri)


@pytest.mark.parametrize("content", [b"", b"evidence", LARGE])
def test_bytes_come_back_as_they_were(store: Store, content: bytes) -> None:
    artifact = store.put(content)
    assert store.get(artifact.sha256) == content
    assert store.put(content) == artifact


def test_an_object_lies_where_its_uri_says(store: Store, server: S3Server) -> None:
    artifact = store.put(b"evidence")
    assert server.names() == [f"store/{artifact.sha256[:2]}/{artifact.sha256}.zst"]
    assert artifact.uri.startswith(
        f"s3://{BUCKET}/store/{artifact.sha256[:2]}/{artifact.sha256}.zst?endpoint_override="
    )


def test_an_object_that_is_not_there_is_lost_and_a_damaged_one_is_changed(store: Store, server: S3Server) -> None:
    with pytest.raises(ArtifactLostError, match="has no file"):
        store.get("0" * 64)
    digest = store.put(b"evidence").sha256
    (server.folder / "root" / BUCKET / server.names()[0]).write_bytes(b"damage")
    with pytest.raises(ArtifactChangedError):
        store.get(digest)
    store.put(b"evidence")
    assert store.get(digest) == b"evidence"


def test_a_stopped_server_refuses_everything_and_has_lost_nothing(store: Store, server: S3Server) -> None:
    digest = store.put(b"evidence").sha256
    server.stop()
    for ask in (lambda: store.put(b"more"), lambda: store.get(digest), lambda: store.has(digest)):
        with pytest.raises(OSError, match="connect"):
            ask()
    server.start()
    assert store.get(digest) == b"evidence"
    assert store.get(store.put(b"more").sha256) == b"more"


def test_a_server_that_dies_during_an_upload_shows_all_of_it_or_nothing(store: Store, server: S3Server) -> None:
    content = random.Random(11).randbytes(8 << 20)
    killer = threading.Timer(0.05, server.stop)
    killer.start()
    try:
        digest = store.put(content).sha256
    except OSError:
        digest = ""
    killer.join()
    server.start()
    if digest:
        assert store.get(digest) == content
    else:
        assert server.names() == []
    assert store.get(store.put(content).sha256) == content


def test_a_read_only_server_gives_what_it_has_and_takes_nothing(store: Store, server: S3Server) -> None:
    digest = store.put(b"evidence").sha256
    server.stop()
    server.start(readonly=True)
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        store.put(b"more")
    assert store.get(digest) == b"evidence"
    assert len(server.names()) == 1


@pytest.mark.parametrize("content", [b"small", LARGE])
def test_a_full_server_takes_nothing_and_keeps_what_it_has(
    store: Store, server: S3Server, disk: Disk, content: bytes
) -> None:
    digest = store.put(b"evidence").sha256
    disk.fill()
    with pytest.raises(OSError, match=r"No space|internal error|INTERNAL|InsufficientStorage"):
        store.put(content)
    assert store.get(digest) == b"evidence"
    disk.clear()
    assert store.get(store.put(content).sha256) == content


def test_a_slow_server_is_waited_for(store: Store, server: S3Server) -> None:
    server.pause()
    waker = threading.Timer(2.0, server.resume)
    waker.start()
    assert store.get(store.put(b"evidence").sha256) == b"evidence"
    waker.join()


def test_a_silent_server_holds_no_thread_for_ever(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SILENCE_SECONDS", 2.0)
    store = Store(server.uri)
    server.pause()
    began = time.monotonic()
    with pytest.raises(OSError, match=r"too slow|Timeout"):
        store.put(b"evidence")
    assert time.monotonic() - began < 60
    server.resume()
    assert store.get(store.put(b"evidence").sha256) == b"evidence"


def test_the_list_and_deletion_see_what_was_stored(store: Store) -> None:
    kept, gone = store.put(b"kept").sha256, store.put(b"gone").sha256
    listed = {file.digest: file for file in store.listed()}
    assert set(listed) == {kept, gone}
    assert store.delete(listed[gone]) is True
    assert store.delete(listed[gone]) is False
    assert [file.digest for file in store.listed()] == [kept]


def test_wrong_credentials_are_told(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(OSError, match=r"(?i)signature|access.denied|forbidden"):
        Store(server.uri).put(b"evidence")
