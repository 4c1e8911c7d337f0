"""A store in a directory: whole files or none, other bytes never taken for the right ones, garbage told apart."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from assay.store.artifacts import ArtifactChangedError, ArtifactLostError, Store
from assay.store.places import place_of

HOUR = 3600.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"file://{tmp_path}")


def file_of(folder: Path, digest: str) -> Path:
    return folder / digest[:2] / f"{digest}.zst"


def aged(path: Path, hours: float) -> None:
    then = time.time() - hours * HOUR
    os.utime(path, (then, then))


@pytest.mark.parametrize("content", [b"", b"a", b"\x00\xff" * 5_000_000, b"\xed\xa0\x80"])
def test_bytes_come_back_as_they_were(store: Store, content: bytes) -> None:
    artifact = store.put(content)
    assert artifact.sha256 == hashlib.sha256(content).hexdigest()
    assert artifact.bytes == len(content)
    assert store.get(artifact.sha256) == content


def test_a_file_lies_where_its_uri_says(store: Store, tmp_path: Path) -> None:
    artifact = store.put(b"evidence")
    assert artifact.uri == f"file://{file_of(tmp_path, artifact.sha256)}"
    assert file_of(tmp_path, artifact.sha256).exists()


def test_a_store_that_is_only_read_is_not_made_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no store at file://"):
        Store(f"file://{tmp_path}/mistyped", make=False)
    assert not (tmp_path / "mistyped").exists()
    digest = Store(f"file://{tmp_path}/made").put(b"evidence").sha256
    assert Store(f"file://{tmp_path}/made", make=False).get(digest) == b"evidence"


def test_a_file_that_is_not_there_is_lost(store: Store) -> None:
    with pytest.raises(ArtifactLostError, match="has no file"):
        store.get("0" * 64)


@pytest.mark.parametrize("damage", [b"", b"not compressed", pa.compress(b"other bytes", codec="zstd", asbytes=True)])
def test_other_bytes_under_a_hash_are_told_and_mended_by_the_next_writer(
    store: Store, tmp_path: Path, damage: bytes
) -> None:
    digest = store.put(b"evidence").sha256
    file_of(tmp_path, digest).write_bytes(damage)
    with pytest.raises(ArtifactChangedError):
        store.get(digest)
    store.put(b"evidence")
    assert store.get(digest) == b"evidence"


def test_a_store_that_cannot_be_read_has_lost_nothing(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"evidence").sha256
    kept = file_of(tmp_path, digest)
    content = kept.read_bytes()
    kept.unlink()
    kept.mkdir()
    with pytest.raises(OSError, match="directory"):
        store.get(digest)
    kept.rmdir()
    kept.write_bytes(content)
    assert store.get(digest) == b"evidence"


def test_a_refused_file_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"evidence").hexdigest()
    (file_of(tmp_path, digest)).mkdir(parents=True)
    with pytest.raises(OSError, match=r"evidence|directory|rename|move"):
        store.put(b"evidence")
    assert list(tmp_path.rglob("*.part")) == []


def test_an_old_file_that_is_put_again_is_young_again(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"evidence").sha256
    kept = file_of(tmp_path, digest)
    aged(kept, 2)
    before = kept.stat().st_mtime_ns
    store.put(b"evidence")
    assert kept.stat().st_mtime_ns == before
    aged(kept, 25)
    store.put(b"evidence")
    assert time.time() - kept.stat().st_mtime < HOUR


def test_the_list_holds_the_stores_files_alone(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"evidence").sha256
    (tmp_path / "ab").mkdir(exist_ok=True)
    for strange in ("lost+found", "ab/notes.txt", f"ab/{digest}.zst"):
        (tmp_path / strange).write_text("not of the store")
    (tmp_path / digest[:2] / f"{digest}.zst.{'0' * 32}.part").write_text("half")
    assert sorted((file.digest, file.unfinished) for file in store.listed()) == [(digest, False), (digest, True)]


def test_a_file_that_was_written_since_it_was_listed_is_not_deleted(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"evidence").sha256
    aged(file_of(tmp_path, digest), 300)
    (listed,) = store.listed()
    store.put(b"evidence")
    assert store.delete(listed) is False
    assert store.get(digest) == b"evidence"
    (listed,) = store.listed()
    assert store.delete(listed) is True
    assert not store.has(digest)
    assert store.delete(listed) is False


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("s3://key:secret@bucket/prefix", "credentials"),
        ("s3://key@bucket", "credentials"),
        ("s3://bucket?endpoint=host", "takes endpoint_override"),
        ("s3://bucket?secret_key=x", "takes endpoint_override"),
        ("tape://drive/0", "tape"),
    ],
)
def test_a_wrong_uri_is_refused(uri: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        place_of(uri)


def test_a_files_uri_keeps_what_the_stores_uri_asks_for() -> None:
    place = place_of("s3://bucket/prefix/?endpoint_override=host:1&scheme=http&region=here")
    assert place.root == "bucket/prefix"
    assert place.uri_of("ab/c.zst") == "s3://bucket/prefix/ab/c.zst?endpoint_override=host:1&scheme=http&region=here"
