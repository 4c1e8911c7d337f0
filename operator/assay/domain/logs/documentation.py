"""The table of dialects in words: what `assay parsers` prints and `docs/parsers.md` is generated from."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any

from assay.domain.logs.dialect import Dialect
from assay.domain.logs.marked import Marked, Rule

_PREFACE = """# Log dialects

Generated from the table in `assay.domain.logs` by `assay parsers --format markdown`; do not edit.

A task names its dialect; the names in its lists of expected tests were made by exactly that reading, quirks included.
Each dialect is a family of grammar and the options below: what is not listed has the family's default. A name is looked
up exactly; an unknown one is refused with the nearest names. Logs are decoded as UTF-8 with `surrogateescape`. A log
that the dialect's reference implementation cannot read, or one of more than 512 Mi characters, gives `ParseFailed`,
never results. All dialects take time linear in the log.
"""


def options_of(dialect: Dialect) -> dict[str, str]:
    """Option name -> value in words, for every option that differs from the family's default."""
    grammar: Any = dialect.options
    described = {}
    for option in fields(grammar):
        value = getattr(grammar, option.name)
        if option.default is MISSING or value != option.default:
            described[option.name] = _in_words(value)
    return described


def summary_of(dialect: Dialect) -> str:
    """The options in one line; rules as their number."""
    if dialect.alias_of:
        return f"as {dialect.alias_of}"
    shown = []
    for name, value in options_of(dialect).items():
        is_rules = isinstance(dialect.options, Marked) and name == "rules"
        shown.append(f"{len(dialect.options.rules)} rules" if is_rules else f"{name} {value}")  # type: ignore[attr-defined]
    return "; ".join(shown) or "-"


def markdown(dialects: Mapping[str, Dialect]) -> str:
    """The whole page."""
    return "\n".join((_PREFACE, *_table(dialects), "", *_details(dialects))) + "\n"


def _table(dialects: Mapping[str, Dialect]) -> Iterator[str]:
    yield "| name | family | language | options |"
    yield "| --- | --- | --- | --- |"
    for row in dialects.values():
        yield f"| `{row.name}` | {row.family} | {row.language} | {_cell(summary_of(row))} |"


def _details(dialects: Mapping[str, Dialect]) -> Iterator[str]:
    yield "## Rules of the marked lines\n"
    yield "The first rule that fits a line decides it. Patterns are Python regular expressions, matched at the line's start."
    for row in dialects.values():
        if isinstance(row.options, Marked) and row.alias_of is None:
            yield f"\n### `{row.name}`\n"
            yield from (_rule_in_words(rule) for rule in row.options.rules)


def _rule_in_words(rule: Rule) -> str:
    finder = rule.pattern
    pattern = f"`{finder.pattern}`" if isinstance(finder, re.Pattern) else _first_line(finder)
    outcome = "label of what follows" if rule.label else _in_words(rule.status) or "nothing"
    edits = "".join(f", {_in_words(edit)}" for edit in rule.edits)
    return f"- {pattern}: {outcome}, {rule.merge.__name__}{edits}"


def _in_words(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, re.Pattern):
        return str(value.pattern)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {word}" for key, word in value.items())
    if isinstance(value, tuple):
        return " ".join(_in_words(item) for item in value)
    if callable(value):
        return getattr(value, "__name__", "").strip("_").replace("_", " ").replace("<lambda>", "by the word")
    return repr(value) if isinstance(value, str) and not value.isalnum() else str(value)


def _first_line(function: Callable[..., object]) -> str:
    return (function.__doc__ or function.__name__).strip().splitlines()[0].rstrip(".")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
