"""How rows of marked lines are written down."""

from collections.abc import Callable

from assay.domain.logs.dialect import Dialect, dialect
from assay.domain.logs.lines import Split, Trim
from assay.domain.logs.marked import Marked, Rule


def marked(  # noqa: PLR0913 - the options of the grammar, each named where it is used
    name: str,
    language: str,
    *rules: Rule,
    split: Split = Split.LF,
    trim: Trim = Trim.BOTH,
    clean: Callable[[str], str] | None = None,
    clues: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    joiner: str = "",
    no_label: str | None = None,
    after: tuple[Callable[[str, dict[str, str]], None], ...] = (),
) -> Dialect:
    """A dialect of marked lines: its rules in order, then the options that differ from the family's default."""
    grammar = Marked(
        rules=rules,
        split=split,
        trim=trim,
        clean=clean,
        clues=clues,
        ignore=ignore,
        joiner=joiner,
        no_label=no_label,
        after=after,
    )
    return dialect(name, language, grammar)
