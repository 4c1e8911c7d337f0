"""Who owns a Go module path: the one deny rule, asked by every route of the module gateway and by the image checks.

A module path is a spelling of a repository, and most repositories have many: letter case, ``/v2``, gopkg.in, ``www.``,
``.git``.  :func:`compare_key` brings them to one form, :func:`owner_of` compares that form by whole path elements.
The rule over-blocks rather than under-blocks: a refused dependency costs a convenience, a served task costs the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

FORGES = frozenset(
    {
        "bitbucket.org",
        "codeberg.org",
        "framagit.org",
        "gitea.com",
        "gitee.com",
        "gitflic.ru",
        "git.sr.ht",
        "github.com",
        "gitlab.com",
        "jihulab.com",
        "notabug.org",
        "pagure.io",
        "salsa.debian.org",
    }
)
"""Hosts whose paths read host/owner/repository, so that a fork keeps the third element."""

_VCS_SUFFIX = re.compile(r"\.(?:git|hg|svn|bzr|fossil)(?=/|$)")
_MAJOR_SUFFIX = re.compile(r"/v[0-9]+$")
_GOPKG = re.compile(r"(?:([^/.]+)/)?([^/]+?)\.v[0-9]+(?:\.[0-9]+){0,2}(?:-unstable)?((?:/.*)?)")
_GOPKG_OLD = re.compile(r"(?:([^/.]+)/)?v[0-9]+(?:\.[0-9]+){0,2}(?:-unstable)?/([^/]+)((?:/.*)?)")


class Rule(StrEnum):
    """Why something is not served; the value is the word in logs, metrics and reports."""

    OWNED = "owned"
    FORK_NAME = "fork-name"
    DECLARED = "declared"
    ORIGIN = "origin"
    CARRIES = "carries"
    DATA_TILE = "data-tile"
    NOT_AFTER = "not-after"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The rule that claims a module for the task, and the entry of the policy that it rests on."""

    rule: Rule
    entry: str


def compare_key(module: str) -> str:
    """Return the form under which all spellings of one repository's module compare equal; "" for a non-ASCII path.

    Non-ASCII is sorted out before lower-casing, because some foreign letters lower-case into ASCII ones.
    """
    if not module.isascii():
        return ""
    host, slash, path = module.lower().partition("/")
    host = host.rstrip(".")
    while host.startswith("www."):
        host = host[4:]
    key = host + slash + _without_vcs_suffix(path)
    return _github_of_gopkg(key[len("gopkg.in/") :]) if host == "gopkg.in" and path else key


def _without_vcs_suffix(path: str) -> str:
    """Drop VCS qualifiers from every element, also stacked ones."""
    while (shorter := _VCS_SUFFIX.sub("", path)) != path:
        path = shorter
    return path


def _github_of_gopkg(path: str) -> str:
    """Rewrite what follows ``gopkg.in/`` to the GitHub repository that it is served from."""
    match = _GOPKG.fullmatch(path) or _GOPKG_OLD.fullmatch(path)
    if match is None:
        return f"gopkg.in/{path}"
    user, package, rest = match[1], match[2], match[3]
    return _without_vcs_suffix(f"github.com/{user or f'go-{package}'}/{package}{rest}")


def base_of(entry: str) -> str:
    """Return the compare key of an owned entry without its major version suffix.

    The suffix stays where it stands in repository position of a forge: a repository may be called ``v2``.
    """
    key = compare_key(entry).strip("/")
    base = _MAJOR_SUFFIX.sub("", key)
    return key if base.partition("/")[0] in FORGES and base.count("/") < 2 else base


def can_be_fetched(base: str) -> bool:
    """Say whether a declared path may stand for one module: not ``test``, not a whole forge or one of its owners."""
    host, _, path = base.partition("/")
    return "." in host and (host not in FORGES or "/" in path)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoPolicy:
    """What a task may not reach: module paths, repository names, and the exceptions below them.

    ``owned`` and ``nested_elsewhere`` hold module paths as written, ``fork_names`` lower-case repository names.
    """

    owned: frozenset[str]
    fork_names: frozenset[str] = frozenset()
    nested_elsewhere: frozenset[str] = frozenset()
    bases: frozenset[str] = field(init=False, repr=False, compare=False)
    exceptions: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bases = frozenset(base for base in map(base_of, self.owned) if can_be_fetched(base))
        object.__setattr__(self, "bases", bases)
        object.__setattr__(self, "exceptions", frozenset(filter(None, map(compare_key, self.nested_elsewhere))))
        object.__setattr__(self, "fork_names", frozenset(name.lower() for name in self.fork_names))


def owner_of(policy: GoPolicy, module: str) -> Owner | None:
    """Return the rule that claims the module (or repository path) for the task, or None."""
    key = compare_key(module)
    return owner_of_key(policy, key) or _fork_of(policy, key)


def owner_of_key(policy: GoPolicy, key: str) -> Owner | None:
    """Return the owned entry that a compare key equals or lies under, unless an exception covers it."""
    base = first_prefix_in(key, policy.bases)
    if base is None or first_prefix_in(key, policy.exceptions) is not None:
        return None
    return Owner(rule=Rule.OWNED, entry=base)


def _fork_of(policy: GoPolicy, key: str) -> Owner | None:
    """Apply the fork-name rule: repository position of a known forge alone, packages named alike are served."""
    elements = key.split("/", 3)
    if len(elements) < 3 or elements[0] not in FORGES or elements[2] not in policy.fork_names:
        return None
    if first_prefix_in(key, policy.exceptions) is not None:
        return None
    return Owner(rule=Rule.FORK_NAME, entry=elements[2])


def first_prefix_in(key: str, entries: frozenset[str]) -> str | None:
    """Return the shortest prefix of the key, cut at element boundaries, that is among the entries."""
    end = key.find("/")
    while end != -1:
        if key[:end] in entries:
            return key[:end]
        end = key.find("/", end + 1)
    return key if key in entries else None


def carried_keys(names: Iterable[str], prefix: str) -> frozenset[str]:
    """Return the compare keys of every module path that the entry names of a module zip could spell.

    ``prefix`` is ``module@version/``, which every name begins with and which is not looked at.  A candidate starts at
    an element with a dot (a host) and reaches to the file's directory or to an ``@``.
    """
    directories = {name[len(prefix) :].rpartition("/")[0] for name in names}
    cached = {name[len(prefix) :] for name in names if "@" in name[len(prefix) :]}
    return frozenset(key for path in directories | cached for key in _candidates(path))


def _candidates(path: str) -> Iterator[str]:
    """Yield the compare key of each part of a path that begins at a host-like element."""
    elements = path.replace("!", "").lower().split("/")
    for start, element in enumerate(elements):
        if "." in element:
            yield compare_key("/".join(elements[start:]).partition("@")[0])


def carried_by(policy: GoPolicy, keys: Iterable[str]) -> str | None:
    """Return the first carried key that the policy owns, or None."""
    return next((key for key in keys if owner_of_key(policy, key) is not None), None)


@lru_cache(maxsize=4096)
def origin_key(url: str) -> str:
    """Return host/path of a repository URL in any of git's spellings (https, ssh, scp-like); "" where it names none."""
    rest = url.strip().partition("://")[2] if "://" in url else url.strip().replace(":", "/", 1)
    rest = re.split(r"[?#]", rest.replace("\\", "/"), maxsplit=1)[0]
    host, _, path = rest.partition("/")
    host = host.rpartition("@")[2].partition(":")[0].rstrip(".")
    elements = [element for element in _percent_decoded(path).split("/") if element not in {"", "."}]
    return "/".join([host, *elements]) if host else ""


def _percent_decoded(text: str) -> str:
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)
