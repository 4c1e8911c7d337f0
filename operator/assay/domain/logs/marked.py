"""Family: lines that carry a mark (a word, a glyph, a number) before or after the name.

A dialect is an ordered list of rules; the first whose pattern fits a line decides it, even if it then writes nothing.
Every pattern is matched from the start of the cleaned and trimmed line and must be linear: no two open-ended repeats
may compete for the same characters (hence possessive repeats, and names that end where a run of blanks begins).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.domain.logs.lines import Split, Trim, lists_of_lines, trimmed
from assay.domain.logs.statuses import Merge, Observed, put

Edit = Callable[[str], str]
Found = re.Match[str] | Mapping[str, str | None]
"""What a rule found in a line: the groups `name`, `void` and `word`, as far as it has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One shape of line.

    `pattern` (or a function of the line) has a group `name` (and perhaps `void`: the name of a broken line that holds
    none). `status` is the status itself, or a map from the group `word` to it (a word that is not in the map writes
    nothing), or a function of the match. `clean` is applied to the line for this rule alone. `label` makes the line a
    heading: its name is the label of what follows and nothing is written. `heads` (a character class, without brackets)
    and `clue` say how a fitting line begins and what it contains; they only save time.
    """

    pattern: re.Pattern[str] | Callable[[str], Found | None]
    status: str | Mapping[str, str] | Callable[[Found], str | None] = ""
    edits: tuple[Edit, ...] = ()
    merge: Merge = put
    heads: str = ""
    clue: str = ""
    clean: Edit | None = None
    empty: bool = True
    label: bool = False


def rule(  # noqa: PLR0913 - the fields of a rule
    pattern: str | Callable[[str], Found | None],
    status: str | Mapping[str, str] | Callable[[Found], str | None] = "",
    *edits: Edit,
    merge: Merge = put,
    heads: str = "",
    clue: str = "",
    flags: re.RegexFlag = re.NOFLAG,
    clean: Edit | None = None,
    empty: bool = True,
    label: bool = False,
) -> Rule:
    """A rule from a pattern's source."""
    finder = re.compile(pattern, flags) if isinstance(pattern, str) else pattern
    return Rule(
        pattern=finder,
        status=status,
        edits=edits,
        merge=merge,
        heads=heads,
        clue=clue,
        clean=clean,
        empty=empty,
        label=label,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """Options of the family.

    `clues` are texts of which every line of interest contains one: they only save time. `ignore` lists texts that
    disqualify a line, `ignore_heads` those that do so at the trimmed line's start. `joiner` and `no_label` say how a label is joined.
    """

    rules: tuple[Rule, ...]
    split: Split = Split.LF
    trim: Trim = Trim.BOTH
    clean: Callable[[str], str] | None = None
    clues: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_heads: tuple[str, ...] = ()
    joiner: str = ""
    no_label: str | None = None
    after: tuple[Callable[[str, dict[str, str]], None], ...] = ()

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses of the marked lines."""
        reader = _Reader(self)
        for lines in lists_of_lines(text, self.split, self.clean):
            reader.read(self._candidates(lines))
        for grammar in self.after:
            grammar(text, reader.results)
        return reader.results

    def _candidates(self, lines: list[str]) -> list[str]:
        if len(self.clues) == 1:
            clue = self.clues[0]
            lines = [line for line in lines if clue in line]
        elif len(self.clues) == 2:
            first, second = self.clues
            lines = [line for line in lines if first in line or second in line]
        lines = trimmed(lines, self.trim)
        if self.ignore_heads:
            lines = [line for line in lines if not line.startswith(self.ignore_heads)]
        for text in self.ignore:
            lines = [line for line in lines if text not in line]
        return lines


Step = tuple[Callable[[str], Found | None], Callable[[Found], None], str]
"""Finder and writer of one rule, and its clue."""


class _StepsByHead(dict[str, list[Step]]):
    """First character of a line -> the steps of the rules that can fit it, in order; filled as characters turn up."""

    def __init__(self, rules: tuple[Rule, ...], steps: list[Step]) -> None:
        super().__init__()
        self._steps = [
            (re.compile(f"[{item.heads}]") if item.heads else None, step)
            for item, step in zip(rules, steps, strict=True)
        ]

    def __missing__(self, head: str) -> list[Step]:
        steps = [step for heads, step in self._steps if heads is None or heads.match(head)]
        self[head] = steps
        return steps


class _Reader:
    """The state of one reading: the results so far and what the current label puts before names."""

    def __init__(self, grammar: Marked) -> None:
        self.results = Observed()
        self._joiner = grammar.joiner
        self._prefix = "" if grammar.no_label is None else grammar.no_label + grammar.joiner
        steps = [(_finder(item), self._writer(item), item.clue) for item in grammar.rules]
        self._steps = _StepsByHead(grammar.rules, steps)

    def read(self, lines: list[str]) -> None:
        steps_by_head = self._steps
        for line in lines:
            for find, write, clue in steps_by_head[line[:1]]:
                if clue in line:
                    found = find(line)
                    if found is not None:
                        write(found)
                        break

    def _writer(self, item: Rule) -> Callable[[Found], None]:
        if item.label:
            return self._relabel
        if self._joiner:
            return self._labelled_writer(item)
        return _plain_writer(item, self.results)

    def _relabel(self, found: Found) -> None:
        self._prefix = _name(found) + self._joiner

    def _labelled_writer(self, item: Rule) -> Callable[[Found], None]:
        edits, merge, results = item.edits, item.merge, self.results

        def write(found: Found) -> None:
            status = _status(item, found)
            if status is not None:
                name = _name(found)
                for edit in edits:
                    name = edit(name)
                merge(results, self._prefix + name, status)

        return write


def _plain_writer(item: Rule, results: dict[str, str]) -> Callable[[Found], None]:
    """Enter a name without label; written out for speed, since it runs for every test in a log."""
    edits, empty, merge = item.edits, item.empty, item.merge
    overwrites, fixed = merge is put, item.status if isinstance(item.status, str) else None
    words = item.status.get if isinstance(item.status, Mapping) else None
    decide = item.status if callable(item.status) else None
    finder = item.pattern
    name_group: str | int = finder.groupindex["name"] if isinstance(finder, re.Pattern) else "name"
    word_group: str | int = finder.groupindex.get("word", 0) if isinstance(finder, re.Pattern) else "word"

    def write(found: Any) -> None:
        name = found[name_group]
        if name is None:
            name = found["void"] or ""
        status = (
            fixed if fixed is not None else words(found[word_group]) if words else decide(found) if decide else None
        )
        if status is None:
            return
        for edit in edits:
            name = edit(name)
        if overwrites and (name or empty):
            results[name] = status
        elif name or empty:
            merge(results, name, status)

    return write


def _finder(item: Rule) -> Callable[[str], Found | None]:
    find = item.pattern.match if isinstance(item.pattern, re.Pattern) else item.pattern
    clean = item.clean
    return (lambda line: find(clean(line))) if clean else find


def _name(found: Found) -> str:
    name = found["name"]
    return name if name is not None else found["void"] or ""


def _status(item: Rule, found: Found) -> str | None:
    if isinstance(item.status, str):
        return item.status
    return item.status(found) if callable(item.status) else item.status.get(found["word"] or "")
