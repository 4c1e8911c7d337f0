r"""Test cases of XML documents of the usual, plain kind, read by patterns several times as fast as by expat.

Plain are ASCII names without namespaces, each attribute once and in double quotes, known entities, CDATA sections, and
test cases that are at most two elements deep; where suites matter, these are children of the root. Of such a
document this says what expat would say; the rest is left to expat.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Protocol
from xml.sax.saxutils import unescape

from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED

STATUS_OF = {"failure": FAILED, "error": ERROR, "skipped": SKIPPED}
"""What an element in a test case says of it."""

Naming = Callable[[str | None, str | None], str]
"""Makes a test's name of what a test case gives as its `name` and `classname`, if anything."""


class CaseRules(Protocol):
    """What of a dialect decides about test cases (see `xml_reports.XmlReports`)."""

    @property
    def order(self) -> tuple[str, str, str]:
        """The tags of `STATUS_OF`; the first that a case holds decides."""

    @property
    def naming(self) -> Naming:
        """How a test is called."""

    @property
    def only_in_suites(self) -> bool:
        """Whether cases count only in a suite that is not the root."""


_BLANK = r"[ \t\r\n]"
_NAME = r"(?!xmlns)[A-Za-z_][\w.\-]*+"
_OTHER_NAME = rf"(?!testcase\b){_NAME}"
_NEVER = r"\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff"
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_ENTITY = "|".join(("&lt;", "&gt;", "&amp;", *_QUOTES))
_REFERENCE = rf"(?:{_ENTITY}|&#(?:9|10|13|3[2-9]|[4-9]\d|1[01]\d);)"
_VALUE = rf'[^<&"{_NEVER}]*+(?:{_REFERENCE}[^<&"{_NEVER}]*+)*+'
_WANTED_VALUE = rf'[^<&"\t\r\n{_NEVER}]*+(?:(?:{_ENTITY})[^<&"\t\r\n{_NEVER}]*+)*+'
_CDATA = rf"<!\[CDATA\[(?:[^\]{_NEVER}]|\](?!\]>))*+\]\]>"
_TEXT = rf"(?:[^<&\]{_NEVER}]++|\](?!\]>)|{_REFERENCE}|{_CDATA})*+"
_MAX_ATTRIBUTES = 20
_MAX_CHILDREN = 200
"""Repeats with groups are not possessive, for `re` loses track of groups there; bounds keep what they remember small."""


def _once(name: str, value: str, again: str) -> str:
    """An attribute that is not given again under the name that `again` fits."""
    return rf'{name}="{value}"(?!(?:[^"<>]*+"[^"]*+")*?{_BLANK}++{again}=)'


def _attributes(group: str, *wanted: str) -> str:
    """All attributes up to what ends the tag; a group holds each wanted value, and the given one a name, for itself."""
    kinds = [_once(name, f"(?P<{name}>{_WANTED_VALUE})", name) for name in wanted]
    other = "".join(f"(?!{name}=)" for name in wanted) + _once(f"(?P<{group}>{_NAME})", _VALUE, f"(?P={group})")
    return rf"(?:{_BLANK}++(?:{'|'.join((*kinds, other))})){{0,{_MAX_ATTRIBUTES}}}{_BLANK}*+"


_LEAF = rf"<{_OTHER_NAME}{_attributes('of_leaf')}/>"
_MARKERS = "|".join(rf"(?P<{tag}>{tag}(?![\w.\-]))" for tag in STATUS_OF)
_CHILD = (
    rf"<(?P<child>{_MARKERS}|{_OTHER_NAME}){_attributes('of_child')}"
    rf"(?:/>|>{_TEXT}(?:{_LEAF}{_TEXT}){{0,{_MAX_CHILDREN}}}</(?P=child)>)"
)
_CASE = rf"<testcase{_attributes('of_case', 'name', 'classname')}(?:/>|>{_TEXT}(?:{_CHILD}{_TEXT}){{0,{_MAX_CHILDREN}}}</testcase>)"
_OPENING = rf"<(?P<opened>{_OTHER_NAME}){_attributes('of_opened')}(?:>(?P<is_opening>)|/>(?P<is_empty>))"
_CLOSING = rf"</(?P<closed>{_NAME})>"
_MISFIT = r"<[ =<\d]|<[^!?<>\"'][^<>\"']*+<"
_TOKEN = re.compile(
    rf"(?:{_CASE}(?P<is_case>)|{_CLOSING}(?P<is_closing>)|{_OPENING}){_TEXT}"
    rf"|(?P<is_misfit>{_MISFIT})|(?P<is_unknown>[\S\s])",
    re.ASCII,
)
_PROLOGUE = re.compile(rf'(?:<\?xml version="1\.0"(?: encoding="(?:UTF|utf)-8")?\?>)?+{_BLANK}*+')
_GROUPS = _TOKEN.groupindex
_IS_CASE, _IS_OPENING, _IS_EMPTY, _IS_CLOSING, _IS_MISFIT = (
    _GROUPS[f"is_{kind}"] for kind in ("case", "opening", "empty", "closing", "misfit")
)
_OPENED, _CLOSED = _GROUPS["opened"], _GROUPS["closed"]


class MalformedError(Exception):
    """The text is not one well-formed document."""


def plain_cases(text: str, start: int, end: int, rules: CaseRules) -> list[tuple[str, str]] | None:
    """Name and status of each of a document's cases, None where it is not plain; raises `MalformedError` where it is broken."""
    naming, only_in_suites = rules.naming, rules.only_in_suites
    groups, (if_worst, if_worse, if_bad) = _reading(rules.order)
    has_entities = text.find("&", start, end) >= 0
    prologue = _PROLOGUE.match(text, start, end)
    cases: list[tuple[str, str]] = []
    tags: list[str] = []
    for token in _TOKEN.finditer(text, prologue.end() if prologue else start, end):
        kind = token.lastindex
        if kind == _IS_CASE and tags:
            if only_in_suites and not (tags[-1] == "testsuite" and len(tags) > 1):
                continue
            name, classname, worst, worse, bad = token.group(*groups)
            if has_entities:
                name, classname = _resolved(name), _resolved(classname)
            status = if_worst if worst else if_worse if worse else if_bad if bad else PASSED
            cases.append((naming(name, classname), status))
        elif kind == _IS_CLOSING and tags:
            if tags.pop() != token[_CLOSED]:
                raise MalformedError
            if not tags:
                return cases if _is_end(text, token.end(kind), end) else None
        elif kind == _IS_OPENING and not (only_in_suites and len(tags) > 1 and token[_OPENED] == "testsuite"):
            tags.append(token[_OPENED])
        elif kind == _IS_MISFIT:
            raise MalformedError
        elif kind != _IS_EMPTY or not tags:
            return None
    raise MalformedError


@cache
def _reading(order: tuple[str, str, str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The groups of a case's name, its class and its markers in order, and what each marker says."""
    return tuple(_GROUPS[group] for group in ("name", "classname", *order)), tuple(STATUS_OF[tag] for tag in order)


def _is_end(text: str, start: int, end: int) -> bool:
    """Whether only blanks follow the root; some other things expat must judge."""
    if start == end:
        return True
    rest = text[start:end].strip(" \t\r\n")
    if rest and not rest.startswith(("<?", "<!")):
        raise MalformedError
    return not rest


def _resolved(value: str | None) -> str | None:
    return unescape(value, _QUOTES) if value and "&" in value else value
