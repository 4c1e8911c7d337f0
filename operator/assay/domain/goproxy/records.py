"""Policy records: which run a token belongs to, from which addresses, and what it may not reach.

Two shapes in, one :class:`RunRecord` out: the gateway's JSON file and an AgentEpisode object.  A record that cannot be
read whole is refused; a token without a record is denied, there is no default policy.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.api.v1alpha1 import EpisodePhase
from assay.domain.gomodules import GoPolicy

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ENDED = frozenset({EpisodePhase.FINISHED, EpisodePhase.EXPIRED, EpisodePhase.CANCELLED, EpisodePhase.FAILED})
MAX_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run's pass. ``token_sha256`` is hex, ``addresses`` are the pod's: empty until it has one."""

    run: str
    pod_uid: str
    token_sha256: str
    addresses: frozenset[str]
    policy: GoPolicy
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecord:
    """Why a policy record is not taken: the field and what is wrong with it."""

    field: str
    why: str


class _UnreadableError(ValueError):
    """A field has the wrong shape; turned into a BadRecord at the entrance."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field, self.why = field, why


def record_of_mapping(raw: Mapping[str, object]) -> RunRecord | BadRecord:
    """Read one entry of the policy file.

    Fields: run, podUID, tokenSHA256, addresses, owned, forkNames, nestedElsewhere, notAfter; of these run, tokenSHA256
    and owned are needed.
    """
    try:
        return RunRecord(
            run=_text(raw, "run"),
            pod_uid=_text(raw, "podUID", default=""),
            token_sha256=_sha256(raw, "tokenSHA256"),
            addresses=frozenset(map(normal_address, _texts(raw, "addresses"))),
            policy=_policy(raw),
            not_after=_time(raw, "notAfter"),
        )
    except _UnreadableError as bad:
        return BadRecord(field=bad.field, why=bad.why)


def record_of_episode(episode: Mapping[str, object]) -> RunRecord | BadRecord | None:
    """Read an AgentEpisode; None where it has no sandbox that may use the gateway (yet, any more, or at all).

    Taken: ``spec.network`` (must be GoProxy), ``status {phase, sandbox {podUID, podIPs, tokenSHA256, goPolicy {owned,
    forkNames, nestedElsewhere, notAfter}}}``, ``metadata {namespace, name}``.  The policy is the one that the operator has
    put together of the task's and the episode's: neither ``spec`` alone says it all.
    """
    metadata, spec, status = (_part(episode, key) for key in ("metadata", "spec", "status"))
    sandbox = _part(status, "sandbox")
    if spec.get("network") != "GoProxy" or not sandbox.get("tokenSHA256"):
        return None
    if metadata.get("deletionTimestamp") or str(status.get("phase")) in _ENDED:
        return None
    policy = dict(_part(sandbox, "goPolicy"))
    return record_of_mapping(
        {
            **policy,
            "notAfter": policy.get("notAfter") or None,
            "run": f"{metadata.get('namespace', '')}/{metadata.get('name', '')}",
            "podUID": sandbox.get("podUID", ""),
            "tokenSHA256": sandbox["tokenSHA256"],
            "addresses": sandbox.get("podIPs", []),
        }
    )


def time_of(text: str) -> datetime:
    """Return a cut-off's time; raises ValueError, with what it must be, for another text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("must be a time after RFC 3339") from error
    if time.tzinfo is None:
        raise ValueError("must name its offset from UTC")
    return time


def normal_address(text: str) -> str:
    """Return the one spelling of an IP address (IPv4 also where it is mapped into IPv6); other text as it is."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _policy(raw: Mapping[str, object]) -> GoPolicy:
    owned = frozenset(_texts(raw, "owned"))
    policy = GoPolicy(
        owned=owned,
        fork_names=frozenset(_texts(raw, "forkNames")),
        nested_elsewhere=frozenset(_texts(raw, "nestedElsewhere")),
    )
    if not policy.bases:
        raise _UnreadableError("owned", "an empty list would mean that nothing is denied")
    return policy


def _part(raw: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(raw: Mapping[str, object], field: str, *, default: str | None = None) -> str:
    value = raw.get(field, default)
    if not isinstance(value, str) or (default is None and not value):
        raise _UnreadableError(field, "must be a text")
    return value


def _sha256(raw: Mapping[str, object], field: str) -> str:
    value = _text(raw, field)
    if _SHA256.fullmatch(value) is None:
        raise _UnreadableError(field, "must be 64 lower-case hexadecimal digits")
    return value


def _texts(raw: Mapping[str, object], field: str) -> list[str]:
    value = raw.get(field, [])
    if (
        not isinstance(value, list | tuple)
        or len(value) > MAX_ENTRIES
        or not all(isinstance(item, str) and item for item in value)
    ):
        raise _UnreadableError(field, "must be a list of texts")
    return list(value)


def _time(raw: Mapping[str, object], field: str) -> datetime | None:
    value = raw.get(field)
    if value is None:
        return None
    try:
        return time_of(str(value))
    except ValueError as error:
        raise _UnreadableError(field, str(error)) from error
