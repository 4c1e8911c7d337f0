from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.gomodules import GoPolicy, Rule, base_of, carried_by, carried_keys, compare_key, origin_key, owner_of

POLICY = GoPolicy(
    owned=frozenset({"github.com/Acme/Widget", "go.acme.dev/widget/v2", "std", "github.com/acme", "example.com"}),
    fork_names=frozenset({"Widget"}),
    nested_elsewhere=frozenset({"go.acme.dev/widget/proto"}),
)


@pytest.mark.parametrize(
    ("module", "key"),
    [
        ("github.com/Acme/Widget", "github.com/acme/widget"),
        ("www.github.com/acme/widget.git", "github.com/acme/widget"),
        ("WWW.www.GitHub.com./acme/widget.git.hg/sub.svn/x", "github.com/acme/widget/sub/x"),
        ("gopkg.in/yaml.v2", "github.com/go-yaml/yaml"),
        ("gopkg.in/Acme/Widget.v0", "github.com/acme/widget"),
        ("gopkg.in/acme/widget.v3-unstable/sub", "github.com/acme/widget/sub"),
        ("gopkg.in/acme/widget.v1.2.3", "github.com/acme/widget"),
        ("gopkg.in/yaml.v1/foo.v2", "github.com/go-yaml/yaml/foo.v2"),
        ("gopkg.in/v2/yaml", "github.com/go-yaml/yaml"),
        ("gopkg.in/yaml", "gopkg.in/yaml"),
        ("gopkg.in", "gopkg.in"),
        ("github.com/acme/wi\u017fget", ""),
        ("github.com/\u212aacme/widget", ""),
    ],
)
def test_all_spellings_of_a_repository_have_one_key(module: str, key: str) -> None:
    assert compare_key(module) == key


@pytest.mark.parametrize(
    ("entry", "base"),
    [
        ("go.acme.dev/widget/v2", "go.acme.dev/widget"),
        ("github.com/acme/v2", "github.com/acme/v2"),
        ("github.com/acme/widget/v13", "github.com/acme/widget"),
        ("gopkg.in/acme/widget.v1", "github.com/acme/widget"),
        ("example.com/v2", "example.com"),
    ],
)
def test_an_owned_entry_stands_for_all_its_majors(entry: str, base: str) -> None:
    assert base_of(entry) == base


def test_what_cannot_be_fetched_or_names_a_whole_forge_owns_nothing() -> None:
    assert POLICY.bases == {"github.com/acme/widget", "go.acme.dev/widget", "example.com"}


@pytest.mark.parametrize(
    ("module", "rule"),
    [
        ("go.acme.dev/widget", Rule.OWNED),
        ("go.acme.dev/widget/v3/x", Rule.OWNED),
        ("go.acme.dev/widgets", None),
        ("go.acme.dev/widget/proto/v2", None),
        ("go.acme.dev/widget/protocol", Rule.OWNED),
        ("github.com/someone/widget", Rule.FORK_NAME),
        ("codeberg.org/someone/Widget/v2", Rule.FORK_NAME),
        ("forge.example.org/someone/widget", None),
        ("github.com/foo/bar/widget", None),
        ("github.com/acme/gadget", None),
        ("std/net", None),
    ],
)
def test_the_owner_of_a_module(module: str, rule: Rule | None) -> None:
    owner = owner_of(POLICY, module)
    assert (owner.rule if owner else None) == rule


@settings(derandomize=True, database=None)
@given(module=st.sampled_from(["github.com/acme/widget", "go.acme.dev/widget", "gopkg.in/acme/widget.v4", "gitlab.com/x/widget"]),
       below=st.from_regex(r"[a-z]{1,8}(/[a-zA-Z0-9.]{1,8}){0,3}", fullmatch=True))  # fmt: skip
def test_what_is_owned_is_owned_with_all_that_lies_beneath(module: str, below: str) -> None:
    excepted = below == "proto" or below.startswith("proto/")
    assert (owner_of(POLICY, f"{module}/{below}") is None) == (excepted and module.startswith("go."))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ACME/widget.git",
        "http://user:secret@github.com:8080/acme/widget/",
        "git@github.com:acme/widget.git",
        "ssh://git@github.com/acme/widget",
        "git://github.com./acme//./widget.git/",
        "https://www.github.com/acme/%77idget?x=y#z",
        " https://github.com/acme/widget",
    ],
)
def test_every_spelling_of_a_repository_url_is_seen_through(url: str) -> None:
    owner = owner_of(POLICY, origin_key(url))
    assert owner is not None
    assert owner.entry == "github.com/acme/widget"


@pytest.mark.parametrize("url", ["", "https://", "/srv/git/widget", "https://github.com/other/thing"])
def test_other_urls_are_nobodys(url: str) -> None:
    assert owner_of(POLICY, origin_key(url)) is None


@pytest.mark.parametrize(
    ("name", "carried"),
    [
        ("third_party/github.com/acme/widget/a.go", True),
        ("x/GitHub.com/!acme/!widget@v1.0.0/a.go", True),
        ("pkg/mod/cache/download/github.com/!acme/!widget/@v/v1.0.0.zip", True),
        ("src/gopkg.in/acme/widget.v2/a.go", True),
        ("github.com/acme/widget@v1.zip", True),
        ("github.com/acme/widget.go", False),
        ("xgithub.com/acme/widget/a.go", False),
        ("docs/widget/a.go", False),
        ("third_party/go.acme.dev/widget/proto/a.go", False),
    ],
)
def test_paths_inside_a_zip_give_a_copy_away(name: str, carried: bool) -> None:
    keys = carried_keys([f"m@v1/{name}"], "m@v1/")
    assert (carried_by(POLICY, keys) is not None) == carried
