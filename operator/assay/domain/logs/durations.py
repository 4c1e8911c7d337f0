"""What the dialects cut off a name's end: durations in eleven spellings, and a few other tails.

Each function takes a name and gives the name without at most one such tail. They differ because the published parsers
do, and expected names were made with these differences. All are linear: a closing bracket is looked up from the right.
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


def without_bare(name: str) -> str:
    """Cut ` 12ms`, ` 7` or ` [skipped]`; something must remain. Any last whole number is taken for a duration."""
    if name[-1:] not in "sm]" and not name[-1:].isdecimal():
        return name
    number = name.removesuffix("s").removesuffix("m").rstrip()
    head = name.removesuffix("[skipped]") if name[-1:] == "]" else _before_digits(number)
    is_cut = len(head) > 1 and head[-1].isspace() and head not in (name, number)
    return head[:-1] if is_cut else name


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


_JS_ENDS = "sS)"


def without_js_duration(name: str) -> str:
    """Cut `(5.1ms)`, ` 5 s`, even a glued `2s`, in any letter case, from as far left as it can begin, then trim."""
    body = name.strip()
    if body[-1:] not in _JS_ENDS:
        return body
    unit = body.removesuffix(")").rstrip()
    if not unit.endswith(("s", "S")):
        return body
    number = unit[: -2 if unit.endswith(("m", "M"), 0, -1) else -1].rstrip()
    if not number[-1:].isdecimal():
        return body
    return _before_number(number).rstrip().removesuffix("(").rstrip()


def _before_number(text: str) -> str:
    """The text without the digits at its end and, if more stand before a dot, those."""
    head = _before_digits(text)
    if not head.endswith("."):
        return head
    whole = _before_digits(head[:-1])
    return whole if len(whole) < len(head) - 1 else head


def without_php_columns(name: str) -> str:
    """Cut a wide column `   0.03s`, then a narrow one ` 5s`, then trim."""
    return _without_php_column(_without_php_column(name, 2), 1).strip() if name[-1:] == "s" else name.strip()


def _without_php_column(name: str, least_blanks: int) -> str:
    """Cut seconds, perhaps without digits behind the dot, and the blanks before them."""
    number = name.removesuffix("s")
    end = number.removesuffix(".")
    if len(number) == len(name) or not end[-1:].isdecimal():
        return name
    head = _before_number(end) if len(end) == len(number) else _before_digits(end)
    shorter = head.rstrip()
    return shorter if len(head) - len(shorter) >= least_blanks else name


_ASCII_DIGITS = "0123456789"


def _before_digits(text: str) -> str:
    """The text without the digits at its end, of whatever script."""
    head = text.rstrip(_ASCII_DIGITS)
    if not head[-1:].isdecimal():
        return head
    end = len(head) - 1
    while end and head[end - 1].isdecimal():
        end -= 1
    return head[:end]
