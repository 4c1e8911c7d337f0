"""Entering into results what rules find in lines: the name, its label, its status and how it joins what is known.

The writers run once a test in a log and are written out for speed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

from assay.domain.logs.statuses import MERGES, Merge, Observed, keep, put

Found = re.Match[str] | tuple[str, ...]
"""What a rule found in a line: the groups `name`, `void` and `word`, as far as it has them; or name and word."""

Write = Callable[[Found], None]
"""Enters what a rule found in a line."""


class Keys(NamedTuple):
    """Where a rule's finding holds the name, the name of a broken line (where else there is none) and the word."""

    name: int
    void: int
    word: int

    @classmethod
    def numbered(cls, pattern: re.Pattern[str], first: int) -> Self:
        """The groups' numbers where `first` groups come before the pattern's own; numbers are faster than names."""
        number = {group: first + own for group, own in pattern.groupindex.items()}
        name = number["name"]
        return cls(name, number.get("void", name), number.get("word", name))


OF_PAIR = Keys(0, 0, 1)
"""The keys of what a function found."""


class Entry(Protocol):
    """What of a rule decides how its findings are entered (see `marked.Rule`)."""

    @property
    def status(self) -> str | Mapping[str, str] | Callable[[str], str | None]:
        """The status, or how it follows from the word."""

    @property
    def edits(self) -> tuple[Callable[[str], str], ...]:
        """Changes of the name, in order."""

    @property
    def merge(self) -> Merge:
        """How an observation joins what is known."""

    @property
    def empty(self) -> bool:
        """Whether the empty name is one."""

    @property
    def label(self) -> bool:
        """Whether the name is the label of what follows."""


class Entries:
    """Results in the making, and the label that stands before names."""

    def __init__(self, *, joiner: str, label: str | None) -> None:
        self.results = Observed()
        self._joiner = joiner
        self._prefix = "" if label is None else label + joiner

    def writer(self, rule: Entry, keys: Keys) -> Write:
        """The function that enters what the rule found."""
        return self._relabeller(keys) if rule.label else self._writer(rule, keys)

    def _relabeller(self, keys: Keys) -> Write:
        name_key, joiner = keys.name, self._joiner

        def relabel(found: Any) -> None:
            self._prefix = (found[name_key] or "") + joiner

        return relabel

    def _writer(self, rule: Entry, keys: Keys) -> Write:
        name_key, void_key, word_key = keys
        results, merge, edit = self.results, rule.merge, _in_order(rule.edits)
        enter, joins, overwrites, is_plain = results.enter, merge in MERGES, merge is put, merge in (put, keep)
        fixed = rule.status if isinstance(rule.status, str) else None
        decide: Any = rule.status.get if isinstance(rule.status, Mapping) else rule.status
        is_labelled, empty = bool(self._joiner), rule.empty

        def write(found: Any) -> None:
            status = fixed
            if status is None:
                status = decide(found[word_key] or "")
                if status is None:
                    return
            name = found[name_key] or found[void_key] or ""
            if edit is not None:
                name = edit(name)
            if is_labelled:
                name = self._prefix + name
            elif not name and not empty:
                return
            if joins and enter(name, status) is status:
                return
            if is_plain:
                results.again(name, status, overwrites=overwrites)
            else:
                merge(results, name, status)

        return write


def _in_order(edits: Sequence[Callable[[str], str]]) -> Callable[[str], str] | None:
    """The edits as one; None for none."""
    if len(edits) < 2:
        return edits[0] if edits else None
    first, *others = edits
    rest: Any = _in_order(others)
    return lambda name: rest(first(name))
