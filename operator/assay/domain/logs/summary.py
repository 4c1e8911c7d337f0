"""Family: pytest's short summary, in which a status word leads the line and the name is a single token.

The words are matched as a prefix and the status is copied from the log (`ERRORS found` gives `found: ERRORS`); the name
ends at the first blank, so parameters that contain one are cut. Both are what the public expectations were made with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from assay.domain.logs.cleaning import lite
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, lists_of_lines
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

WORDS = (PASSED, FAILED, ERROR, SKIPPED)


class Verbose(StrEnum):
    """Which verbose lines (`name STATUS`) are read besides the summary."""

    NONE = "none"
    ENDING = "ending in a status word"
    PASSED_SECOND = "with PASSED as second token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Options of the family.

    `edit` changes a summary line's name, `replace` is applied to the whole text, `lite_clean` strips simple colours.
    """

    words: tuple[str, ...] = WORDS
    verbose: Verbose = Verbose.NONE
    lite_clean: bool = False
    replace: tuple[tuple[str, str], ...] = ()
    edit: Callable[[str], str] | None = None
    join_dashes: bool = True

    def results_of(self, text: str) -> dict[str, str]:
        """Names and statuses; raises `UnreadableError` on a lone status word where the reference does."""
        results = Observed()
        read = {
            Verbose.NONE: self._read_summary,
            Verbose.ENDING: self._read_both,
            Verbose.PASSED_SECOND: self._read_passed_second,
        }[self.verbose]
        for lines in lists_of_lines(text, Split.LF, self._clean):
            read(lines, results)
        return results

    def _clean(self, block: str) -> str:
        for old, new in self.replace:
            block = block.replace(old, new)
        return lite(block) if self.lite_clean else block

    def _read_summary(self, lines: list[str], results: dict[str, str]) -> None:
        words, edit = self.words, self.edit
        for line in lines:
            if line.startswith(words):
                tokens = self._tokens(line)
                if len(tokens) > 1:
                    results[edit(tokens[1]) if edit else tokens[1]] = tokens[0]

    def _read_both(self, lines: list[str], results: dict[str, str]) -> None:
        words = self.words
        for line in lines:
            if line.startswith(words):
                status, name = _two(self._tokens(line))
                results[name] = status
            elif line.endswith(words):
                name, status = _two(line.split(None, 2))
                results[name] = status

    def _read_passed_second(self, lines: list[str], results: dict[str, str]) -> None:
        for line in lines:
            if line.startswith(FAILED):
                results[_two(line.split(None, 2))[1]] = FAILED
            elif " PASSED " in line:
                name, word = _two(line.split(None, 2))
                if word == PASSED:
                    results[name] = PASSED
            elif line.startswith(PASSED):
                results[_two(line.split(None, 2))[1]] = PASSED

    def _tokens(self, line: str) -> list[str]:
        if self.join_dashes and line.startswith(FAILED):
            line = line.replace(" - ", " ")
        return line.split(None, 2)


def _two(tokens: list[str]) -> tuple[str, str]:
    if len(tokens) < 2:
        raise UnreadableError(f"a status line has no second word: {tokens[0][:80]!r}")
    return tokens[0], tokens[1]


def with_short_option_path(name: str) -> str:
    """The name with the path in its brackets cut to its last part, and without what follows the last bracket."""
    opening, closing = name.find("["), name.rfind("]")
    if not 0 <= opening < closing:
        return name
    option = name[opening + 1 : closing]
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rsplit("/", 1)[-1]
    return f"{name[:opening]}[{option}]"
