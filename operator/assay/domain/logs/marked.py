"""Family: lines that carry a mark (a word, a glyph, a number) before or after the name.

A dialect is an ordered list of rules; the first whose pattern fits a line decides it, even if it then writes nothing.
Every pattern is matched from the start of the cleaned and trimmed line and must be linear: no two open-ended repeats
may compete for the same characters (hence possessive repeats, and names that end where a run of blanks begins).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.domain.logs.lines import Split, Trim, lists_of_lines, trimmed
from assay.domain.logs.statuses import Merge, put

Edit = Callable[[str], str]
Found = re.Match[str] | Mapping[str, str | None]
"""What a rule found in a line: the groups `name`, `void` and `word`, as far as it has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One shape of line.

    `pattern` (or a function of the line) has a group `name` (and perhaps `void`: the name of a broken line that holds none). `status` is the status
    itself, or a map from the group `word` to it (a word that is not in the map writes nothing), or a function of the
    match. `clean` is applied to the line for this rule alone. `label` makes the line a heading: its name is the label
    of what follows and nothing is written.
    """

    pattern: re.Pattern[str] | Callable[[str], Found | None]
    status: str | Mapping[str, str] | Callable[[Found], str | None] = ""
    clean: Edit | None = None
    merge: Merge = put
    edits: tuple[Edit, ...] = ()
    empty: bool = True
    label: bool = False


def rule(  # noqa: PLR0913 - the fields of a rule
    pattern: str | Callable[[str], Found | None],
    status: str | Mapping[str, str] | Callable[[Found], str | None] = "",
    *edits: Edit,
    merge: Merge = put,
    flags: re.RegexFlag = re.NOFLAG,
    clean: Edit | None = None,
    empty: bool = True,
    label: bool = False,
) -> Rule:
    """A rule from a pattern's source."""
    finder = re.compile(pattern, flags) if isinstance(pattern, str) else pattern
    return Rule(pattern=finder, status=status, edits=edits, merge=merge, clean=clean, empty=empty, label=label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """Options of the family; `heads` are the characters that a line of interest can start with (empty: any).

    `clues` are texts of which every line of interest contains one: they only save time. `ignore` lists texts that
    disqualify a line, `ignore_heads` those that do so at its start. `joiner` and `no_label` say how a label is joined.
    """

    rules: tuple[Rule, ...]
    split: Split = Split.LF
    trim: Trim = Trim.BOTH
    clean: Callable[[str], str] | None = None
    heads: str = ""
    clues: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_heads: tuple[str, ...] = ()
    joiner: str = ""
    no_label: str | None = None
    after: tuple[Callable[[str, dict[str, str]], None], ...] = field(default=())

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses of the marked lines."""
        reader = _Reader(self)
        for lines in lists_of_lines(text, self.split, self.clean):
            reader.read(self._candidates(lines))
        for grammar in self.after:
            grammar(text, reader.results)
        return reader.results

    def _candidates(self, lines: list[str]) -> list[str]:
        if self.clues:
            clues = self.clues
            if len(clues) == 1:
                clue = clues[0]
                lines = [line for line in lines if clue in line]
            else:
                lines = [line for line in lines if any(clue in line for clue in clues)]
        lines = trimmed(lines, self.trim)
        if self.heads:
            heads = frozenset(self.heads)
            lines = [line for line in lines if line[:1] in heads]
        if self.ignore_heads:
            lines = [line for line in lines if not line.lstrip().startswith(self.ignore_heads)]
        for text in self.ignore:
            lines = [line for line in lines if text not in line]
        return lines


class _Reader:
    """The state of one reading: the results so far and the current label."""

    def __init__(self, grammar: Marked) -> None:
        self.results: dict[str, str] = {}
        self._rules = [(_finder(item), item) for item in grammar.rules]
        self._joiner = grammar.joiner
        self._label = grammar.no_label

    def read(self, lines: list[str]) -> None:
        rules, results, write = self._rules, self.results, self._write
        for line in lines:
            for match, candidate in rules:
                found = match(candidate.clean(line) if candidate.clean else line)
                if found is not None:
                    write(results, candidate, found)
                    break

    def _write(self, results: dict[str, str], rule: Rule, found: Found) -> None:
        name = found["name"]
        if name is None:
            name = found["void"] or ""
        if rule.label:
            self._label = name
            return
        status = _status(rule, found)
        if status is None:
            return
        for edit in rule.edits:
            name = edit(name)
        if not name and not rule.empty:
            return
        if self._joiner and self._label is not None:
            name = f"{self._label}{self._joiner}{name}"
        rule.merge(results, name, status)


def _finder(rule: Rule) -> Callable[[str], Found | None]:
    return rule.pattern.match if isinstance(rule.pattern, re.Pattern) else rule.pattern


def _status(rule: Rule, found: Found) -> str | None:
    if isinstance(rule.status, str):
        return rule.status
    return rule.status(found) if callable(rule.status) else rule.status.get(found["word"] or "")
