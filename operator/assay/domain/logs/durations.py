"""What the dialects cut off a name's end: durations in eleven spellings, and a few other tails.

Each function takes a name and gives the name without at most one such tail. They differ because the published parsers
do, and expected names were made with these differences. All are linear: a closing bracket is looked up from the right,
and a pattern called `…_BACKWARDS` is matched from the name's end, on the reversed name.
"""

import re


def without_paren_int(name: str) -> str:
    """Cut ` (12 ms)`, ` (3s)`: one blank, whole number; something must remain."""
    if not name.endswith("s)"):
        return name
    at = name.rfind("(")
    is_cut = at > 1 and name[at - 1].isspace() and _number_before_s(name[at + 1 : -2]).isdecimal()
    return name[: at - 1] if is_cut else name


def _number_before_s(text: str) -> str:
    """What stands before the unit in the text before its `s`."""
    return text.removesuffix("m").rstrip()


def without_paren_dot(name: str) -> str:
    """Cut ` (5.25 s)`: one blank, digits and dots; then the blanks at the right."""
    if not name.endswith("s)"):
        return name.rstrip()
    at = name.rfind("(")
    number = _number_before_s(name[at + 1 : -2])
    is_cut = at > 0 and name[at - 1].isspace() and number != "" and (number.replace(".", "") or "0").isdecimal()
    return (name[: at - 1] if is_cut else name).rstrip()


_PAREN_SEC = re.compile(r"\d+(?:\.\d+)?s\)")


def without_paren_sec(line: str) -> str:
    """Cut `(1.2s)` with the blanks before it, of which there must be one."""
    at = line.rfind("(") if line.endswith("s)") else -1
    return line[:at].rstrip() if at > 0 and line[at - 1].isspace() and _PAREN_SEC.fullmatch(line, at + 1) else line


_BRACKET = re.compile(r"\d+(?:\.\d+)?\s*m?s\]", re.IGNORECASE)


def without_bracket(name: str) -> str:
    """Cut `[1.34 ms]` in any letter case with the blanks before it, then trim."""
    name = name.strip()
    at = name.rfind("[") if name.endswith("]") else -1
    return name[:at].strip() if at >= 0 and _BRACKET.fullmatch(name, at + 1) else name


_LETTERED = re.compile(r"\s*\d+(?:\.\d+)?\s*[A-Za-z]+\]")


def without_lettered_bracket(name: str) -> str:
    """Cut `[0.1s]`, `[ 2 hours]` with the blanks before it, then trim."""
    at = name.rfind("[") if name.endswith("]") else -1
    return (name[:at] if at >= 0 and _LETTERED.fullmatch(name, at + 1) else name).strip()


_BARE_BACKWARDS = re.compile(r"(?:s?+m?+\s*+\d++|\]deppiks\[)\s(?=.)", re.DOTALL)


def without_bare(name: str) -> str:
    """Cut ` 12ms`, ` 7` or ` [skipped]`; something must remain. Any last whole number is taken for a duration."""
    last = name[-1:]
    return _without_end(_BARE_BACKWARDS, name) if last in "sm]" or last.isdecimal() else name


def _without_end(backwards: re.Pattern[str], name: str) -> str:
    end = backwards.match(name[::-1])
    return name[: len(name) - end.end()] if end else name


_WORDED = re.compile(r"\d+\s+\w+\)")


def without_worded_paren(name: str) -> str:
    """Cut `(5 milliseconds)` with the blanks before it."""
    at = name.rfind("(")
    return name[:at].rstrip() if at >= 0 and _WORDED.fullmatch(name, at + 1) else name


def without_paren_ms(name: str) -> str:
    """Cut `(60ms)` or `(60)` with the blanks before it, of which there must be one."""
    at = name.rfind("(") if name.endswith(")") else -1
    is_cut = at > 0 and name[at - 1].isspace() and name[at + 1 : -1].removesuffix("ms").isdecimal()
    return name[:at].rstrip() if is_cut else name


_PAREN_OPENS = re.compile(r"(?<!\s)\s++\((?!\)$)")


def without_last_paren(name: str) -> str:
    """Cut a last pair of parentheses with the blanks before it, whatever it holds."""
    if not name.endswith(")"):
        return name
    found = _PAREN_OPENS.search(name, name.rfind(")", 0, len(name) - 1) + 1)
    return name[: found.start()] if found else name


_JS_BACKWARDS = re.compile(r"\)?+\s*+[sS][mM]?+\s*+\d++(?:\.\d++)?+\s*+\(?+\s*+")


def without_js_duration(name: str) -> str:
    """Cut `(5.1ms)`, ` 5 s`, even a glued `2s`, in any letter case, from as far left as it can begin, then trim."""
    body = name.strip()
    return _without_end(_JS_BACKWARDS, body) if body[-1:] in "sS)" else body


_PHP_SECONDS = r"s\d++(?:\.\d++)?+"
_PHP_BACKWARDS = re.compile(rf"(?:{_PHP_SECONDS}\s\s++)?+(?:{_PHP_SECONDS}\s++)?+")


def without_php_columns(name: str) -> str:
    """Cut a wide column `   0.03s`, then a narrow one ` 5s`, then trim."""
    return (_without_end(_PHP_BACKWARDS, name) if name[-1:] == "s" else name).strip()
