"""What a dialect is: a name of the public tables, bound to a grammar."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Grammar(Protocol):
    """A family's engine with its options filled in: a frozen dataclass whose fields are the differences."""

    def results_of(self, text: str) -> dict[str, str]:
        """The results in the text; raises `UnreadableError` where the reference cannot read it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A grammar without options: one function of the log; its module is the family."""

    reader: Callable[[str], dict[str, str]]

    def results_of(self, text: str) -> dict[str, str]:
        """What the function finds."""
        return self.reader(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One named parser: `family` is the grammar's module, `options` the grammar itself, `alias_of` another name."""

    name: str
    family: str
    language: str
    options: Grammar
    alias_of: str | None = None


def dialect(name: str, language: str, options: Grammar) -> Dialect:
    """A dialect whose family is the module in which its grammar is defined."""
    source = options.reader if isinstance(options, Reader) else type(options)
    return Dialect(name=name, family=source.__module__.rsplit(".", 1)[-1], language=language, options=options)


def alias(name: str, of: Dialect) -> Dialect:
    """A further name of a dialect."""
    return Dialect(name=name, family=of.family, language=of.language, options=of.options, alias_of=of.name)
