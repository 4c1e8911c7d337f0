"""What may be deleted of a store: never what an object names, never what is young."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assay.domain.retention import LEAST_AGE, StoredFile, garbage_of, references_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WEEK = timedelta(days=7)


def made(letter: str, *, days: float, part: bool = False) -> StoredFile:
    digest = letter * 64
    path = f"{digest[:2]}/{digest}.zst" + (".0.part" if part else "")
    return StoredFile(path=path, digest=digest, bytes=1, modified=NOW - timedelta(days=days))


def test_every_hash_of_an_object_counts_whatever_it_is_called() -> None:
    said = {
        "spec": {"taskFrom": {"digest": "a" * 64}, "task": {"tests": {"failToPass": ["t", "b" * 64]}}},
        "status": {"runs": [{"log": {"sha256": "c" * 64}, "results": None}], "report": {"uri": "x", "bytes": 3}},
    }
    assert set(references_of(said)) == {"a" * 64, "b" * 64, "c" * 64}


@pytest.mark.parametrize("word", ["A" * 64, "a" * 63, "g" * 64, f"sha256:{'a' * 57}"])
def test_other_words_are_no_hashes(word: str) -> None:
    assert list(references_of({"word": word})) == []


def test_old_files_that_nothing_names_are_garbage_oldest_first() -> None:
    files = [made("a", days=8), made("b", days=30), made("c", days=6.9), made("d", days=90)]
    found = garbage_of(files, frozenset({"d" * 64}), now=NOW, older_than=WEEK)
    assert [file.digest[0] for file in found] == ["b", "a"]


def test_what_a_killed_writer_left_is_garbage_though_its_hash_is_named() -> None:
    files = [made("a", days=8, part=True), made("a", days=8), made("a", days=1, part=True)]
    assert garbage_of(files, frozenset({"a" * 64}), now=NOW, older_than=WEEK) == (files[0],)


def test_no_grace_is_shorter_than_the_least() -> None:
    young, old = made("a", days=LEAST_AGE.days - 0.1), made("b", days=LEAST_AGE.days + 0.1)
    assert garbage_of([young, old], frozenset(), now=NOW, older_than=timedelta(0)) == (old,)
