"""Selection expressions: CEL, the language of Kubernetes' own validation rules, over what a row says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

COLUMN = re.compile(r"\brow\.([A-Za-z_][A-Za-z0-9_]*)|\brow\[[\"']([^\"']+)[\"']\]")


class ExpressionError(Exception):
    """The expression is no CEL, or asks for what rows do not have, or does not say yes or no."""


class Expression:
    """All of several CEL expressions."""

    def __init__(self, parts: Sequence[str]) -> None:
        self.text = " && ".join(f"({part})" for part in parts)
        self._program = None
        if not parts:
            return
        import cel  # noqa: PLC0415 - twelve megabytes that only an expression needs

        try:
            self._program = cel.compile(self.text)
        except ValueError as error:
            raise ExpressionError(str(error)) from error

    @property
    def columns(self) -> frozenset[str]:
        """The row's own columns that the expression asks for."""
        return frozenset(name or quoted for name, quoted in COLUMN.findall(self.text))

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Whether a row is chosen.  ``ExpressionError`` when that cannot be said."""
        if self._program is None:
            return True
        try:
            answer = self._program.execute(dict(variables))
        except (RuntimeError, TypeError, ValueError, KeyError) as error:
            raise ExpressionError(str(error).partition(".")[0]) from error
        if not isinstance(answer, bool):
            raise ExpressionError(f"says {answer!r}, not true or false")
        return answer
