from __future__ import annotations

import pytest

from assay.domain.denylist import DenyEntry, EntryRefusal, Lookup, SourceFile, changes_between, deny_entry_of, explain
from assay.domain.gomodules import owner_of

BASE = SourceFile(at="base", path="go.mod", text="module go.acme.dev/widget\nrequire go.acme.dev/widget/proto v0.1.0\n")
NEXT = SourceFile(at="default branch", path="go.mod", text="module go.acme.dev/widget/v2\n")
TOOLS = SourceFile(at="base", path="tools/go.mod", text="module github.com/Acme/Widget/tools\n")
LOOKUP = Lookup(
    present="acme-labs/widget-go",
    forks=("elsewhere/renamed",),
    successors={"github.com/newco/gadget": "took over in 2023"},
    nested_elsewhere={"go.acme.dev/widget/proto": "its origin is github.com/acme/proto"},
)


def _entry(*files: SourceFile, lookup: Lookup = LOOKUP, repo: str = "Acme/Widget") -> DenyEntry:
    entry = deny_entry_of("t1", repo, files, lookup)
    assert isinstance(entry, DenyEntry)
    return entry


def test_an_entry_holds_declared_paths_names_forks_and_successors_with_their_reasons() -> None:
    entry = _entry(BASE, NEXT, TOOLS)
    assert entry.owned == {
        "github.com/Acme/Widget": ("the repository",),
        "github.com/Acme/Widget/tools": ("tools/go.mod at base",),
        "github.com/acme-labs/widget-go": ("its present name",),
        "github.com/elsewhere/renamed": ("a fork, by look-up",),
        "github.com/newco/gadget": ("successor or relative: took over in 2023",),
        "go.acme.dev/widget": ("go.mod at base",),
        "go.acme.dev/widget/v2": ("go.mod at default branch",),
    }
    assert entry.fork_names == ("widget", "widget-go")
    assert owner_of(entry.policy, "go.acme.dev/widget/v9/x") is not None
    assert owner_of(entry.policy, "go.acme.dev/widget/proto") is None


def test_vendored_files_are_not_the_tasks_and_odd_ones_are_noted() -> None:
    vendored = SourceFile(at="base", path="vendor/x.dev/y/go.mod", text="module x.dev/y\n")
    empty = SourceFile(at="base", path="testdata/go.mod", text="go 1.20\n")
    local = SourceFile(at="base", path="examples/go.mod", text="module example\n")
    entry = _entry(BASE, vendored, empty, local)
    assert "x.dev/y" not in entry.owned
    assert "example" in entry.owned
    assert entry.notes == (
        "testdata/go.mod at base has no module directive",
        "example (examples/go.mod at base) cannot be fetched and matches nothing",
    )


def test_a_repository_from_before_go_mod_is_known_by_its_import_comments() -> None:
    source = SourceFile(at="base", path="zap.go", text='package zap // import "go.uber.org/zap"\n')
    assert "go.uber.org/zap" in _entry(source, lookup=Lookup(), repo="uber-go/zap").owned
    assert "go.uber.org/zap" not in _entry(source, BASE, lookup=Lookup()).owned


def test_a_requirement_beneath_a_vanity_path_is_noted_until_a_look_up_decides() -> None:
    [note] = _entry(BASE, lookup=Lookup()).notes
    assert note.startswith("go.acme.dev/widget/proto is required and lies beneath go.acme.dev/widget")
    assert _entry(BASE).notes == ()


@pytest.mark.parametrize(
    ("repo", "files"), [("", (BASE,)), ("widget", (BASE,)), ("a/b/c", (BASE,)), ("Acme/Widget", ())]
)
def test_a_task_of_which_nothing_is_known_has_no_entry(repo: str, files: tuple[SourceFile, ...]) -> None:
    assert isinstance(deny_entry_of("t1", repo, files, Lookup()), EntryRefusal)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (
            "gopkg.in/acme/widget.v1",
            "denied by owned: github.com/acme/widget falls under github.com/acme/widget (the repository)",
        ),
        ("gitlab.com/x/widget", "denied by fork-name: gitlab.com/x/widget falls under widget"),
        (
            "go.acme.dev/widget/proto",
            "served: go.acme.dev/widget/proto is an exception: its origin is github.com/acme/proto",
        ),
        ("golang.org/x/text", "served: golang.org/x/text is neither owned nor named like the repository"),
    ],
)
def test_explain_says_which_rule_decides_and_why(module: str, sentence: str) -> None:
    assert explain(_entry(BASE), module) == sentence


def test_changes_name_what_is_looser_first() -> None:
    old, new = _entry(BASE, TOOLS), _entry(BASE, NEXT)
    changes = changes_between({"t1": old, "t2": old}, {"t1": new, "t3": new})
    assert [(change.looser, change.task, change.what) for change in changes] == [
        (True, "t1", "- owned github.com/Acme/Widget/tools"),
        (True, "t2", "the task is gone from the list"),
        (False, "t1", "+ owned go.acme.dev/widget/v2"),
        (False, "t3", "the task is new"),
    ]


def test_a_new_exception_is_looser_and_equal_lists_have_no_changes() -> None:
    old, new = _entry(BASE, lookup=Lookup()), _entry(BASE, lookup=Lookup(nested_elsewhere=LOOKUP.nested_elsewhere))
    assert [change.looser for change in changes_between({"t": old}, {"t": new})] == [True]
    assert changes_between({"t": old}, {"t": old}) == ()
