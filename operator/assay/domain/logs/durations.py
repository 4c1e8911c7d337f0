"""What the dialects cut off a name's end: durations in eleven spellings, and a few other tails.

Each function takes a name and gives the name without at most one such tail. They differ because the published parsers
do, and expected names were made with these differences. All are linear: a closing bracket is looked up from the right.
"""

import re

_PAREN_INT = re.compile(r"\d+\s*m?s\)")


def without_paren_int(name: str) -> str:
    """Cut ` (12 ms)`, ` (3s)`: one blank, whole number; something must remain."""
    at = name.rfind("(")
    return name[: at - 1] if at > 1 and name[at - 1].isspace() and _PAREN_INT.fullmatch(name, at + 1) else name


_PAREN_DOT = re.compile(r"[\d.]+\s*m?s\)")


def without_paren_dot(name: str) -> str:
    """Cut ` (5.25 s)`: one blank, digits and dots; then the blanks at the right."""
    at = name.rfind("(")
    if at > 0 and name[at - 1].isspace() and _PAREN_DOT.fullmatch(name, at + 1):
        name = name[: at - 1]
    return name.rstrip()


_PAREN_SEC = re.compile(r"\d+(?:\.\d+)?s\)")


def without_paren_sec(line: str) -> str:
    """Cut `(1.2s)` with the blanks before it, of which there must be one."""
    at = line.rfind("(")
    return line[:at].rstrip() if at > 0 and line[at - 1].isspace() and _PAREN_SEC.fullmatch(line, at + 1) else line


_BRACKET = re.compile(r"\d+(?:\.\d+)?\s*m?s\]", re.IGNORECASE)


def without_bracket(name: str) -> str:
    """Cut `[1.34 ms]` in any letter case with the blanks before it, then trim."""
    name = name.strip()
    at = name.rfind("[")
    return name[:at].strip() if at >= 0 and _BRACKET.fullmatch(name, at + 1) else name


_LETTERED = re.compile(r"\s*\d+(?:\.\d+)?\s*[A-Za-z]+\]")


def without_lettered_bracket(name: str) -> str:
    """Cut `[0.1s]`, `[ 2 hours]` with the blanks before it, then trim."""
    at = name.rfind("[")
    return (name[:at] if at >= 0 and _LETTERED.fullmatch(name, at + 1) else name).strip()


_BARE = re.compile(r"\s(?:\[skipped\]|\d++\s*+m?s?)$")


def without_bare(name: str) -> str:
    """Cut ` 12ms`, ` 7` or ` [skipped]`; something must remain. Any last whole number is taken for a duration."""
    if name[-1:] not in "sm]" and not name[-1:].isdecimal():
        return name
    found = _BARE.search(name, 1)
    return name[: found.start()] if found else name


_WORDED = re.compile(r"\d+\s+\w+\)")


def without_worded_paren(name: str) -> str:
    """Cut `(5 milliseconds)` with the blanks before it."""
    at = name.rfind("(")
    return name[:at].rstrip() if at >= 0 and _WORDED.fullmatch(name, at + 1) else name


_PAREN_MS = re.compile(r"\d+(?:ms)?\)")


def without_paren_ms(name: str) -> str:
    """Cut `(60ms)` or `(60)` with the blanks before it, of which there must be one."""
    at = name.rfind("(")
    return name[:at].rstrip() if at > 0 and name[at - 1].isspace() and _PAREN_MS.fullmatch(name, at + 1) else name


_PAREN_OPENS = re.compile(r"(?<!\s)\s++\((?!\)$)")


def without_last_paren(name: str) -> str:
    """Cut a last pair of parentheses with the blanks before it, whatever it holds."""
    if not name.endswith(")"):
        return name
    found = _PAREN_OPENS.search(name, name.rfind(")", 0, len(name) - 1) + 1)
    return name[: found.start()] if found else name


_JS_TAIL = re.compile(r"(?:(?<!\s)\s++|(?!\s))(?:\(\s*+)?(?<!\d)\d++(?:\.\d++)?\s*+m?s\s*+\)?\s*+$", re.IGNORECASE)


_JS_ENDS = "sS)"
_JS_TAIL_CHARS = " \t(0123456789.msMS)"


def without_js_duration(name: str) -> str:
    """Cut `(5.1ms)`, ` 5 s`, even a glued `2s`, in any letter case, from as far left as it can begin, then trim."""
    if name[-1:] not in _JS_ENDS and not name[-1:].isspace():
        return name.lstrip()
    if not name.rstrip().removesuffix(")").rstrip().endswith(("s", "S")):
        return name.strip()
    before = name.rstrip(_JS_TAIL_CHARS)
    from_start = before[-1:].isdecimal() or before[-1:].isspace()
    found = _JS_TAIL.search(name, 0 if from_start else len(before))
    return (name[: found.start()] if found else name).strip()


_PHP_WIDE = re.compile(r"(?<!\s)\s\s++\d++(?:\.\d*+)?s$")


_PHP_NARROW = re.compile(r"(?<!\s)\s++\d++(?:\.\d*+)?s$")


def without_php_columns(name: str) -> str:
    """Cut a wide column `   0.03s`, then a narrow one ` 5s`, then trim."""
    if name.endswith("s"):
        wide = _PHP_WIDE.search(name)
        name = name[: wide.start()] if wide else name
        narrow = _PHP_NARROW.search(name)
        name = name[: narrow.start()] if narrow else name
    return name.strip()
