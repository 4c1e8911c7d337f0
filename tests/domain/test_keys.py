"""Derived keys: each opens one thing, and none can be made from another."""

from __future__ import annotations

from assay.domain.keys import agent_key, agent_of_key, call_id, owns_call, same_key, sandbox_key

MASTER = b"m" * 32


def test_each_episode_and_each_purpose_has_a_key_of_its_own() -> None:
    keys = {
        sandbox_key(MASTER, "a"),
        sandbox_key(MASTER, "b"),
        sandbox_key(b"n" * 32, "a"),
        agent_key(MASTER, namespace="n", name="e", uid="a").rpartition(".")[2],
    }
    assert len(keys) == 4


def test_an_agents_key_names_its_episode_even_when_the_name_has_dots() -> None:
    key = agent_key(MASTER, namespace="runs", name="a.b.c", uid="u")
    assert agent_of_key(key) == ("runs", "a.b.c")
    assert same_key(key, agent_key(MASTER, namespace="runs", name="a.b.c", uid="u"))
    assert not same_key(key, agent_key(MASTER, namespace="runs", name="a.b.c", uid="v"))


def test_other_keys_are_no_agents() -> None:
    for key in ("", "secret", "assay-agent", "assay-agent.runs.x", "other.runs.x.0"):
        assert agent_of_key(key) is None


def test_a_call_belongs_to_the_episode_that_it_was_made_for() -> None:
    identifier = call_id(MASTER, uid="a", nonce="0123abcd")
    assert owns_call(MASTER, uid="a", identifier=identifier)
    assert not owns_call(MASTER, uid="b", identifier=identifier)
    assert not owns_call(MASTER, uid="a", identifier="0123abcd")
    assert not owns_call(MASTER, uid="a", identifier="x" + identifier)
    assert not owns_call(MASTER, uid="a", identifier="ü-ü")
