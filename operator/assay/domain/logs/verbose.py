"""Family: pytest's verbose lines under Meson-like drivers, reduced to the last part of the name.

A banner of failures switches, for the rest of the log, to reading titles of exactly one width.
"""

import re
from dataclasses import dataclass

from assay.domain.logs.lines import Split, Trim, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed, put_unless_passed

_WORDS = tuple((word, re.compile(rf"(?<=\s){word}")) for word in (PASSED, FAILED, SKIPPED, ERROR))
_BANNER = "=" * 35 + " FAILURES " + "=" * 35
_RULE = "_" * 27


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbose:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """Last part of each name -> status; a pass does not replace what is known."""
        results = Observed()
        in_failures = False
        for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
            if in_failures or line.startswith(_BANNER):
                in_failures = True
                if line.startswith(_RULE + " ") and line.endswith(" " + _RULE) and line[28:-28]:
                    results[line[28:-28]] = FAILED
                continue
            for word, pattern in _WORDS:
                if word in line and (found := pattern.search(line)):
                    name = line[: found.start()].rstrip()
                    put_unless_passed(results, name.rpartition("::")[2], word)
                    break
        return results
