"""Report collectors behind ``&&``: ``run-suite && cat report.xml`` prints its report only when every test passes.

The command itself runs unchanged.  When it fails, what ``collector_of`` returns runs after it, in the same place: the
``cat`` stages that the failure kept from running, and the ``cd`` and ``export`` stages before them.  Anything but a plain
list of simple commands is left alone, since no guess about a shell's grammar is worth a wrong result.
"""

from __future__ import annotations

import shlex

SEPARATORS = frozenset({"&&", "||", ";"})
REFUSED = frozenset(
    {"(", ")", "{", "}", "&", "<<", "<<<", ";;", "!", "if", "for", "while", "until", "case", "function", "select"}
)
SETTING = frozenset({"cd", "export"})


def collector_of(command: str) -> str:
    """Return the script that collects a failed command's reports; empty when it has none."""
    stages = _stages(command)
    if not any(_collects(separator, words) for separator, words in stages[1:]):
        return ""
    kept = []
    for number, (separator, words) in enumerate(stages):
        if words[0] in SETTING and _is_plain(words):
            kept.append(f"{' '.join(words)} || exit")
        elif number and _collects(separator, words):
            kept.append(" ".join(words))
    return "\n".join(kept) + "\n"


def _collects(separator: str, words: list[str]) -> bool:
    return separator == "&&" and words[0] == "cat" and len(words) > 1 and _is_plain(words)


def _is_plain(words: list[str]) -> bool:
    return not any(set(word) <= set("<>|&") for word in words)


def _stages(command: str) -> list[tuple[str, list[str]]]:
    """Return the stages of a plain list, each with the operator before it, words spelt as they are; none for another."""
    if any(mark in command for mark in ("`", "$(", "\\", "#", "<<", "\n")):
        return []
    reader = shlex.shlex(command, posix=False, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = list(reader)
    except ValueError:
        return []
    if REFUSED & set(words):
        return []
    stages: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word in SEPARATORS:
            stages.append((word, []))
        else:
            stages[-1][1].append(word)
    return stages if all(stage for _, stage in stages) else []
