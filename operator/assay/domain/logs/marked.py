"""Family: lines that carry a mark (a word, a glyph, a number) before or after the name.

A dialect is an ordered list of rules; the first whose pattern fits a line decides it, even if it then writes nothing.
Every pattern is matched from the start of the cleaned and trimmed line and must be linear: no two open-ended repeats
may compete for the same characters (hence possessive repeats, and names that end where a run of blanks begins). Where
all rules are patterns they are looked for together in whole blocks of lines (see `alternatives`), else line by line.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from assay.domain.logs.alternatives import Alternatives
from assay.domain.logs.entries import OF_PAIR, Entries, Found, Keys, Write
from assay.domain.logs.lines import Split, Trim, lists_of_lines, searchable, trimmed
from assay.domain.logs.statuses import Merge, put

Edit = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One shape of line.

    `pattern` (or a function of the line) has a group `name` (and perhaps `void`: the name of a broken line that holds
    none). `status` is the status itself, or a map from the group `word` to it (a word that is not in the map writes
    nothing), or a function of that group. `clean` is applied to the line for this rule alone. `label` makes the line a
    heading: its name is the label of what follows and nothing is written. `heads` (a character class, without brackets)
    and `clue` say how a fitting line begins and what it contains; they only save time, where rules are tried line by line.
    """

    pattern: re.Pattern[str] | Callable[[str], Found | None]
    status: str | Mapping[str, str] | Callable[[str], str | None] = ""
    edits: tuple[Edit, ...] = ()
    merge: Merge = put
    heads: str = ""
    clue: str = ""
    clean: Edit | None = None
    empty: bool = True
    label: bool = False


def rule(  # noqa: PLR0913 - the fields of a rule
    pattern: str | Callable[[str], Found | None],
    status: str | Mapping[str, str] | Callable[[str], str | None] = "",
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
    disqualify a line. `joiner` and `no_label` say how a label is joined.
    """

    rules: tuple[Rule, ...]
    split: Split = Split.LF
    trim: Trim = Trim.BOTH
    clean: Callable[[str], str] | None = None
    clues: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    joiner: str = ""
    no_label: str | None = None
    after: tuple[Callable[[str, dict[str, str]], None], ...] = ()

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses of the marked lines."""
        entries = Entries(joiner=self.joiner, label=self.no_label)
        blocks = map(self._candidates, lists_of_lines(text, self.split, self.clean))
        if len(self.rules) == 1:
            _read_alone(self.rules[0], blocks, entries)
        elif all(map(_is_searched, self.rules)):
            _read_together(self.rules, blocks, entries)
        else:
            _read_one_by_one(self.rules, blocks, entries)
        for grammar in self.after:
            grammar(text, entries.results)
        return entries.results

    def _candidates(self, lines: list[str]) -> list[str]:
        if len(self.clues) == 1:
            clue = self.clues[0]
            lines = [line for line in lines if clue in line]
        elif len(self.clues) == 2:
            first, second = self.clues
            lines = [line for line in lines if first in line or second in line]
        lines = trimmed(lines, self.trim)
        for text in self.ignore:
            lines = [line for line in lines if text not in line]
        return lines


def _is_searched(item: Rule) -> bool:
    return isinstance(item.pattern, re.Pattern) and not item.clue and item.clean is None


def _read_alone(item: Rule, blocks: Iterable[list[str]], entries: Entries) -> None:
    """What the other ways of reading do, without asking which of the rules it was."""
    if _is_searched(item):
        patterns = _patterns((item,))
        write = entries.writer(item, Keys.numbered(patterns[0], -1))
        rows_in = _alternatives(patterns).rows_in
        for lines in blocks:
            for row in rows_in(searchable(lines)):
                write(row)
        return
    find, write, clue = _step(item, entries)
    for lines in blocks:
        for line in lines:
            found = find(line) if clue in line else None
            if found is not None:
                write(found)


def _read_together(rules: tuple[Rule, ...], blocks: Iterable[list[str]], entries: Entries) -> None:
    patterns = _patterns(rules)
    search = _alternatives(patterns)
    writers: dict[int | None, Write] = {
        end: entries.writer(item, Keys.numbered(pattern, first))
        for item, pattern, first, end in zip(rules, patterns, search.starts, search.ends, strict=True)
    }
    for lines in blocks:
        for found in search.found_in(searchable(lines)):
            writers[found.lastindex](found)


def _patterns(rules: tuple[Rule, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(item.pattern for item in rules if isinstance(item.pattern, re.Pattern))


@cache
def _alternatives(patterns: tuple[re.Pattern[str], ...]) -> Alternatives:
    return Alternatives(patterns)


Step = tuple[Callable[[str], Found | None], Write, str]
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


def _read_one_by_one(rules: tuple[Rule, ...], blocks: Iterable[list[str]], entries: Entries) -> None:
    steps_by_head = _StepsByHead(rules, [_step(item, entries) for item in rules])
    for lines in blocks:
        for line in lines:
            for find, write, clue in steps_by_head[line[:1]]:
                if clue in line:
                    found = find(line)
                    if found is not None:
                        write(found)
                        break


def _step(item: Rule, entries: Entries) -> Step:
    return _finder(item), entries.writer(item, _keys(item)), item.clue


def _finder(item: Rule) -> Callable[[str], Found | None]:
    find = item.pattern.match if isinstance(item.pattern, re.Pattern) else item.pattern
    clean = item.clean
    return (lambda line: find(clean(line))) if clean else find


def _keys(item: Rule) -> Keys:
    return Keys.numbered(item.pattern, 0) if isinstance(item.pattern, re.Pattern) else OF_PAIR
