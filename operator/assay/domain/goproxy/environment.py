"""The variables of a GoProxy episode's sandbox.

They make the go command use the gateway from the first try.  All of them are the agent's to change, and none matters
for safety: the NetworkPolicy is the wall, the gateway the door.
"""

from __future__ import annotations

from collections.abc import Mapping

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def go_environment(*, gateway: str, token: str, sumdb: str = "") -> Mapping[str, str]:
    """Return the variables for a gateway (``http://address:port``, by address: a sandbox has no name service).

    ``sumdb`` is a value of GOSUMDB whose database the gateway serves; without one sums are not looked up, go.sum alone
    is checked.  An empty value takes out what the image says: another HTTP proxy, or flags that forbid fetching.
    """
    return {
        "GOPROXY": f"{gateway.rstrip('/')}/t/{token}",
        "GOSUMDB": sumdb or "off",
        "GONOPROXY": "none",
        "GONOSUMDB": "none",
        "GOPRIVATE": "",
        "GOENV": "off",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "",
        **{name: "" for proxy in _PROXIES for name in (proxy, proxy.lower())},
    }


def database_of(sumdb: str) -> str:
    """Return the database's name in a value of GOSUMDB (``name``, ``name+hash+key`` or either with a URL)."""
    return sumdb.split(" ", maxsplit=1)[0].partition("+")[0]
