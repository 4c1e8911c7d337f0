"""The refusals of log parsing.

A refusal is never a verdict on the tests: it says that no results exist for this log under this dialect.
"""


class ParseFailed(Exception):  # noqa: N818 - the name that callers agreed on
    """No results: the log is one that the dialect's reference cannot read, or a stated limit is exceeded.

    `dialect` is the name that was asked for, `why` one sentence for people.
    """

    def __init__(self, dialect: str, why: str) -> None:
        super().__init__(f"{dialect}: {why}")
        self.dialect = dialect
        self.why = why


class UnknownDialectError(LookupError):
    """No dialect has this name; `nearest` holds the most similar names, best first."""

    def __init__(self, name: str, nearest: tuple[str, ...]) -> None:
        hint = f"; the nearest are {', '.join(nearest)}" if nearest else ""
        super().__init__(f"no log dialect is named {name!r}{hint}")
        self.name = name
        self.nearest = nearest


class UnreadableError(Exception):
    """A grammar met text that its reference cannot read; `parse_log` adds the dialect and raises `ParseFailed`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
