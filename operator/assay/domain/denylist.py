"""The deny list of Go tasks: what each task owns, why, and what changed between two lists.

Pure: go.mod files, names and reviewed look-ups come in, entries and sentences go out.  Each owned path carries its
reasons, because a person reviews the list before an agent meets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.domain.gomodules import FORGES, GoPolicy, base_of, can_be_fetched, compare_key, first_prefix_in, owner_of
from assay.domain.goproxy.gomod import import_comments_of, module_paths_of_gomod, required_paths_of_gomod

_HOST = "github.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One go.mod (or Go file with an import comment) of the task's repository: where it was read, its path, its text."""

    at: str
    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a reviewed look-up says of a repository.

    ``present`` is its name now, ``forks`` are repositories under other names, ``successors`` module paths with a reason
    each, ``nested_elsewhere`` module paths beneath an owned one that live in another repository, with a reason each.
    """

    present: str = ""
    forks: tuple[str, ...] = ()
    successors: Mapping[str, str] = field(default_factory=dict)
    nested_elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenyEntry:
    """What one task may not reach. ``owned`` and ``nested_elsewhere`` map module paths to reasons; notes are for review."""

    task: str
    repo: str
    owned: Mapping[str, tuple[str, ...]]
    fork_names: tuple[str, ...]
    nested_elsewhere: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def policy(self) -> GoPolicy:
        """Return the policy that the gateway and the image checks judge by."""
        return GoPolicy(
            owned=frozenset(self.owned),
            fork_names=frozenset(self.fork_names),
            nested_elsewhere=frozenset(self.nested_elsewhere),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRefusal:
    """Why no entry can be made for a task: a Go task without one must not run with a network."""

    task: str
    why: str


def is_go(language: str) -> bool:
    """Whether a task of this language needs an entry."""
    return language.lower() in {"go", "golang"}


def policy_fields(entry: DenyEntry) -> dict[str, list[str]]:
    """Return ``spec.goPolicy`` of the task's TaskValidation, or of an episode of the task."""
    return {
        "owned": sorted(entry.owned),
        "forkNames": sorted(entry.fork_names),
        "nestedElsewhere": sorted(entry.nested_elsewhere),
    }


def episode_fields(entry: DenyEntry) -> dict[str, object]:
    """Return the fields of an AgentEpisode's spec that open the Go module gateway to the task's sandbox."""
    return {"network": "GoProxy", "goPolicy": policy_fields(entry)}


def deny_entry_of(task: str, repo: str, files: Sequence[SourceFile], lookup: Lookup) -> DenyEntry | EntryRefusal:
    """Return the task's entry from its go.mod files (at the base commit and on the default branch) and look-ups."""
    names = [name.strip("/") for name in (repo, lookup.present) if name.strip("/")]
    if not names or any(name.count("/") != 1 for name in names):
        return EntryRefusal(task=task, why=f"the repository must be named owner/name, not {repo!r}")
    gomods = [file for file in files if file.path.rpartition("/")[2] == "go.mod" and not _is_vendored(file.path)]
    reasons: dict[str, list[str]] = {}
    for name, why in zip(names, ("the repository", "its present name"), strict=False):
        reasons.setdefault(f"{_HOST}/{name}", []).append(why)
    for fork in lookup.forks:
        reasons.setdefault(f"{_HOST}/{fork}", []).append("a fork, by look-up")
    notes = _add_declared(reasons, gomods)
    if not any(file.path == "go.mod" for file in gomods):
        _add_import_comments(reasons, files)
    for module, why in lookup.successors.items():
        reasons.setdefault(module, []).append(f"successor or relative: {why}")
    if not files:
        return EntryRefusal(task=task, why="no go.mod and no Go file of the repository was read")
    entry = DenyEntry(
        task=task,
        repo=repo,
        owned={module: tuple(dict.fromkeys(why)) for module, why in sorted(reasons.items())},
        fork_names=tuple(sorted({name.rpartition("/")[2].lower() for name in names})),
        nested_elsewhere=dict(sorted(lookup.nested_elsewhere.items())),
        notes=tuple(notes),
    )
    if not entry.policy.bases:
        return EntryRefusal(task=task, why="the list is empty: nothing would be denied")
    return _with_candidates(entry, gomods)


def _is_vendored(path: str) -> bool:
    return "vendor" in path.split("/")[:-1]


def _add_declared(reasons: dict[str, list[str]], gomods: Iterable[SourceFile]) -> list[str]:
    """Add what each go.mod declares; return notes on those that declare nothing, or nothing that can be fetched."""
    notes = []
    for file in gomods:
        declared = module_paths_of_gomod(file.text)
        if not declared:
            notes.append(f"{file.path} at {file.at} has no module directive")
        for module in declared:
            reasons.setdefault(module, []).append(f"{file.path} at {file.at}")
            if not can_be_fetched(base_of(module)):
                notes.append(f"{module} ({file.path} at {file.at}) cannot be fetched and matches nothing")
    return list(dict.fromkeys(notes))


def _add_import_comments(reasons: dict[str, list[str]], files: Iterable[SourceFile]) -> None:
    """Add canonical import paths: how a repository from before go.mod names itself."""
    for file in files:
        if file.path.endswith(".go") and not _is_vendored(file.path):
            for module in import_comments_of(file.text):
                reasons.setdefault(module, []).append(f"import comment in {file.path} at {file.at}")


def _with_candidates(entry: DenyEntry, gomods: Iterable[SourceFile]) -> DenyEntry:
    """Note requirements beneath an owned vanity path: they may live elsewhere, which only a look-up can tell."""
    required = {module for file in gomods for module in required_paths_of_gomod(file.text)}
    declared = {compare_key(module) for module in entry.owned}
    notes = [
        f"{module} is required and lies beneath {base}: an exception if a look-up says that it lives elsewhere"
        for module in sorted(required)
        if compare_key(module) not in declared and (base := _vanity_base(entry.policy, module)) is not None
    ]
    return DenyEntry(
        task=entry.task,
        repo=entry.repo,
        owned=entry.owned,
        fork_names=entry.fork_names,
        nested_elsewhere=entry.nested_elsewhere,
        notes=(*entry.notes, *notes),
    )


def _vanity_base(policy: GoPolicy, module: str) -> str | None:
    owner = owner_of(policy, module)
    if owner is None or owner.entry.partition("/")[0] in FORGES or owner.entry not in policy.bases:
        return None
    return owner.entry


def explain(entry: DenyEntry, module: str) -> str:
    """Return one sentence: which rule denies the module to the task, resting on what, or why it is served."""
    policy, key = entry.policy, compare_key(module)
    exception = first_prefix_in(key, policy.exceptions)
    owner = owner_of(policy, module)
    if owner is None and exception is not None:
        return f"served: {exception} is an exception: {entry.nested_elsewhere.get(exception, 'it lives elsewhere')}"
    if owner is None:
        return f"served: {key} is neither owned nor named like the repository"
    why = sorted(
        {reason for path, reasons in entry.owned.items() if base_of(path) == owner.entry for reason in reasons}
    )
    rests = f" ({'; '.join(why)})" if why else ""
    return f"denied by {owner.rule}: {key} falls under {owner.entry}{rests}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two lists; ``looser`` says that something denied before is served now."""

    task: str
    looser: bool
    what: str


def changes_between(old: Mapping[str, DenyEntry], new: Mapping[str, DenyEntry]) -> tuple[Change, ...]:
    """Return all differences by task, the loosening ones first."""
    changes: list[Change] = []
    for task in sorted(old.keys() | new.keys()):
        if task not in new:
            changes.append(Change(task=task, looser=True, what="the task is gone from the list"))
        elif task not in old:
            changes.append(Change(task=task, looser=False, what="the task is new"))
        else:
            changes.extend(_changes_of(old[task], new[task]))
    return tuple(sorted(changes, key=lambda change: (not change.looser, change.task, change.what)))


def _changes_of(old: DenyEntry, new: DenyEntry) -> Iterable[Change]:
    for word, before, after, denies in (
        ("owned", set(old.owned), set(new.owned), True),
        ("fork name", set(old.fork_names), set(new.fork_names), True),
        ("exception", set(old.nested_elsewhere), set(new.nested_elsewhere), False),
    ):
        for gone in before - after:
            yield Change(task=old.task, looser=denies, what=f"- {word} {gone}")
        for added in after - before:
            yield Change(task=old.task, looser=not denies, what=f"+ {word} {added}")
