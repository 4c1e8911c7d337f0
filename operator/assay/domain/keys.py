"""Keys that are derived, never stored: one master key, a purpose and an object give the key of that object alone."""

from __future__ import annotations

import hashlib
import hmac

AGENT_PREFIX = "assay-agent"
CALL_MARK_DIGITS = 16


def sandbox_key(master: bytes, uid: str) -> str:
    """Return the key (hex) of the hands of an episode's sandbox."""
    return _derived(master, f"sandbox/{uid}")


def agent_key(master: bytes, *, namespace: str, name: str, uid: str) -> str:
    """Return the API key that an episode's own agent shows to the gateway: it opens this one episode."""
    return f"{AGENT_PREFIX}.{namespace}.{name}.{_derived(master, f'agent/{uid}')}"


def go_token(master: bytes, uid: str) -> str:
    """Return the token (hex) by which the Go module gateway knows an episode's sandbox; it holds ``sha256_of`` alone."""
    return _derived(master, f"goproxy/{uid}")


def sha256_of(token: str) -> str:
    """Return the SHA-256 (hex) of a token: what may be written where others read."""
    return hashlib.sha256(token.encode()).hexdigest()


def agent_of_key(key: str) -> tuple[str, str] | None:
    """Return the namespace and name that an agent's key claims to be for; None for a key of another kind.

    A claim only: compare with ``agent_key`` of the object by ``same_key``.
    """
    parts = key.split(".")
    if len(parts) < 4 or parts[0] != AGENT_PREFIX:
        return None
    return parts[1], ".".join(parts[2:-1])


def call_id(master: bytes, *, uid: str, nonce: str) -> str:
    """Return the id of one tool call: ``nonce`` (fresh hex digits of the caller) and a mark that binds it to the episode."""
    return f"{nonce}-{_derived(master, f'call/{uid}/{nonce}')[:CALL_MARK_DIGITS]}"


def owns_call(master: bytes, *, uid: str, identifier: str) -> bool:
    """Whether a call's id was made for this episode."""
    nonce, _, _ = identifier.rpartition("-")
    return bool(nonce) and same_key(identifier, call_id(master, uid=uid, nonce=nonce))


def same_key(left: str, right: str) -> bool:
    """Compare two keys in a time that tells nothing of where they differ."""
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def _derived(master: bytes, purpose: str) -> str:
    return hmac.new(master, purpose.encode(), hashlib.sha256).hexdigest()
